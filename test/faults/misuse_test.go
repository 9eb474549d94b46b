package faults

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/test/harness"
)

// A mistake that is written when no watch is open is told once there is one.
func TestAMistakeWrittenInAGapIsTold(t *testing.T) {
	t.Parallel()
	h := newHistory(t, 1, &tally{counts: map[string]int{}})
	must(t, h.revive(nil))
	must(t, h.settle(h.ctx)) // the first ledgers are written with the watches whole
	web, settings := harness.Ref{Kind: "deployment", Name: "web"}, settings()
	for _, gap := range []struct {
		about    harness.Ref
		resource string
		mistake  string
	}{
		{web, "deployments", "reloader.stakater.com/atuo"},
		{settings, "configmaps", "reloader.stakater.com/mach"},
	} {
		h.gapAbout(gap.resource, func() error {
			if err := h.ns.Annotate(h.ctx, gap.about, gap.mistake+"=true"); err != nil {
				return err
			}
			return h.served(h.ctx, gap.resource, gap.about.Name, gap.mistake)
		})
		must(t, h.heard(gap.about, gap.mistake))

		// Another gap in which nothing happens, and a mistake behind it that is told after all that
		// came before.
		h.gapAbout(gap.resource, func() error { return nil })
		const behind = "reroll.dev/setle"
		must(t, h.ns.Annotate(h.ctx, gap.about, behind+"=1s"))
		must(t, h.heard(gap.about, behind))
		if n, err := h.told(gap.about, gap.mistake); err != nil || n != 1 {
			t.Errorf("%s of %s was told %d times (%v)", gap.mistake, gap.about, n, err)
		}
	}
}

// gapAbout ends the watch of a resource for good. Before the snapshot that follows, something
// happens.
func (h *history) gapAbout(resource string, meanwhile func() error) {
	h.Helper()
	done := make(chan error, 1)
	h.proxy.arm(rule{fault: "something happens in a gap", on: snapshot, about: resource, do: func(x *exchange) {
		done <- meanwhile()
		x.pass()
	}})
	h.proxy.disturb(resource, expireWatch)
	select {
	case err := <-done:
		must(h.T, err)
	case <-h.ctx.Done():
		h.Fatal(context.Cause(h.ctx))
	}
}

// served returns when the API server's cache has an annotation: a snapshot shows it then, and no
// event behind it.
func (h *history) served(ctx context.Context, resource, name, annotation string) error {
	return h.until(ctx, func() (bool, error) {
		cached := metav1.ListOptions{ResourceVersion: "0"}
		var all []metav1.Object
		switch resource {
		case "deployments":
			list, err := shared.Admin.AppsV1().Deployments(h.ns.Name).List(ctx, cached)
			if err != nil {
				return false, err
			}
			for i := range list.Items {
				all = append(all, &list.Items[i])
			}
		default:
			list, err := shared.Admin.CoreV1().ConfigMaps(h.ns.Name).List(ctx, cached)
			if err != nil {
				return false, err
			}
			for i := range list.Items {
				all = append(all, &list.Items[i])
			}
		}
		for _, obj := range all {
			if _, ok := obj.GetAnnotations()[annotation]; ok && obj.GetName() == name {
				return true, nil
			}
		}
		return false, nil
	})
}

// heard returns when an event tells of a mistake.
func (h *history) heard(about harness.Ref, mistake string) error {
	err := h.until(h.ctx, func() (bool, error) {
		n, err := h.told(about, mistake)
		return n > 0, err
	})
	if err != nil {
		return fmt.Errorf("nobody tells of %s on %s: %w", mistake, about, err)
	}
	return nil
}

func (h *history) told(about harness.Ref, mistake string) (times int, err error) {
	events, err := h.ns.Events(h.ctx, about)
	for i := range events {
		if events[i].Reason == "AnnotationIgnored" && strings.Contains(events[i].Note, mistake) {
			times += harness.Times(&events[i])
		}
	}
	return times, err
}

func (h *history) until(ctx context.Context, holds func() (bool, error)) error {
	for {
		ok, err := holds()
		if ok || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(50 * time.Millisecond):
		}
	}
}
