package state

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/internal/digest"
	"github.com/reroll-dev/reroll/internal/grant"
	"github.com/reroll-dev/reroll/internal/reload"
	"github.com/reroll-dev/reroll/internal/source"
)

// walk is a random history of a source of another namespace, with the workload that names it and an
// oracle that knows only what users wrote. Its controller decides after each step, or is away for a
// while.
type walk struct {
	*testing.T
	r       *rand.Rand
	s       *State
	key     digest.Key
	version int
	// content and allowed are what the source has; exists reports whether it is there.
	content         int
	allowed, exists bool
	// granted is whether a ReferenceGrant allows it, if grants count.
	granted, grants bool
	away            bool
	ledger          string
	// has is the data that the Pods have, and adopted whether the ledger has the source.
	has     int
	adopted bool
	story   []string
}

func (w *walk) say(format string, args ...any) {
	w.story = append(w.story, fmt.Sprintf(format, args...))
}

// src is the source as a watch brings it. Versions are its times, too.
func (w *walk) src() source.Source {
	allow := ""
	if w.allowed {
		allow = "elsewhere, sh*p"
	}
	src := foreignCM("cm", fmt.Sprint(w.content), w.version, allow)
	src.Created, src.DataTime = time.Unix(1, 0), time.Unix(int64(w.version), 0)
	return src
}

func (w *walk) put(live bool) {
	w.version++
	if w.exists {
		w.s.PutSource(w.src(), live)
	} else {
		w.s.DeleteSource(source.Key{Kind: source.ConfigMap, Namespace: "infra", Name: "cm"}, reload.Departure{Version: uint64(w.version)})
	}
}

// step is one write of a user.
func (w *walk) step() {
	n := w.r.IntN(10)
	if w.grants && n%2 == 1 {
		w.granted = !w.granted
		w.say("granted %t", w.granted)
		if !w.away {
			w.putGrant(live)
		}
		return
	}
	switch {
	case n < 4 && w.exists:
		w.content = w.r.IntN(4)
		w.say("data %d", w.content)
	case n < 8:
		w.allowed = !w.allowed
		w.say("allowed %t", w.allowed)
	default:
		w.exists = !w.exists
		w.say("exists %t", w.exists)
	}
	if !w.away {
		w.put(live)
	}
}

// restart loses what the state knows, except for the ledger on the workload.
func (w *walk) restart() {
	w.say("restart")
	w.s, w.away = New(false), false
	steps := []func(){func() { w.putWorkload(inASnap) }, func() {
		w.version++
		if w.exists {
			w.s.PutSource(w.src(), inASnap)
		}
	}}
	if w.grants {
		w.s.ReadGrants()
		steps = append(steps, func() { w.putGrant(inASnap) })
		w.r.Shuffle(len(steps), func(i, j int) { steps[i], steps[j] = steps[j], steps[i] })
	}
	for _, step := range steps {
		step()
	}
}

// putGrant brings the ReferenceGrant, or that there is none.
func (w *walk) putGrant(live bool) {
	w.version++
	name, named := types.NamespacedName{Namespace: "infra", Name: "g"}, map[types.NamespacedName]struct{}{}
	var g *grant.Grant
	if w.granted {
		g, named[name] = grantOf("shop", "cm", uint32(w.version)), struct{}{}
	}
	if live || w.granted {
		w.s.PutGrant(name, g, uint64(w.version), live)
	}
	if !live {
		w.s.KeepGrants("", named, uint64(w.version))
	}
}

func (w *walk) putWorkload(live bool) {
	w.version++
	own := []string{byName, "infra/cm"}
	if w.ledger != "" {
		own = append(own, "reroll.dev/ledger", w.ledger)
	}
	d := deployment("web", "", w.version, own...)
	d.RolledOut = true
	w.s.PutWorkload(d, live)
}

// decide lets the controller decide, and reports whether it reloads the workload.
func (w *walk) decide() bool {
	f, _ := w.s.Facts(webKey())
	f.Key, f.Instance, f.Installed = w.key, w.key.ID(), time.Unix(1, 0)
	f.Conceal()
	d := reload.Decide(f)
	if d.Action == reload.ListPods { // all Pods are old
		f.Pods = &reload.Pods{}
		f.Pods.Add(reload.StartedPod{Created: time.Unix(2, 0), Started: time.Unix(2, 0)})
		d = reload.Decide(f)
	}
	switch d.Action {
	case reload.Nothing:
		w.s.Compared(&f)
		return false
	case reload.Record, reload.Reload:
		w.ledger = d.Ledger.String()
		w.s.Sending(&f, w.ledger)
		w.putWorkload(live)
		w.s.Compared(&f)
		return d.Action == reload.Reload
	default:
		w.Fatalf("%s (%s) after %s", d.Action, d.Why, strings.Join(w.story, ", "))
		return false
	}
}

// judge compares a decision with what users wrote: a reload needs consent, an entry from before, and
// other data than the Pods have. If all of that is there, it must not be missing.
func (w *walk) judge(reloads bool) {
	counts := w.exists && (w.allowed || w.granted)
	changed := counts && w.adopted && w.has != w.content
	if reloads != changed {
		w.Fatalf("reloaded %t, want %t, after %s", reloads, changed, strings.Join(w.story, ", "))
	}
	if counts {
		w.has, w.adopted = w.content, true
	} else if w.exists {
		w.adopted = false // without consent, the ledger forgets it
	}
	if strings.Contains(w.ledger, "infra/cm") != w.adopted {
		w.Fatalf("ledger %s, adopted %t, after %s", w.ledger, w.adopted, strings.Join(w.story, ", "))
	}
}

func TestRandomConsent(t *testing.T) { randomConsent(t, false) }

func TestRandomConsentWithGrants(t *testing.T) { randomConsent(t, true) }

// firstSeed is REROLL_BASE, or another number each time.
func firstSeed(t *testing.T) uint64 {
	t.Helper()
	text, given := os.LookupEnv("REROLL_BASE")
	if !given {
		return rand.Uint64N(1 << 40)
	}
	first, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("REROLL_BASE=%s: %v", text, err)
	}
	return first
}

func randomConsent(t *testing.T, grants bool) {
	t.Helper()
	key, err := digest.NewKey([]byte(strings.Repeat("k", 32)))
	if err != nil {
		t.Fatal(err)
	}
	reloads, first := 0, firstSeed(t)
	for seed := first; seed < first+walks; seed++ {
		w := &walk{T: t, r: rand.New(rand.NewPCG(seed, 1)), s: New(false), key: key, version: 10, exists: true, grants: grants}
		w.say("REROLL_BASE=%d", seed)
		w.putWorkload(inASnap)
		if grants {
			w.s.ReadGrants()
			w.putGrant(inASnap)
		}
		w.put(inASnap)
		w.judge(w.decide())
		for range 30 {
			switch w.r.IntN(8) {
			case 0:
				w.away = true
				w.say("away")
			case 1:
				w.restart()
			default:
				w.step()
			}
			if w.away {
				continue
			}
			rolled := w.decide()
			if rolled {
				reloads++
			}
			w.judge(rolled)
		}
	}
	if reloads < walks/2 {
		t.Errorf("only %d reloads: the walks show little", reloads)
	}
}
