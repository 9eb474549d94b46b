package controller

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/state"
)

// Histories of consent: users edit a ConfigMap of another namespace, give and withdraw consent, delete
// and create it, while a controller runs, restarts, or misses some of that. They are separate from
// the other histories, whose sources are all in one namespace. The oracle knows what users wrote,
// and no ledger: the ConfigMap counts from a rest at which it is allowed, to one at which it is not.

// consentHistory is such a history.
type consentHistory struct {
	*stage
	rand *rand.Rand
	// value and allow are what the ConfigMap has; exists reports whether it is there.
	value, allow string
	exists       bool
	// granted is whether a ReferenceGrant allows it, if grants count.
	granted, grants bool
	// since is the value that the Pods have, if the ConfigMap counts since an earlier rest.
	since  string
	counts bool
	story  []string
}

var foreignCA = types.NamespacedName{Namespace: "infra", Name: "ca"}

// grant is one write of a user. Watched reports whether the controller sees it.
func (h *consentHistory) grant(watched bool) {
	h.wait()
	h.granted = !h.granted
	h.story = append(h.story, fmt.Sprintf("granted %t, watched %t", h.granted, watched))
	if watched {
		h.stage.granted(h.granted)
	}
}

// wait lets the clocks of the API and of the controller go on.
func (h *consentHistory) wait() {
	h.server.Advance(3 * time.Second)
	h.clock.SetTime(h.server.Now())
}

// user is one write of a user. Watched reports whether the controller sees it.
func (h *consentHistory) user(watched bool) {
	switch n := h.rand.IntN(10); {
	case n < 4 && h.exists:
		h.value = fmt.Sprint(h.rand.IntN(4))
	case n < 8 && h.exists:
		h.allow = []string{"", "shop", "bank, sh*", "shop-2", "s.*"}[h.rand.IntN(5)]
	default:
		h.exists = !h.exists
	}
	h.story = append(h.story, fmt.Sprintf("value %s, allow %q, exists %t, watched %t", h.value, h.allow, h.exists, watched))
	h.wait()
	if !h.exists {
		if h.server.Delete("configmaps", foreignCA) == nil && watched {
			h.configMaps().departs(foreignCA, fmt.Sprint(h.server.Version()))
		}
		return
	}
	h.write(watched)
}

func (h *consentHistory) write(watched bool) {
	if watched {
		h.elsewhere("infra", "ca", h.value, h.allow)
		return
	}
	running := h.known()
	h.controller.state = state.New(false) // of a controller that is about to end
	h.elsewhere("infra", "ca", h.value, h.allow)
	h.controller.state = running
}

// restart starts a controller with a snapshot.
func (h *consentHistory) restart() {
	h.story = append(h.story, "restart")
	h.stage = h.restarted()
	if h.grants {
		h.withGrants()
		var all []*unstructured.Unstructured
		if h.granted {
			all = append(all, h.newGrant("g", "shop"))
		}
		h.listedGrants(all...)
	}
	named := map[types.NamespacedName]struct{}{inShop("web"): {}}
	if obj, err := h.server.Get("configmaps", foreignCA); err == nil {
		h.configMaps().isListed(obj)
		named[foreignCA] = struct{}{}
	}
	h.configMaps().hasOnly(named)
}

// rest lets the controller decide, and judges what it did.
func (h *consentHistory) rest() {
	before := h.marked
	h.play(30 * time.Second)
	rolls := h.marked - before
	allowed := h.exists && (h.granted || h.allow == "shop" || h.allow == "bank, sh*")
	want := 0
	if allowed && h.counts && h.since != h.value {
		want = 1
	}
	if rolls != want {
		h.Fatalf("%d rollouts, want %d, after\n%s", rolls, want, strings.Join(h.story, "\n"))
	}
	obj, err := h.server.Get("deployments", inShop("web"))
	if err != nil {
		h.Fatal(err)
	}
	switch {
	case allowed:
		h.since, h.counts = h.value, true
	case h.exists:
		h.counts = false
	}
	if has := strings.Contains(obj.GetAnnotations()[annotations.Ledger], `"infra/ca"`); has != h.counts {
		h.Fatalf("the ledger has it: %t, want %t, after\n%s", has, h.counts, strings.Join(h.story, "\n"))
	}
}

func (h *consentHistory) playConsent(seed uint64) (rollouts int) {
	h.story = append(h.story, fmt.Sprintf("seed %d", seed))
	h.lead()
	h.oldPods = true
	h.add("web", true, "")
	h.play(3 * time.Second)
	h.names("web", "infra/ca")
	h.user(true)
	h.rest()
	for range 20 {
		switch h.rand.IntN(6) {
		case 0:
			// The oracle does not know the order of data and consent that are written meanwhile.
			write := h.user
			if h.grants && (h.granted && !h.counts || h.rand.IntN(2) == 0) {
				write = h.grant
			}
			for range h.rand.IntN(4) {
				write(false)
			}
			h.restart()
		case 2:
			if h.grants {
				h.grant(true)
			} else {
				h.user(true)
			}
		case 1:
			h.edit("web", fmt.Sprint(h.rand.Int())) // one of its own, which rolls the workload
			h.play(30 * time.Second)
		default:
			h.user(true)
		}
		before := h.marked
		h.rest()
		rollouts += h.marked - before
	}
	return rollouts
}

// drawConsent plays histories, and fails the test at the first one that fails, or if they show little.
func drawConsent(t *testing.T, usual uint64, draw func(t *testing.T, seed uint64) *consentHistory) {
	t.Helper()
	if testing.Short() {
		usual /= 7
	}
	base, count, alone := drawnSeeds(t, usual)
	rollouts := 0
	for seed := base; seed < base+count && !t.Failed(); seed++ {
		h := draw(t, seed)
		if rollouts += h.playConsent(seed); t.Failed() {
			t.Fatalf("REROLL_SEED=%d go test ./internal/controller -run '%s$' repeats it", seed, t.Name())
		}
		if alone {
			fmt.Println(strings.Join(h.story, "\n"))
			return
		}
	}
	fmt.Printf("%s: %d histories from REROLL_BASE=%d: %d rollouts\n", t.Name(), count, base, rollouts)
	if count > 20 && rollouts < int(count)/2 { // in runs of 100 histories, there were from 94 to 230
		t.Errorf("only %d rollouts: the histories show little", rollouts)
	}
}

func TestHistoriesOfConsent(t *testing.T) {
	drawConsent(t, 300, func(t *testing.T, seed uint64) *consentHistory {
		return &consentHistory{stage: newStage(t), rand: rand.New(rand.NewPCG(seed, 77)), value: "0", exists: true}
	})
}
