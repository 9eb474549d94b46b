package inspect

import (
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Each file of testdata that begins with why is a question and, beside it, the answer.
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
				unbounded(t, name, err.Error()+"\n") // it is printed as it is
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
	if !strings.Contains(painted, "\x1b[32min step") {
		t.Errorf("no colour in %q", painted)
	}
	for _, code := range []string{green, yellow, red, bold, "0"} {
		painted = strings.ReplaceAll(painted, "\x1b["+code+"m", "")
	}
	if painted != plain {
		t.Errorf("without the colours it is\n%s\nand not\n%s", painted, plain)
	}
}
