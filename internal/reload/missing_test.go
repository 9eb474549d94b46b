package reload

import (
	"slices"
	"strings"
	"testing"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/digest"
	"github.com/reroll-dev/reroll/internal/ledger"
	"github.com/reroll-dev/reroll/internal/policy"
	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/workload"
)

// annotated sets annotations of the workload.
func (s *situation) annotated(values map[string]string) *situation {
	s.f.Workload.Policy, _ = policy.Parse(values, nil, annotations.DefaultNames())
	return s
}

func TestEntriesOfAListThatMatchNoSource(t *testing.T) {
	for list, want := range map[string]struct{ missing, unmatched string }{
		"cm, spared, unselected": {},
		"cm, mising":             {missing: "mising"},
		"mising, mising":         {missing: "mising"},
		// A dot matches any character, and is also valid in names of objects.
		"my.config":           {missing: "my.config"},
		"my.config, db.app-1": {missing: "my.config, db.app-1"},
		"spa.ed":              {},
		"app-.*":              {unmatched: "app-.*"},
		"My.Config":           {unmatched: "My.Config"},
		"a..b":                {unmatched: "a..b"},
		"a.-b":                {unmatched: "a.-b"},
		"a.b-":                {unmatched: "a.b-"},
		"c.*, sp.*, unsel.*":  {},
		"only-a-secret":       {missing: "only-a-secret"},
		"only-a-.*":           {unmatched: "only-a-.*"},
		"was-here":            {missing: "was-here deleted reloads"},
		"was-h.*":             {},
		"was.here":            {},
		"left":                {missing: "left deleted"},
		"lef.*":               {},
	} {
		t.Run(list, func(t *testing.T) {
			s := web().cm("one", 60).annotated(map[string]string{annotations.DefaultNames().ConfigMap: list})
			s.ledger(func(l *ledger.Ledger) {
				l.Entries[source.LocalKey{Kind: source.ConfigMap, Name: "was-here"}] = digest.Digest{1}
			})
			s.f.Gone = map[source.LocalKey]Departure{}
			for _, name := range []string{"left", "unrelated"} {
				key := source.LocalKey{Kind: source.ConfigMap, Name: name}
				s.f.Gone[key] = Departure{Version: 20, Source: source.Source{Key: key.In("shop")}}
			}
			s.f.Spared = []source.LocalKey{{Kind: source.ConfigMap, Name: "spared"}, {Kind: source.Secret, Name: "only-a-secret"}}
			s.f.Unselected = []source.LocalKey{{Kind: source.ConfigMap, Name: "unselected"}}
			if got := strings.ReplaceAll(s.missing(), "ConfigMap ", ""); got != want.missing {
				t.Errorf("missing: got %q, want %q", got, want.missing)
			}
			var unmatched []string
			for _, n := range s.f.Unmatched() {
				unmatched = append(unmatched, n.Text)
			}
			if got := strings.Join(unmatched, ", "); got != want.unmatched {
				t.Errorf("unmatched: got %q, want %q", got, want.unmatched)
			}
		})
	}
}

// missing are the missing sources in words.
func (s *situation) missing() string {
	var all []string
	for _, m := range s.f.Missing() {
		text := m.Key.Local().String()
		for i, is := range []bool{m.Referenced, m.Deleted, m.Reloads} {
			if is {
				text += [...]string{" referenced", " deleted", " reloads"}[i]
			}
		}
		all = append(all, text)
	}
	return strings.Join(all, ", ")
}

func TestWhichSourcesAreMissing(t *testing.T) {
	names := annotations.DefaultNames()
	auto := map[string]string{names.Auto: "true"}
	both := func(l *ledger.Ledger) { l.Entries[source.LocalKey{Kind: source.Secret, Name: "sec"}] = digestOf("s") }
	only := func(optional bool) func(*Facts) {
		return func(f *Facts) {
			f.Workload.References = []workload.Reference{{
				Key:  source.LocalKey{Kind: source.ConfigMap, Name: "cm"},
				Uses: []workload.Use{{How: workload.UseEnv, Optional: true}, {How: workload.UseVolume, Optional: optional}},
			}}
		}
	}
	exists := func(f *Facts) { f.Spared = []source.LocalKey{{Kind: source.Secret, Name: "sec"}} }
	for about, tc := range map[string]struct {
		s    *situation
		want string
	}{
		"all exist":                {web().cm("one", 60).annotated(auto).with(exists), ""},
		"none exists and none did": {web().annotated(auto), "ConfigMap cm referenced, Secret sec referenced"},
		"both were deleted":        {web().annotated(auto).ledger(both), "ConfigMap cm referenced deleted reloads, Secret sec referenced deleted reloads"},
		"one was deleted and the other never existed":   {web().annotated(auto).ledger(nil), "ConfigMap cm referenced deleted reloads, Secret sec referenced"},
		"deletions reload":                              {web().annotated(auto).ledger(both).with(func(f *Facts) { f.OnDelete = true }), "ConfigMap cm referenced deleted, Secret sec referenced deleted"},
		"a receiver is notified":                        {web().annotated(auto).ledger(both).with(func(f *Facts) { f.NotifyOnly = true }), "ConfigMap cm referenced deleted, Secret sec referenced deleted"},
		"the ledger is of another object":               {web().annotated(auto).ledger(func(l *ledger.Ledger) { l.UID = "uid-2" }).with(exists), "ConfigMap cm referenced"},
		"the ledger is remembered":                      {web().annotated(auto).remembered(nil).with(exists), "ConfigMap cm referenced deleted reloads"},
		"its labels are not selected":                   {web().annotated(auto).with(exists).with(func(f *Facts) { f.Unselected = []source.LocalKey{{Kind: source.ConfigMap, Name: "cm"}} }), ""},
		"a selector for labels, and it never existed":   {web().annotated(auto).with(exists).with(func(f *Facts) { f.Selective = true }), ""},
		"a selector for labels, and it was deleted":     {web().annotated(auto).ledger(nil).with(exists).with(func(f *Facts) { f.Selective = true }), "ConfigMap cm referenced deleted reloads"},
		"its kind is not watched":                       {web().cm("one", 60).annotated(auto).with(func(f *Facts) { f.Unread = []source.Kind{source.Secret} }), ""},
		"a named one whose kind is not watched":         {web().cm("one", 60).annotated(map[string]string{names.Secret: "a"}).with(func(f *Facts) { f.Unread = []source.Kind{source.Secret} }), ""},
		"a SecretProviderClass without a report":        {web().cm("one", 60).annotated(map[string]string{names.SecretProviderClass: "a"}), ""},
		"not opted in":                                  {web().ledger(both), ""},
		"all are opted in":                              {web().with(exists).with(func(f *Facts) { f.AutoReloadAll = true }), "ConfigMap cm referenced"},
		"excluded by name":                              {web().annotated(map[string]string{names.Auto: "true", names.ConfigMapExclude: "cm"}).with(exists), ""},
		"opted in for the other kind":                   {web().annotated(map[string]string{names.SecretAuto: "true"}), "Secret sec referenced"},
		"searched for":                                  {web().annotated(map[string]string{names.Search: "true"}), ""},
		"searched for and found before it was deleted":  {web().annotated(map[string]string{names.Search: "true"}).ledger(nil), "ConfigMap cm referenced deleted reloads"},
		"optional in all places":                        {web().annotated(auto).with(only(true)), ""},
		"optional in some places":                       {web().annotated(auto).with(only(false)), "ConfigMap cm referenced"},
		"optional and named":                            {web().annotated(map[string]string{names.ConfigMap: "cm"}).with(only(true)), ""},
		"referenced and named":                          {web().annotated(map[string]string{names.ConfigMap: "cm, b"}), "ConfigMap cm referenced, ConfigMap b"},
		"referenced by a Job, which may not run again":  {web().annotated(auto).with(func(f *Facts) { f.Workload.Runs = &workload.Runs{Once: true} }), ""},
		"referenced by a CronJob, which will run again": {web().annotated(auto).with(exists).with(func(f *Facts) { f.Workload.Runs = &workload.Runs{} }), "ConfigMap cm referenced"},
	} {
		t.Run(about, func(t *testing.T) {
			if got := tc.s.missing(); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestMissingSourcesKeepTheirOrder(t *testing.T) {
	s := web().annotated(map[string]string{annotations.DefaultNames().ConfigMap: "b, a", annotations.DefaultNames().Secret: "sec"})
	if first, second := s.f.Missing(), s.f.Missing(); !slices.Equal(first, second) || !first[0].Referenced {
		t.Errorf("%v, then %v", first, second)
	}
}

func TestWhatADeletedSourceHides(t *testing.T) {
	s := web().cm("one", 60).annotated(map[string]string{annotations.Sources: "plugins=grafna"}).ledger(nil)
	s.f.Concerns = nil
	key := source.LocalKey{Kind: source.ConfigMap, Name: "unrelated"}
	s.f.Gone = map[source.LocalKey]Departure{key: {Version: 20, Source: source.Source{Key: key.In("shop"), Annotations: source.Annotations{Labels: source.LabelsOf(map[string]string{"plugins": "loki"})}}}}
	s.ledger(func(l *ledger.Ledger) { l.Entries = nil })
	if unmatched := s.f.Unmatched(); len(unmatched) != 1 {
		t.Errorf("unmatched are %v", unmatched)
	}
}
