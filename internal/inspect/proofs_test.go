package inspect

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/reroll-dev/reroll/internal/workload"
)

// podless returns a view as the controller has one: it lists Pods only for some workloads.
func podless(o *Objects) (*View, *clocktesting.FakeClock) {
	clk := clocktesting.NewFakeClock(noon)
	v := NewView("", clk)
	v.show(&origin{objects: o, locked: &sync.RWMutex{}})
	v.Refresh(context.Background())
	return v, clk
}

func TestSummariesOfAControllerAreProvenByPods(t *testing.T) {
	s := read(t, "status-mixed")
	o := followed(s, rand.New(rand.NewPCG(1, 1)))
	want := viewOf(s, followed(s, rand.New(rand.NewPCG(1, 1)))).summaries
	v, clk := podless(o)
	var due []workload.Key
	for key, sum := range v.summaries {
		if sum.Detail == awaitsPods {
			due = append(due, key)
		}
	}
	if len(due) == 0 {
		t.Fatal("the state of no workload depends on its Pods")
	}
	for _, key := range due {
		w, _ := o.workload(key)
		all, err := s.running(key.Namespace)
		if err != nil {
			t.Fatal(err)
		}
		pods, err := podsOf(&w, func(string) ([]Pod, error) { return all, nil })
		if err != nil {
			t.Fatal(err)
		}
		v.proofs.of[key] = proof{pods: pods, version: w.ResourceVersion, at: noon}
	}
	v.Refresh(context.Background())
	for _, key := range due {
		if got := v.summaries[key]; got.State != want[key].State || got.Detail != want[key].Detail {
			t.Errorf("%s is %s, %s; want %s, %s", key, got.State, got.Detail, want[key].State, want[key].Detail)
		}
	}

	// Pods of an earlier version of a workload prove nothing, and none that could not be listed do.
	for i, key := range due {
		known := v.proofs.of[key]
		if i%2 == 0 {
			known.version = "earlier"
		} else {
			known.err = errors.New("forbidden")
		}
		v.proofs.of[key] = known
	}
	v.proofs.due = nil
	v.Refresh(context.Background())
	for i, key := range due {
		if got := v.summaries[key]; got.Detail != awaitsPods {
			t.Errorf("%s is %s, %s", key, got.State, got.Detail)
		}
		if listed := slices.Contains(v.proofs.due, key); listed != (i%2 == 0) {
			t.Errorf("the Pods of %s are due: %v", key, listed)
		}
	}
	v.proofs.due = nil
	clk.Step(proofsStay)
	v.Refresh(context.Background())
	for _, key := range due {
		if !slices.Contains(v.proofs.due, key) {
			t.Errorf("the Pods of %s are not listed again", key)
		}
	}
}
