package harness

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// decider stands in for the controller: it notes on every marker which round its source has, when
// that is another one than at the last look.
type decider struct {
	namespace *Namespace
	rounds    map[string]string
}

func (r *decider) run(ctx context.Context) error {
	for ctx.Err() == nil {
		if err := r.look(ctx); err != nil && ctx.Err() == nil {
			return err
		}
	}
	return nil
}

func (r *decider) look(ctx context.Context) error {
	for name, kind := range map[string]string{configMapMarker: "configmap", secretMarker: "secret"} {
		obj, err := r.namespace.Get(ctx, Ref{Kind: kind, Name: name})
		if err != nil {
			return err
		}
		now, _, err := unstructured.NestedString(obj.Object, "data", "round")
		if err != nil {
			return err
		}
		last, known := r.rounds[name]
		r.rounds[name] = now
		if known && last != now {
			if err := r.decide(ctx, Ref{Kind: recorded, Name: name}, now); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *decider) decide(ctx context.Context, marker Ref, round string) error {
	return r.namespace.Annotate(ctx, marker, ledger+"="+round)
}

// startDecider returns when the decider knows the first round.
func startDecider(t *testing.T, ctx context.Context, n *Namespace) {
	t.Helper()
	r := &decider{namespace: n, rounds: map[string]string{}}
	must(t, r.look(ctx))
	ctx, stop := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- r.run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// adopt leaves on the markers what the controller leaves on a workload that it has taken into its
// care.
func adopt(t *testing.T, ctx context.Context, n *Namespace, names ...string) {
	t.Helper()
	for _, name := range names {
		must(t, n.Annotate(ctx, Ref{Kind: recorded, Name: name}, ledger+"={}"))
	}
}

func TestQuietReturnsWhenEveryMarkerIsDecidedOnTwice(t *testing.T) {
	t.Parallel()
	ctx, n := newNamespace(t)
	adopt(t, ctx, n, markers()...)
	startDecider(t, ctx, n)
	// One for being adopted, and two for each time.
	for _, want := range []int{3, 5} {
		must(t, n.Quiet(ctx))
		for _, name := range markers() {
			if times, err := n.Observer.decisions(Ref{Kind: recorded, Name: name}); err != nil || times != want {
				t.Errorf("%s was decided on %d times, want %d; %v", name, times, want, err)
			}
		}
	}
}

func TestQuietWaitsForTheMarkersThatAreThere(t *testing.T) {
	t.Parallel()
	ctx, n := newNamespace(t)
	must(t, n.Delete(ctx, Ref{Kind: recorded, Name: secretMarker}))
	rolls := 0
	must(t, n.QuietBy(ctx, func(marker Ref) (int, error) {
		if marker.Name != configMapMarker {
			t.Errorf("asked for %s, which is not there", marker)
		}
		rolls++
		return rolls, nil
	}))
	must(t, n.Delete(ctx, Ref{Kind: recorded, Name: configMapMarker}))
	wantError(t, n.Quiet(ctx), "there is no marker in namespace "+n.Name)
}

func TestQuietDoesNotReturnWhileNothingIsDecided(t *testing.T) {
	t.Parallel()
	ctx, n := newNamespace(t)
	adopt(t, ctx, n, markers()...)
	// It has done all that it can do when both sources are edited.
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		cancel(Await(ctx, "the edits", func(context.Context) error {
			if edits(n) < len(markers()) {
				return errors.New("not all are seen yet")
			}
			return final{errors.New("both are edited")}
		}))
	}()
	wantError(t, n.Quiet(ctx), "cronjob/marker-configmap to be decided on, times: 2", "both are edited", "it is 1 yet")
}

func edits(n *Namespace) int {
	count := 0
	for _, s := range n.Observer.Timeline() {
		if s.What == "another content" {
			count++
		}
	}
	return count
}

func TestQuietDoesNotEditAMarkerThatTheControllerDoesNotKnowYet(t *testing.T) {
	t.Parallel()
	ctx, n := newNamespace(t)
	adopt(t, ctx, n, configMapMarker)
	// On a busy machine, one moment is too short for Quiet to come as far as it can.
	err := errors.New("not asked yet")
	for moment := time.Second / 2; ctx.Err() == nil && err != nil && !strings.Contains(err.Error(), "no annotation reroll.dev/ledger yet"); moment *= 2 {
		short, cancel := context.WithTimeoutCause(ctx, moment, errors.New("long enough"))
		err = n.Quiet(short)
		cancel()
	}
	wantError(t, err, "to note what the markers run with", "marker-secret has no annotation reroll.dev/ledger yet")
	for _, source := range []string{"configmap/" + configMapMarker, "secret/" + secretMarker} {
		obj, err := n.Get(t.Context(), ref(t, source))
		must(t, err)
		if round := obj.Object["data"].(map[string]any)["round"]; round != "0" && round != "MA==" {
			t.Errorf("%s was edited, its round is %v", source, round)
		}
	}
}
