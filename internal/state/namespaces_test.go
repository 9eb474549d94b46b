package state

import "testing"

func TestWhichNamespacesAreBeingDeleted(t *testing.T) {
	for about, tc := range map[string]struct {
		puts func(s *State)
		want bool
	}{
		"it is not known":     {func(*State) {}, false},
		"it is there":         {func(s *State) { s.PutNamespace("shop", false) }, false},
		"it is being deleted": {func(s *State) { s.PutNamespace("shop", true) }, true},
		"another is":          {func(s *State) { s.PutNamespace("elsewhere", true) }, false},
		"it was deleted and made again": {func(s *State) {
			s.PutNamespace("shop", true)
			s.PutNamespace("shop", false)
		}, false},
		"a snapshot has it still": {func(s *State) {
			s.PutNamespace("shop", true)
			s.KeepNamespaces(func(name string) bool { return name == "shop" })
		}, true},
		"a snapshot does not have it any more": {func(s *State) {
			s.PutNamespace("shop", true)
			s.KeepNamespaces(func(name string) bool { return name != "shop" })
		}, false},
	} {
		t.Run(about, func(t *testing.T) {
			s := New(false)
			tc.puts(s)
			if got := s.Terminating("shop"); got != tc.want {
				t.Errorf("got %v", got)
			}
		})
	}
}
