package reload

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/digest"
	"github.com/reroll-dev/reroll/internal/ledger"
	"github.com/reroll-dev/reroll/internal/policy"
	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/workload"
)

// many is Deployment web with two ConfigMaps and one digest for both in its ledger. It uses key
// "level" of one, and all of the other. The ledger counts the keys of one mode, and the controller
// those of another.
func many(level, banner, other string, before, now policy.KeyMode) *situation {
	s := web()
	one, whole := source.LocalKey{Kind: source.ConfigMap, Name: "one"}, source.LocalKey{Kind: source.ConfigMap, Name: "whole"}
	s.f.Workload.References = []workload.Reference{
		{Key: one, Uses: []workload.Use{{How: workload.UseEnv, Container: "app", Variable: "LEVEL", Key: "level"}}},
		{Key: whole, Uses: []workload.Use{{How: workload.UseEnvFrom, Container: "app"}}},
	}
	read := func(key source.LocalKey, data map[string]string) source.Source {
		return source.FromConfigMap(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: key.Name, UID: "uid"}, Data: data}, annotations.DefaultNames())
	}
	put := func(keys policy.KeyMode, sources ...source.Source) (all []Concern) {
		for _, src := range sources {
			src.Created, src.DataTime, src.EditedAt = at(10), at(80), 80
			c := Concern{Source: src, Seen: SourceSeen{Version: 80}, Verdict: policy.Verdict{Concerned: true, Rule: policy.RuleAuto}}
			c.Count(s.f.Workload.KeysOf(src.Key.Local(), source.Labels{}, keys).Keys)
			all = append(all, c)
		}
		return all
	}
	recorded := put(before, read(one, map[string]string{"level": "info", "banner": "a"}), read(whole, map[string]string{"x": "1"}))
	s.ledger(func(l *ledger.Ledger) {
		l.Entries = map[source.LocalKey]digest.Digest{}
		l.Aggregates = map[source.Kind]ledger.Total{source.ConfigMap: {Digest: ledger.Aggregate(source.ConfigMap, entriesOf(recorded)), Count: 2}}
	})
	s.f.Keys = now
	s.f.Concerns = put(now, read(one, map[string]string{"level": level, "banner": banner}), read(whole, map[string]string{"x": other}))
	return s
}

func TestOneDigestForAllInAnotherForm(t *testing.T) {
	const all, used = policy.KeysAll, policy.KeysUsed
	for name, tc := range map[string]struct {
		given *situation
		want  Action
		has   bool
	}{
		"nothing changed":                               {many("info", "a", "1", all, all), Nothing, true},
		"nothing changed, used keys":                    {many("info", "a", "1", used, used), Nothing, true},
		"another key changed, used keys":                {many("info", "b", "1", used, used), Nothing, true},
		"used keys are chosen":                          {many("info", "a", "1", all, used), Record, true},
		"all keys are chosen":                           {many("info", "a", "1", used, all), Record, true},
		"all keys are chosen, and another one changed":  {many("info", "b", "1", used, all), Record, true},
		"all keys are chosen, and a used one changed":   {many("debug", "a", "1", used, all), ListPods, false},
		"all keys are chosen, and a whole one changed":  {many("info", "a", "2", used, all), ListPods, false},
		"used keys are chosen, and a used one changed":  {many("debug", "a", "1", all, used), ListPods, false},
		"used keys are chosen, and another one changed": {many("info", "b", "1", all, used), ListPods, false},
		"a used key changed":                            {many("debug", "a", "1", used, used), ListPods, false},
		"a reload waits, and all keys are chosen":       {many("info", "a", "1", used, all).with(waitsForAll), ListPods, false},
	} {
		d := Decide(tc.given.f)
		if d.Action != tc.want {
			t.Errorf("%s: %s (%s), want %s", name, d.Action, d.Why, tc.want)
		}
		known, _, _ := tc.given.f.Ledger()
		if has := tc.given.f.AllCurrent(source.ConfigMap, known.Aggregates[source.ConfigMap]); has != tc.has {
			t.Errorf("%s: the sources have the data of the ledger: %t", name, has)
		}
		if d.Action == Record {
			if diff := cmp.Diff(entriesOf(tc.given.f.Concerns), d.Ledger.Entries); diff != "" {
				t.Errorf("%s: the next ledger (-want +got):\n%s", name, diff)
			}
		}
	}
}

func waitsForAll(f *Facts) {
	l, _ := workload.ReadLedger(f.Workload.LedgerText, &f.Workload)
	l.Aggregates[source.ConfigMap] = ledger.Total{Count: 2}
	f.Workload.LedgerText = l.String()
}
