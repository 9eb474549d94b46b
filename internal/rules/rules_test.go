package rules

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/policy"
	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/workload"
)

func TestWhichNamespacesAreLeftOut(t *testing.T) {
	front := labels.SelectorFromSet(labels.Set{"tier": "front"})
	for about, tc := range map[string]struct {
		settings Settings
		known    *Namespace
		want     LeftOut
		fields   string
	}{
		"none":                            {Settings{}, nil, NotLeftOut, "type!=x"},
		"all but those that are named":    {Settings{Namespaces: []string{"warehouse"}}, nil, NotNamed, "type!=x"},
		"not one that is named":           {Settings{Namespaces: []string{"shop"}, NamespacesToIgnore: []string{"shop"}}, nil, NotLeftOut, "type!=x"},
		"one by its name":                 {Settings{NamespacesToIgnore: []string{"shop"}}, nil, Ignored, "type!=x,metadata.namespace!=shop"},
		"one by its labels":               {Settings{NamespaceSelector: front}, &Namespace{}, NotSelected, "type!=x"},
		"not one with these labels":       {Settings{NamespaceSelector: front}, &Namespace{Labels: labels.Set{"tier": "front"}}, NotLeftOut, "type!=x"},
		"not one that may not be read":    {Settings{NamespaceSelector: front}, nil, NotLeftOut, "type!=x"},
		"one that is being deleted":       {Settings{}, &Namespace{Terminating: true}, Terminating, "type!=x"},
		"nothing is known of what is one": {Settings{Namespaces: []string{"shop"}}, &Namespace{Terminating: true}, NotLeftOut, "type!=x"},
	} {
		t.Run(about, func(t *testing.T) {
			if got := tc.settings.LeavesOut("shop", tc.known); got != tc.want {
				t.Errorf("left out: %d, want %d", got, tc.want)
			}
			if got := tc.settings.FieldSelector("type!=x"); got != tc.fields {
				t.Errorf("fields %s, want %s", got, tc.fields)
			}
		})
	}
}

func TestHowLongSourcesHaveToBeQuiet(t *testing.T) {
	own, mistakes := policy.Parse(map[string]string{annotations.Settle: "2s"}, nil, annotations.DefaultNames())
	if len(mistakes) > 0 {
		t.Fatal(mistakes)
	}
	s := Settings{Settle: 3 * time.Second, SettleGitOps: 5 * time.Second, SettleMax: 4 * time.Second}
	for about, tc := range map[string]struct {
		w              workload.Workload
		quiet, longest time.Duration
	}{
		"any":                      {workload.Workload{}, 3 * time.Second, 4 * time.Second},
		"one that a tool delivers": {workload.Workload{Tool: workload.Flux}, 5 * time.Second, 5 * time.Second},
		"one that says it itself":  {workload.Workload{Tool: workload.Flux, Policy: own}, 2 * time.Second, 4 * time.Second},
	} {
		if quiet, longest := s.SettlePeriod(&tc.w), s.Longest(&tc.w); quiet != tc.quiet || longest != tc.longest {
			t.Errorf("%s: %s, %s at most", about, quiet, longest)
		}
	}
}

func TestWhichKindsOfSourceAreRead(t *testing.T) {
	s := Settings{IgnoredSources: []source.Kind{source.Secret}}
	for kind, want := range map[source.Kind]bool{source.ConfigMap: true, source.Secret: false, source.SecretProviderClass: false, 0: false} {
		if s.ReadsSource(kind) != want {
			t.Errorf("%s is read: %t", kind, !want)
		}
	}
}
