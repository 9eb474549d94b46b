package reload

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestAnEditThatNobodySawCountsOnlyIfItWasCovered(t *testing.T) {
	mixed := func(f *Facts) { f.Concerns[0].Source.EditedAt = 0 } // its manager owns labels beside the data
	asked := func(second int64) func(*Facts) {
		return func(f *Facts) { f.Workload.AskedAt = at(second) }
	}
	all := func(second int64) func(*Facts) {
		return func(f *Facts) {
			f.Workload.AskedAt, f.AutoReloadAll, f.Concerns[0].Verdict.Rule = time.Time{}, true, RuleAutoAll
			if second != 0 {
				f.Coverage.AllSince = at(second)
			}
		}
	}
	// ConfigMap cm was written at second 80. The pod, if there is one, was created before that.
	edited := func() *situation { return web().cm("two", 80).pods(1, 70) }
	lost := func() *situation {
		return web().ledger(otherKeyWithSecret).source(Secret, "sec", "s2", 10, 80, SourceSeen{Version: 80}).pods(1, 70)
	}
	for name, tc := range map[string]struct {
		when     *situation
		want     Action
		unproven int
	}{
		"the workload asked for it before":                          {edited(), Reload, 0},
		"the workload asked for it later":                           {edited().with(asked(81)), Record, 0},
		"nothing tells when it asked for it":                        {edited().with(func(f *Facts) { f.Workload.AskedAt = time.Time{} }), Record, 0},
		"it asked in the same second":                               {edited().with(asked(80)), Reload, 0},
		"the settings covered it later":                             {edited().with(func(f *Facts) { f.Coverage.Since = at(81) }), Record, 0},
		"its namespace was selected later":                          {edited().with(func(f *Facts) { f.SelectedAt = at(81) }), Record, 0},
		"its namespace was selected before":                         {edited().with(func(f *Facts) { f.SelectedAt = at(79) }), Reload, 0},
		"all were opted in before":                                  {edited().with(all(79)), Reload, 0},
		"all were opted in later":                                   {edited().with(all(81)), Record, 0},
		"all are opted in, nothing tells since when":                {edited().with(all(0)), Record, 0},
		"a label may be all that was written":                       {edited().with(mixed), Record, 1},
		"the same, and no pod is older":                             {edited().with(mixed).pods(1, 90), Record, 0},
		"the same, and the pods were not asked yet":                 {edited().with(mixed).with(func(f *Facts) { f.Pods = nil }), AskPods, 0},
		"the data were edited, a label was written later":           {edited().with(func(f *Facts) { f.Concerns[0].Source.EditedAt = 75 }), Reload, 0},
		"the same, and the pod is from in between":                  {web().cm("two", 90).pods(1, 82).with(func(f *Facts) { f.Concerns[0].Source.EditedAt = 75 }), Record, 1},
		"the data were edited before it asked, a label later":       {edited().with(asked(76)).with(func(f *Facts) { f.Concerns[0].Source.EditedAt = 75 }), Record, 1},
		"the ledger has other sources":                              {edited().ledger(func(l *Ledger) { clear(l.Entries) }).with(asked(81)), Record, 0},
		"the edit was seen, whoever owns what":                      {web().cmSeen("two", 120).with(mixed), Reload, 0},
		"the key of the digests was lost":                           {lost(), Reload, 0},
		"the key was lost, and a label may be all that was written": {lost().with(mixed), Record, 0},
		"made while nobody watched, and it asked before": {web().refersTo(newKey).cm("one", 20).with(onCreate).
			source(ConfigMap, "new", "x", 90, 90, SourceSeen{Version: 90}).pods(1, 80), Reload, 0},
		"made while nobody watched, and it asked later": {web().refersTo(newKey).cm("one", 20).with(onCreate).with(asked(91)).
			source(ConfigMap, "new", "x", 90, 90, SourceSeen{Version: 90}).pods(1, 80), Record, 0},
	} {
		t.Run(name, func(t *testing.T) {
			d := Decide(tc.when.f)
			if d.Action != tc.want || len(d.Unproven) != tc.unproven {
				t.Errorf("decided to %s, with %v unproven, want %s with %d: %s", d.Action, d.Unproven, tc.want, tc.unproven, d.Why)
			}
		})
	}
}

func TestWhatFieldManagersProve(t *testing.T) {
	const (
		data      = `{"f:data":{".":{},"f:metadata":{}}}`
		typed     = `{"f:data":{"f:k":{}},"f:type":{}}`
		labels    = `{"f:metadata":{"f:labels":{"f:data":{}}}}`
		both      = `{"f:data":{"f:k":{}},"f:metadata":{"f:annotations":{"f:note":{}}}}`
		immutable = `{"f:data":{"f:k":{}},"f:immutable":{}}`
		match     = `{"f:metadata":{"f:annotations":{"f:reloader.stakater.com/match":{}}}}`
	)
	type entry struct {
		fields string
		second int64
	}
	for name, tc := range map[string]struct {
		entries         []entry
		written, edited int64
	}{
		"nobody has written since the creation":    {[]entry{{data, 10}}, 10, 0},
		"a manager of the data alone":              {[]entry{{data, 20}}, 20, 20},
		"the type of a Secret never changes":       {[]entry{{typed, 20}}, 20, 20},
		"a manager of labels":                      {[]entry{{data, 10}, {labels, 20}}, 10, 0},
		"a manager of data and an annotation":      {[]entry{{both, 20}}, 20, 0},
		"it may have been made immutable":          {[]entry{{immutable, 20}}, 20, 0},
		"an edit, and an annotation by another":    {[]entry{{data, 20}, {both, 30}}, 30, 20},
		"fields that cannot be read":               {[]entry{{`{"f:data":`, 20}}, 10, 0},
		"it came to match after the edit":          {[]entry{{data, 20}, {match, 30}}, 20, 0},
		"it matched before the edit":               {[]entry{{data, 30}, {match, 20}}, 30, 30},
		"a manager from before it was there again": {[]entry{{data, 5}}, 10, 0},
	} {
		t.Run(name, func(t *testing.T) {
			meta := &metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(time.Unix(10, 0))}
			for _, e := range tc.entries {
				when := metav1.NewTime(time.Unix(e.second, 0))
				meta.ManagedFields = append(meta.ManagedFields, metav1.ManagedFieldsEntry{Manager: "m", Time: &when, FieldsV1: metav1.NewFieldsV1(e.fields)})
			}
			written, edited := dataTimes(meta, DefaultNames())
			if written.Unix() != tc.written || edited != tc.edited {
				t.Errorf("written at %d and edited at %d, want %d and %d", written.Unix(), edited, tc.written, tc.edited)
			}
		})
	}
}

func TestWhenAWorkloadAsked(t *testing.T) {
	when := func(second int64) *metav1.Time {
		t := metav1.NewTime(time.Unix(second, 0))
		return &t
	}
	own := metav1.NewFieldsV1(`{"f:metadata":{"f:annotations":{"f:reloader.stakater.com/auto":{}}}}`)
	below := metav1.NewFieldsV1(`{"f:spec":{"f:template":{"f:metadata":{"f:annotations":{"f:reloader.stakater.com/search":{}}}}}}`)
	meta := &metav1.ObjectMeta{Annotations: map[string]string{"reloader.stakater.com/auto": "true"}, ManagedFields: []metav1.ManagedFieldsEntry{
		{Manager: "reroll", Time: when(90), FieldsV1: metav1.NewFieldsV1(`{"f:metadata":{"f:annotations":{"f:reroll.dev/ledger":{}}}}`)},
		{Manager: "kubectl", Time: when(20), FieldsV1: own}, {Manager: "helm", Time: when(30), FieldsV1: below}, {Manager: "none"},
	}}
	if got := askedAt(meta, nil, DefaultNames()); !got.Equal(time.Unix(20, 0)) {
		t.Errorf("by its own annotation at %v", got)
	}
	if got := askedAt(meta, map[string]string{"reloader.stakater.com/search": "true"}, DefaultNames()); !got.Equal(time.Unix(30, 0)) {
		t.Errorf("by that of its pod template at %v", got)
	}
	if got := askedAt(&metav1.ObjectMeta{ManagedFields: meta.ManagedFields}, nil, DefaultNames()); !got.IsZero() {
		t.Errorf("without an annotation at %v", got)
	}
}
