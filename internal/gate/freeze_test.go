package gate

import (
	"strings"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/policy"
	"github.com/reroll-dev/reroll/internal/reload"
	"github.com/reroll-dev/reroll/internal/source"
)

func freezeUntil(hours int, reason string) string {
	return annotations.Frozen{Until: noon.Add(time.Duration(hours) * time.Hour), By: "alice", Reason: reason}.String()
}

// frozenFacts are the facts about a workload, with the freezes of all namespaces and of its own.
func frozenFacts(all, namespace string) *reload.Facts {
	f := &reload.Facts{Now: noon}
	f.Freeze = all
	if namespace != "" {
		f.Defaults, _ = policy.ParseNamespace(map[string]string{annotations.Freeze: namespace}, annotations.DefaultNames())
	}
	return f
}

func TestTheFreezeThatEndsLastCounts(t *testing.T) {
	for about, tc := range map[string]struct {
		all, namespace string
		hours          int
		why            string
	}{
		"none":                       {"", "", 0, ""},
		"the namespace":              {"", freezeUntil(1, "x"), 1, "reloads are frozen by alice: x (reroll.dev/freeze on the namespace)"},
		"all namespaces":             {freezeUntil(1, "x"), "", 1, "reloads are frozen by alice: x (reroll.dev/freeze on ConfigMap reloader-meta-info)"},
		"the namespace is longer":    {freezeUntil(1, "x"), freezeUntil(2, "y"), 2, ": y (reroll.dev/freeze on the namespace)"},
		"all namespaces are longer":  {freezeUntil(2, "x"), freezeUntil(1, "y"), 2, ": x (reroll.dev/freeze on ConfigMap"},
		"over":                       {freezeUntil(-1, "x"), freezeUntil(0, "y"), 0, ""},
		"one is over":                {freezeUntil(-1, "x"), freezeUntil(1, "y"), 1, ": y ("},
		"a bad one":                  {"", "soon", 0, "reroll.dev/freeze on the namespace cannot be read: write JSON"},
		"a bad one for all":          {"soon", "", 0, "reroll.dev/freeze on ConfigMap reloader-meta-info cannot be read"},
		"a bad one beside another":   {freezeUntil(1, "x"), "soon", 0, "on the namespace cannot be read"},
		"a bad one beside another 2": {"soon", freezeUntil(1, "x"), 0, "on ConfigMap reloader-meta-info cannot be read"},
	} {
		f := frozenFacts(tc.all, tc.namespace)
		a := Check(f, &reload.Decision{}, Others{})
		if a.Open() != (tc.why == "") || !strings.Contains(a.Why, tc.why) {
			t.Errorf("%s: %+v", about, a)
		}
		var until time.Time
		if tc.hours > 0 {
			until = noon.Add(time.Duration(tc.hours) * time.Hour)
		}
		if !a.Until.Equal(until) {
			t.Errorf("%s: until %s", about, a.Until)
		}
	}
}

func TestAFreezeIsAskedFirstAndAnUrgentChangePassesIt(t *testing.T) {
	f := frozenFacts(freezeUntil(1, "x"), "soon")
	f.Window = nights
	if a := Check(f, &reload.Decision{}, Others{}); a.By != Freeze {
		t.Errorf("before a window: %+v", a)
	}
	waves, _ := annotations.ReadWaves(map[string]string{annotations.Urgent: "true"}, true)
	urgent := reload.Concern{Source: source.Source{Annotations: source.Annotations{Waves: waves.Keep()}}}
	if a := Check(f, &reload.Decision{Changes: []reload.Concern{{}, urgent}}, Others{}); !a.Open() {
		t.Errorf("urgent: %+v", a)
	}
}

func TestAFreezeIsDescribedWithBothTimes(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		freezeUntil(1, "x"): "reloads are frozen by alice: x (reroll.dev/freeze on the namespace), until 2026-03-01T13:00:00Z, here 2026-03-01T14:00:00+01:00",
		"soon":              ", so no reload starts",
	} {
		all := FreezesOf(frozenFacts("", text))
		if len(all) != 1 || !strings.HasSuffix(all[0].Describe(berlin), want) {
			t.Errorf("%s: %+v", text, all)
		}
	}
	if all := FreezesOf(frozenFacts(freezeUntil(1, ""), freezeUntil(1, ""))); len(all) != 2 || all[0].Thaw("shop") != "reroll thaw -A" || all[1].Thaw("shop") != "reroll thaw -n shop" {
		t.Errorf("how to end them: %+v", all)
	}
}
