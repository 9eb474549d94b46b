package state

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/internal/workload"
)

func madeBy(uid string) workload.Workload {
	w := owner("1", autoSays("true"))
	w.Parent = &workload.Parent{Key: workload.Key{Kind: "CloneSet", Namespace: "shop", Name: "all"}, UID: types.UID(uid)}
	return w
}

func parent(uid string) workload.Workload {
	w := owner("1", nil)
	w.Key, w.UID = workload.Key{Kind: "CloneSet", Namespace: "shop", Name: "all"}, types.UID(uid)
	return w
}

func TestTheOwnerOfAWorkloadIsRolledInstead(t *testing.T) {
	user := parent("p-1")
	user.TemplateOwner = &workload.Key{Kind: "Deployment", Namespace: "shop", Name: "template"}
	for about, tc := range map[string]struct {
		child workload.Workload
		put   func(*State)
		want  bool
	}{
		"which is there":           {madeBy("p-1"), func(s *State) { s.PutWorkload(parent("p-1"), false) }, true},
		"which is not there":       {madeBy("p-1"), func(*State) {}, false},
		"which is another by now":  {madeBy("p-1"), func(s *State) { s.PutWorkload(parent("p-2"), false) }, false},
		"which is known by name":   {madeBy(""), func(s *State) { s.PutWorkload(parent("p-2"), false) }, true},
		"which user its own":       {madeBy("p-1"), func(s *State) { s.PutTemplateUser(user, false) }, true},
		"but not to another's":     {owner("1", nil), func(s *State) { s.PutWorkload(parent("p-1"), false) }, false},
		"until that is gone again": {madeBy("p-1"), func(s *State) { s.PutWorkload(parent("p-1"), false); s.DeleteWorkload(parent("p-1").Key) }, false},
	} {
		s := New(false)
		s.PutWorkload(tc.child, false)
		tc.put(s)
		if _, left := s.RolledOwner(tc.child.Key); left != tc.want {
			t.Errorf("%s: left to it: %v", about, left)
		}
		counted := 1 // those that are left count for the one that they are left to
		if tc.want {
			counted = 0
		}
		if _, optedIn := s.Counts(false); tc.child.Parent != nil && optedIn != counted {
			t.Errorf("%s: %d are opted in", about, optedIn)
		}
	}
}

func TestTheChildrenOfAWorkloadAreKnown(t *testing.T) {
	s, child := New(false), madeBy("p-1")
	want := func(about string, keys ...workload.Key) {
		t.Helper()
		if got := s.Children(child.Parent.Key); !slices.Equal(got, keys) {
			t.Errorf("%s: %v", about, got)
		}
	}
	s.PutWorkload(child, false)
	want("one", child.Key)
	released := child
	released.Parent, released.ResourceVersion = nil, "2"
	s.PutWorkload(released, true)
	want("released")
	again := child
	again.ResourceVersion = "3"
	s.PutWorkload(again, true)
	want("taken again", child.Key)
	s.DeleteWorkload(child.Key)
	want("deleted")
}
