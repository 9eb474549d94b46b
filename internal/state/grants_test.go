package state

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/grant"
	"github.com/reroll-dev/reroll/internal/reload"
	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/workload"
)

// grantOf allows the Deployments of a namespace a ConfigMap; all of them without a name.
func grantOf(namespace, name string, at uint32) *grant.Grant {
	to := map[string]any{"group": "", "kind": "ConfigMap"}
	if name != "" {
		to["name"] = name
	}
	from := map[string]any{"group": "apps", "kind": "Deployment", "namespace": namespace}
	return grant.Read(map[string]any{"from": []any{from}, "to": []any{to}}, at, at)
}

func inInfra(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: "infra", Name: name}
}

// granting is a state in which web names infra/cm, which allows nobody itself.
func granting() *State {
	s := New(false)
	s.ReadGrants()
	s.PutWorkload(deployment("web", "", 1, byName, "infra/cm"), live)
	s.PutSource(foreignCM("cm", "one", 3, ""), live)
	return s
}

func TestWhichGrantsQueueAndAllowAWorkload(t *testing.T) {
	for about, tc := range map[string]struct {
		in   string
		with *grant.Grant
		want bool
	}{
		"for the source":       {"infra", grantOf("shop", "cm", 5), true},
		"for all ConfigMaps":   {"infra", grantOf("shop", "", 5), true},
		"for another source":   {"infra", grantOf("shop", "other", 5), false},
		"for another one":      {"infra", grantOf("bank", "cm", 5), false},
		"in another namespace": {"shop", grantOf("shop", "cm", 5), false},
	} {
		t.Run(about, func(t *testing.T) {
			s := granting()
			s.KeepGrants("", nil, 10)
			name := types.NamespacedName{Namespace: tc.in, Name: "g"}
			queued, _ := s.PutGrant(name, tc.with, 11, live)
			if slices.Contains(queued, webKey()) != tc.want {
				t.Errorf("queued %v", queued)
			}
			if got := concerned(s, "web"); (len(got) == 1) != tc.want {
				t.Errorf("concerned by %v", got)
			}
			w, _ := s.Workload(webKey())
			if consents, known := s.Consents(source.Key{Kind: source.ConfigMap, Namespace: "infra", Name: "cm"}, &w); consents != tc.want || !known {
				t.Errorf("consents %t, known %t", consents, known)
			}
			if queued, _ := s.PutGrant(name, tc.with, 12, live); len(queued) > 0 {
				t.Errorf("the same grant queues %v", queued)
			}
			queued, _ = s.PutGrant(name, nil, 13, live)
			if slices.Contains(queued, webKey()) != tc.want || len(concerned(s, "web")) > 0 {
				t.Errorf("withdrawn: queued %v, concerned by %v", queued, concerned(s, "web"))
			}
		})
	}
}

func TestGrantsDoNotCountUnlessTheyAreRead(t *testing.T) {
	s := New(false)
	s.PutWorkload(deployment("web", "", 1, byName, "infra/cm"), live)
	s.PutSource(foreignCM("cm", "one", 3, ""), live)
	f, _ := s.Facts(webKey())
	if len(f.Unselected) > 0 || len(f.Concerns) > 0 || len(f.Spared) != 1 {
		t.Errorf("%v, %v, %v", f.Concerns, f.Spared, f.Unselected)
	}
}

func TestNothingIsDecidedBeforeAllGrantsAreKnown(t *testing.T) {
	for about, tc := range map[string]struct {
		prepare func(*State)
		decided bool
	}{
		"no snapshot":                          {func(*State) {}, false},
		"a snapshot that is not complete":      {func(s *State) { s.PutGrant(inInfra("a"), grantOf("bank", "", 1), 7, false) }, false},
		"a snapshot of another namespace":      {func(s *State) { s.KeepGrants("bank", nil, 7) }, false},
		"a snapshot of its namespace":          {func(s *State) { s.KeepGrants("infra", nil, 7) }, true},
		"a snapshot of all namespaces":         {func(s *State) { s.KeepGrants("", nil, 7) }, true},
		"the cluster serves none":              {func(s *State) { s.NoGrants("") }, true},
		"the source does not exist":            {func(s *State) { s.KeepSources(source.ConfigMap, "", nil, 0) }, false},
		"the source is deleted":                {func(s *State) { s.DeleteSource(inCM(), reload.Departure{Version: 9}) }, false},
		"the annotation allows it":             {func(s *State) { s.PutSource(foreignCM("cm", "one", 8, "shop"), live) }, true},
		"the annotation allowed, then deleted": {allowedThenDeleted, true},
	} {
		s := granting()
		f, _ := s.Facts(webKey())
		s.Compared(&f)
		tc.prepare(s)
		f, _ = s.Facts(webKey())
		key := source.LocalKey{Kind: source.ConfigMap, Name: "infra/cm"}
		if open := slices.Contains(f.Unselected, key); open == tc.decided {
			t.Errorf("%s: undecided %t", about, open)
		}
	}
}

func inCM() source.Key {
	return source.Key{Kind: source.ConfigMap, Namespace: "infra", Name: "cm"}
}

func allowedThenDeleted(s *State) {
	s.PutSource(foreignCM("cm", "one", 8, "shop"), live)
	f, _ := s.Facts(webKey())
	s.Compared(&f)
	s.Sending(&f, "")
	s.DeleteSource(inCM(), reload.Departure{Version: 9})
}

func TestTheFirstSnapshotOfGrantsQueuesThoseWhoWaitForIt(t *testing.T) {
	s := granting()
	if queued := s.KeepGrants("infra", nil, 7); !slices.Contains(queued, webKey()) {
		t.Errorf("queued %v", queued)
	}
	if queued := s.KeepGrants("infra", nil, 8); len(queued) > 0 {
		t.Errorf("the next one queues %v", queued)
	}
}

// consentOf returns the only source that concerns web, with what was seen of it.
func consentOf(t *testing.T, s *State) (source.Source, reload.SourceSeen) {
	t.Helper()
	f, _ := s.Facts(webKey())
	if len(f.Concerns) != 1 {
		t.Fatalf("concerned by %v", f.Concerns)
	}
	return f.Concerns[0].Source, f.Concerns[0].Seen
}

func TestAGrantInASnapshotBeganAfterTheNewestKnownVersion(t *testing.T) {
	s := granting()
	s.KeepGrants("", nil, 40)
	s.PutGrant(inInfra("other"), grantOf("bank", "", 1), 45, live)
	s.PutGrant(inInfra("g"), grantOf("shop", "cm", 9), 90, false)
	_, seen := consentOf(t, s)
	var want reload.SourceSeen
	want.Allow(46, annotations.AllowFrom{})
	if fmt.Sprint(*seen.Allowed) != fmt.Sprint(*want.Allowed) {
		t.Errorf("%+v, want %+v", seen.Allowed, want.Allowed)
	}
	first := granting()
	first.PutGrant(inInfra("g"), grantOf("shop", "cm", 9), 90, false)
	first.KeepGrants("", map[types.NamespacedName]struct{}{inInfra("g"): {}}, 95)
	want = reload.SourceSeen{}
	want.Allow(1, annotations.AllowFrom{})
	if src, seen := consentOf(t, first); fmt.Sprint(*seen.Allowed) != fmt.Sprint(*want.Allowed) || src.AllowedAt != 9 {
		t.Errorf("the first snapshot: %+v at %d", seen.Allowed, src.AllowedAt)
	}
	late := granting()
	late.PutSource(foreignCM("cm", "two", 60, ""), live)
	late.NoGrants("")
	late.PutGrant(inInfra("g"), grantOf("shop", "cm", 9), 90, false)
	if _, seen := consentOf(t, late); fmt.Sprint(*seen.Allowed) == fmt.Sprint(*want.Allowed) || !strings.Contains(fmt.Sprint(*seen.Allowed), "61") {
		t.Errorf("served late: %+v", seen.Allowed)
	}
}

// The watch was ahead of the API server that sent the snapshot.
func TestAnOlderSnapshotOfGrantsLeavesTheNewestKnownVersion(t *testing.T) {
	s := granting()
	s.KeepGrants("", nil, 40)
	s.PutGrant(inInfra("other"), grantOf("bank", "", 1), 60, live)
	s.KeepGrants("", map[types.NamespacedName]struct{}{inInfra("other"): {}}, 50)
	s.PutGrant(inInfra("g"), grantOf("shop", "cm", 9), 55, false)
	_, seen := consentOf(t, s)
	var want reload.SourceSeen
	want.Allow(61, annotations.AllowFrom{})
	if fmt.Sprint(*seen.Allowed) != fmt.Sprint(*want.Allowed) {
		t.Errorf("%+v, want %+v", seen.Allowed, want.Allowed)
	}
}

// A list that comes late shows the creation of a grant. Without that, the edit is rolled rather than lost.
func TestAGrantThatIsYoungerThanTheDataBeganLater(t *testing.T) {
	for about, tc := range map[string]struct {
		data, created int64
		timeless      bool
		later         bool
	}{
		"created later":                   {100, 106, false, true},
		"created within the same seconds": {100, 105, false, false},
		"created before":                  {100, 90, false, false},
		"the time of the data is unknown": {100, 200, true, false},
	} {
		for _, known := range []bool{true, false} {
			s := New(false)
			s.ReadGrants()
			s.PutWorkload(deployment("web", "", 1, byName, "infra/cm"), live)
			if known {
				s.NoGrants("")
			}
			s.PutSource(foreignCM("cm", "one", 20, ""), live)
			src := foreignCM("cm", "two", 50, "")
			src.DataTime, src.Untracked = time.Unix(tc.data, 0), tc.timeless
			s.PutSource(src, live)
			s.PutGrant(inInfra("g"), grantOf("shop", "cm", uint32(tc.created)), 90, false)
			s.KeepGrants("", map[types.NamespacedName]struct{}{inInfra("g"): {}}, 95)
			_, seen := consentOf(t, s)
			if got := strings.Contains(fmt.Sprint(*seen.Allowed), "{51 "); got != tc.later {
				t.Errorf("%s, known %t: %+v", about, known, *seen.Allowed)
			}
		}
	}
}

func TestBothConsentsHaveTheEarlierTime(t *testing.T) {
	s := granting()
	s.KeepGrants("", nil, 40)
	src := foreignCM("cm", "one", 41, "shop")
	src.AllowedAt = 70
	s.PutSource(src, live)
	s.PutGrant(inInfra("g"), grantOf("shop", "cm", 50), 42, live)
	if src, _ := consentOf(t, s); src.AllowedAt != 50 || !src.Annotations.AllowFrom.Has("shop") {
		t.Errorf("allowed at %d", src.AllowedAt)
	}
}

func TestADeletedSourceWithAGrantHadAllowedTheWorkload(t *testing.T) {
	s := granting()
	s.KeepGrants("", nil, 40)
	s.PutGrant(inInfra("g"), grantOf("shop", "cm", 50), 41, live)
	f, _ := s.Facts(webKey())
	s.Compared(&f)
	s.DeleteSource(inCM(), reload.Departure{Version: 50})
	f, _ = s.Facts(webKey())
	if left := f.Gone[source.LocalKey{Kind: source.ConfigMap, Name: "infra/cm"}]; !left.Source.Annotations.AllowFrom.Has("shop") {
		t.Errorf("gone %+v", f.Gone)
	}
	for _, allowed := range []bool{true, false} {
		s := granting()
		s.KeepGrants("", nil, 40)
		f, _ := s.Facts(webKey())
		s.Compared(&f)
		if allowed {
			s.PutGrant(inInfra("g"), grantOf("shop", "cm", 50), 41, live)
			s.DeleteSource(inCM(), reload.Departure{Version: 50})
			s.PutGrant(inInfra("g"), nil, 51, live)
		} else {
			s.DeleteSource(inCM(), reload.Departure{Version: 50})
			s.PutGrant(inInfra("g"), grantOf("shop", "cm", 50), 51, live)
		}
		f, _ = s.Facts(webKey())
		if left := f.Gone[source.LocalKey{Kind: source.ConfigMap, Name: "infra/cm"}]; left.Source.Annotations.AllowFrom.Has("shop") != allowed {
			t.Errorf("allowed %t when it was deleted: %v", allowed, left.Source.Annotations.AllowFrom)
		}
	}
}

// A namespace with thousands of grants has a bound, and those of others do not pay for it.
func TestThousandsOfGrantsAreBounded(t *testing.T) {
	s := granting()
	s.KeepGrants("", nil, 40)
	crowded := 0
	for i := range 3000 {
		queued, tooMany := s.PutGrant(inInfra(fmt.Sprintf("g-%d", i)), grantOf("bank", "", 1), uint64(50+i), live)
		if len(queued) > 0 {
			t.Fatalf("a grant for others queues %v", queued)
		}
		if tooMany {
			crowded++
		}
	}
	of := s.granted["infra"]
	if n := len(of.set.Names()); n != grant.Most || len(of.steps) != maxGrantSteps || crowded != 3000-grant.Most {
		t.Errorf("%d grants and %d steps are kept, %d were too many", n, len(of.steps), crowded)
	}
	s.KeepGrants("", nil, 9000)
	s.DeleteWorkload(webKey())
	s.PutGrant(inInfra("last"), grantOf("bank", "", 1), 9001, live)
	s.PutGrant(inInfra("last"), nil, 9002, live)
	if len(s.granted)+len(s.index.naming) > 0 {
		t.Errorf("kept %v, %v", s.granted, s.index.naming)
	}
}

func TestReplacedGrantsChangeTheAnswersOfThoseWhoNeedThem(t *testing.T) {
	s := granting()
	s.TrackChanges()
	set, _ := (*grant.Set)(nil).With("g", grantOf("shop", "cm", 1))
	for i, step := range []struct {
		sets    map[string]*grant.Set
		known   []string
		changes bool
	}{
		{nil, []string{"infra"}, true},
		{nil, []string{"infra"}, false},
		{map[string]*grant.Set{"infra": set}, []string{"infra"}, true},
		{map[string]*grant.Set{"infra": set}, []string{"infra"}, false},
		{map[string]*grant.Set{"infra": set}, nil, true},
	} {
		s.TakeChanges()
		s.SetGrants(step.sets, step.known)
		if got := s.TakeChanges(); slices.Contains(got, webKey()) != step.changes {
			t.Errorf("step %d: changed %v", i, got)
		}
	}
}

func TestKindsThatShareAPrefixAreNotMixedUp(t *testing.T) {
	w := workload.Workload{Key: workload.Key{Kind: "Deployment.example.org", Namespace: "shop"}, APIVersion: "example.org/v1"}
	if grantOf("shop", "", 1).Allows(grant.Of(&w), source.LocalKey{Kind: source.ConfigMap, Name: "cm"}) {
		t.Error("a kind of another group is allowed")
	}
}

// Giving consent rolls nothing, however many other ReferenceGrants follow before the decision.
func TestManyReferenceGrantsHideNoConsent(t *testing.T) {
	s := New(false)
	s.ReadGrants()
	s.PutWorkload(deployment("web", "", 2, byName, "infra/cm"), live)
	s.PutSource(foreignCM("cm", "one", 3, ""), live)
	s.KeepGrants("", nil, 4)
	s.PutSource(foreignCM("cm", "two", 5, ""), live)
	s.PutGrant(types.NamespacedName{Namespace: "infra", Name: "a"}, grantOf("shop", "cm", 10), 10, live)
	for i := range 2 * grant.Most {
		name := types.NamespacedName{Namespace: "infra", Name: fmt.Sprintf("b%03d", i)}
		s.PutGrant(name, grantOf("bank", "cm", 20), uint64(20+i), live)
	}
	f, _ := s.Facts(webKey())
	if d := reload.Decide(f); d.Action == reload.Reload {
		t.Errorf("decided to %s: %s", d.Action, d.Why)
	}
}
