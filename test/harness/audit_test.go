package harness

import (
	"os"
	"path/filepath"
	"testing"
)

func TestWhatWasAskedIsReadOnceAndNothingIsLeftOut(t *testing.T) {
	t.Parallel()
	log := filepath.Join(t.TempDir(), "audit.log")
	write := func(text string) {
		t.Helper()
		file, err := os.OpenFile(log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		must(t, err)
		_, err = file.WriteString(text)
		must(t, err)
		must(t, file.Close())
	}
	line := func(verb, stage, account string) string {
		return `{"stage":"` + stage + `","verb":"` + verb + `","user":{"username":"system:serviceaccount:` + account + `"}}` + "\n"
	}
	n := &Namespace{Name: "ns"}
	want := func(verbs ...string) {
		t.Helper()
		found, err := n.Requests(log)
		must(t, err)
		if len(found) != len(verbs) {
			t.Fatalf("found %v, want %v", found, verbs)
		}
		for i, r := range found {
			if r.Verb != verbs[i] {
				t.Fatalf("found %v, want %v", found, verbs)
			}
		}
	}
	half := line("patch", "ResponseComplete", "ns:reroll")
	write(line("get", "ResponseComplete", "ns:reroll") + line("list", "ResponseComplete", "other:reroll") + half[:20])
	want("get")
	want("get")
	write(half[20:] + line("watch", "ResponseStarted", "ns:reroll") + line("watch", "ResponseComplete", "ns:reroll"))
	want("get", "patch", "watch")
	want("get", "patch", "watch")
}
