package inspect

import (
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Each file in testdata whose name begins with why has a question and its answer.
func TestWhy(t *testing.T) {
	files, err := filepath.Glob("testdata/why-*.yaml")
	if err != nil || len(files) < 10 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".yaml")
		t.Run(name, func(t *testing.T) {
			s := read(t, name)
			asked, source, _ := strings.Cut(s.heads["why"], " ")
			x, err := s.objects.Explain("shop", asked, source, s.running, noon)
			if err != nil {
				unbounded(t, name, err.Error()+"\n") // printed without changes
				return
			}
			if event := s.heads["event"]; event != "" {
				reason, note, _ := strings.Cut(event, " ")
				x.Last = &LastEvent{Reason: reason, Note: note, At: noon.Add(-time.Hour)}
			}
			golden(t, name, x.Text(Paint{}))
		})
	}
}

func TestColourIsAddedAndTakesNoRoom(t *testing.T) {
	s := read(t, "why-excluded")
	x, err := s.objects.Explain("shop", "deployment/web", "", s.running, noon)
	if err != nil {
		t.Fatal(err)
	}
	plain, painted := x.Text(Paint{}), x.Text(Paint{On: true})
	if !strings.Contains(painted, "\x1b[32mup-to-date") {
		t.Errorf("no colour in %q", painted)
	}
	for _, code := range []string{green, yellow, red, bold, "0"} {
		painted = strings.ReplaceAll(painted, "\x1b["+code+"m", "")
	}
	if painted != plain {
		t.Errorf("without the colours it is\n%s\nand not\n%s", painted, plain)
	}
}

// The next step if a receiver is notified: nothing is rolled, whatever the decision is.
func TestNextWithAReceiver(t *testing.T) {
	_, config, _ := strings.Cut(web, "---\n")
	edited := "# then\n" + instead(t, config, "data: {text: hello}", "data: {text: moin}", `"80", creationTimestamp: "2026-02-01T00:00:00Z"`, `"120", creationTimestamp: "2026-03-01T10:00:00Z"`, "u-greeting", "u-other")
	for about, tc := range map[string]struct{ text, want string }{
		"nothing has changed":          {hooked + web, "waiting for changes; Reroll notifies the receiver 1s after the last one"},
		"it does not take the message": {hooked + web + pod + edited, "the controller has to notify the receiver, and retries until the receiver accepts the message"},
		"it has taken it":              {hooked + told + web + pod, "nothing by Reroll: the receiver accepted the message, and has to act on it"},
		"it has rolled it":             {hooked + told + web + youngPod, "waiting for changes; Reroll notifies the receiver 1s after the last one"},
		"pods may not be listed":       {"# unread: pods\n" + hooked + told + web, "waiting for changes; Reroll notifies the receiver 1s after the last one"},
		"it is not told any more":      {told + web + pod, "Reroll rolls it when a source changes again: a receiver was notified of the previous change, and none is configured now"},
	} {
		t.Run(about, func(t *testing.T) {
			s := tell(t, tc.text)
			x, err := s.objects.Explain("shop", "deployment/web", "", s.running, noon)
			if err != nil {
				t.Fatal(err)
			}
			if got := x.next(); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}
