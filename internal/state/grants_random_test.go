package state

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/reroll-dev/reroll/internal/digest"
	"github.com/reroll-dev/reroll/internal/grant"
)

// event is one that a watch is about to bring.
type event func(*State)

// ordered is a history in which users write a source, its annotation and two grants several times
// before each decision. The events of each watch come in order, and those of two watches in any.
type ordered struct {
	*walk
	sources, grantsOf []event
	// allow and grants are what is written; content is the version of the data, and since that of
	// the consent.
	allow          string
	by             [2]bool
	content, since int
}

func (o *ordered) consents() bool { return o.allow == "shop" || o.by[0] || o.by[1] }

func (o *ordered) write() {
	o.version++
	before, version := o.consents(), o.version
	switch n := o.r.IntN(6); n {
	case 0, 1:
		o.walk.content, o.content = version, version
		o.say("%d: data", version)
	case 2, 3:
		o.allow = []string{"", "shop", "bank"}[o.r.IntN(3)]
		o.say("%d: allow %q", version, o.allow)
	default:
		n -= 4
		o.by[n] = !o.by[n]
		var g *grant.Grant
		if o.by[n] {
			g = grantOf("shop", []string{"cm", ""}[n], uint32(version))
		}
		o.say("%d: grant %d %t", version, n, o.by[n])
		o.grantsOf = append(o.grantsOf, func(s *State) { s.PutGrant(inInfra(fmt.Sprint(n)), g, uint64(version), live) })
	}
	if !before && o.consents() {
		o.since = version
	}
	src := foreignCM("cm", fmt.Sprint(o.walk.content), version, o.allow)
	o.sources = append(o.sources, func(s *State) { s.PutSource(src, live) })
}

// deliver brings all events.
func (o *ordered) deliver() {
	for len(o.sources)+len(o.grantsOf) > 0 {
		from := &o.sources
		if len(o.sources) == 0 || len(o.grantsOf) > 0 && o.r.IntN(2) == 0 {
			from = &o.grantsOf
		}
		(*from)[0](o.s)
		*from = (*from)[1:]
	}
}

func TestTheOrderOfTwoWatchesDecidesNothing(t *testing.T) {
	key, err := digest.NewKey([]byte(strings.Repeat("k", 32)))
	if err != nil {
		t.Fatal(err)
	}
	reloads, atOnce, first := 0, 0, firstSeed(t)
	for seed := first; seed < first+walks*3/4; seed++ {
		o := &ordered{walk: &walk{T: t, r: rand.New(rand.NewPCG(seed, 3)), s: New(false), key: key, version: 10}}
		o.say("REROLL_BASE=%d", seed)
		o.s.ReadGrants()
		o.s.PutSource(foreignCM("cm", "0", 10, ""), inASnap)
		o.s.KeepGrants("", nil, 10)
		o.putWorkload(inASnap)
		for range 12 {
			for range 1 + o.r.IntN(4) {
				o.write()
			}
			o.deliver()
			rolled := o.decide()
			want := o.consents() && (o.adopted && o.has != o.content || !o.adopted && o.content > o.since)
			if rolled != want {
				t.Fatalf("reloaded %t, want %t, after %s", rolled, want, strings.Join(o.story, ", "))
			}
			if rolled {
				reloads++
			}
			if rolled && !o.adopted {
				atOnce++
			}
			if o.adopted = o.consents(); o.adopted {
				o.has = o.content
			}
			if strings.Contains(o.ledger, "infra/cm") != o.adopted {
				t.Fatalf("ledger %s, adopted %t, after %s", o.ledger, o.adopted, strings.Join(o.story, ", "))
			}
		}
	}
	if reloads < walks/2 || atOnce < walks/20 {
		t.Errorf("only %d reloads, %d of them with new consent: the histories show little", reloads, atOnce)
	}
}
