package state

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/reroll-dev/reroll/internal/annotations"
)

// worstEdits are annotations that differ in each version, so that each selects more sources, or makes
// other keys count.
func worstEdits() map[string]func(version int) []string {
	edits := map[string]func(int) []string{}
	for name, worst := range worstAnnotations() {
		edits[name] = func(version int) []string {
			other := strings.NewReplacer("a", fmt.Sprintf("a%d", version), "shop", fmt.Sprintf("shop%d", version), "1", fmt.Sprintf("1%d", version%10))
			edited := append([]string(nil), worst...)
			for i := 1; i < len(edited); i += 2 {
				edited[i] = other.Replace(edited[i])
			}
			return edited
		}
	}
	edits["keys of many sources"] = func(version int) []string {
		return []string{annotations.Keys, strings.TrimSuffix(numbered(fmt.Sprintf("configmap/app%d-%%d=%s", version, strings.Repeat("k", 200)), 1000), ",")}
	}
	edits["many keys of one source"] = func(version int) []string {
		return []string{annotations.Keys, "configmap/cm=" + strings.TrimSuffix(numbered(fmt.Sprintf("%s%d-%%d", strings.Repeat("k", 200), version), 1000), ",")}
	}
	edits["a window of much text"] = func(version int) []string {
		return []string{annotations.Window, strings.Repeat("x", 250_000+version), byName, fmt.Sprintf("app-%d", version)}
	}
	return edits
}

// What an edit replaces is kept until the workload is compared.
func TestTheWorstEditsKeepLittleMemory(t *testing.T) {
	for name, edit := range worstEdits() {
		t.Run(name, func(t *testing.T) {
			s := New(false)
			before := heap()
			for version := 1; version <= 40; version++ {
				s.PutWorkload(named(version, edit(version)), live)
			}
			if kept := heap() - before; kept > 4<<20 {
				t.Errorf("%d bytes are kept, may be %d", kept, 4<<20)
			}
			runtime.KeepAlive(s)
		})
	}
}

// Beyond what is kept, sources count as selected before: their changes are not too early to count.
func TestTooManyEditsHideNoChange(t *testing.T) {
	for name, edit := range map[string]func(version int) []string{
		"large ones": worstEdits()["as many names as lists take"],
		"many":       func(version int) []string { return []string{byName, numbered("cm-%d", version)} },
	} {
		t.Run(name, func(t *testing.T) {
			s := New(false)
			const last = 40
			for version := 1; version < last; version++ {
				s.PutWorkload(named(version, append(edit(version), auto, "true")), live)
			}
			s.PutWorkload(named(last, nil), live)
			s.PutWorkload(named(last+1, edit(last+1)), live)
			f, _ := s.Facts(webKey())
			if !f.Seen.Forgotten || f.Adopts() != 0 {
				t.Errorf("forgotten is %t, and it seems to be opted in since version %d", f.Seen.Forgotten, f.Adopts())
			}
			f.Seen.ForgetPolicies(true)
			if f.Seen.Forgotten || len(f.Seen.Widened) != 1 {
				t.Errorf("after a comparison, %d are kept, forgotten is %t", len(f.Seen.Widened), f.Seen.Forgotten)
			}
		})
	}
}
