package harness

import (
	"context"
	"errors"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// roller stands in for the controller: it rolls every marker whose source has another round than at the last look.
type roller struct {
	namespace *Namespace
	rounds    map[string]string
}

func (r *roller) run(ctx context.Context) error {
	for ctx.Err() == nil {
		if err := r.look(ctx); err != nil && ctx.Err() == nil {
			return err
		}
	}
	return nil
}

func (r *roller) look(ctx context.Context) error {
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
			if err := r.roll(ctx, Ref{Kind: "deployment", Name: name}, now); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *roller) roll(ctx context.Context, marker Ref, mark string) error {
	return r.namespace.patch(ctx, marker, "roller", map[string]any{"spec": map[string]any{"template": map[string]any{
		"metadata": map[string]any{"annotations": map[string]any{"round": mark}}}}})
}

// startRoller returns when the roller knows the first round.
func startRoller(t *testing.T, ctx context.Context, n *Namespace) {
	t.Helper()
	r := &roller{namespace: n, rounds: map[string]string{}}
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

// adopt leaves on the markers what the controller leaves on a workload that it has taken into its care.
func adopt(t *testing.T, ctx context.Context, n *Namespace, names ...string) {
	t.Helper()
	for _, name := range names {
		must(t, n.Annotate(ctx, Ref{Kind: "deployment", Name: name}, ledger+"={}"))
	}
}

func TestQuietReturnsWhenEveryMarkerHasRolledTwice(t *testing.T) {
	t.Parallel()
	ctx, n := newNamespace(t)
	adopt(t, ctx, n, markers()...)
	startRoller(t, ctx, n)
	must(t, n.Quiet(ctx))
	for _, name := range markers() {
		wantRolls(t, ctx, n, Ref{Kind: "deployment", Name: name}, 2)
	}
	must(t, n.Quiet(ctx))
	for _, name := range markers() {
		wantRolls(t, ctx, n, Ref{Kind: "deployment", Name: name}, 4)
	}
}

func TestQuietWaitsForTheMarkersThatAreThere(t *testing.T) {
	t.Parallel()
	ctx, n := newNamespace(t)
	must(t, n.Delete(ctx, Ref{Kind: "deployment", Name: secretMarker}))
	rolls := 0
	must(t, n.QuietBy(ctx, func(marker Ref) (int, error) {
		if marker.Name != configMapMarker {
			t.Errorf("asked for %s, which is not there", marker)
		}
		rolls++
		return rolls, nil
	}))
	must(t, n.Delete(ctx, Ref{Kind: "deployment", Name: configMapMarker}))
	wantError(t, n.Quiet(ctx), "there is no marker in namespace "+n.Name)
}

func TestQuietDoesNotReturnWhileNothingRolls(t *testing.T) {
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
	wantError(t, n.Quiet(ctx), "deployment/marker-configmap to be decided on, times: 1", "both are edited", "it is 0 yet")
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
	ctx, cancel := context.WithTimeoutCause(ctx, time.Second/2, errors.New("long enough"))
	defer cancel()
	wantError(t, n.Quiet(ctx), "to note what deployment/marker-secret runs with", "no annotation reroll.dev/ledger yet")
	for _, source := range []string{"configmap/" + configMapMarker, "secret/" + secretMarker} {
		obj, err := n.Get(t.Context(), ref(t, source))
		must(t, err)
		if round := obj.Object["data"].(map[string]any)["round"]; round != "0" && round != "MA==" {
			t.Errorf("%s was edited, its round is %v", source, round)
		}
	}
}
