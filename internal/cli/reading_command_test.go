package cli

import (
	"bytes"
	"os"
	"testing"
)

func TestColourIsForTerminalsAlone(t *testing.T) {
	screen, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer screen.Close()
	file, err := os.Create(t.TempDir() + "/out")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	env := func(name, value string) func(string) string {
		return func(asked string) string {
			if asked == name {
				return value
			}
			return ""
		}
	}
	if !paint(screen, env("TERM", "xterm")).On {
		t.Error("a terminal has no colour")
	}
	for about, p := range map[string]bool{
		"a file":          paint(file, env("TERM", "xterm")).On,
		"a buffer":        paint(&bytes.Buffer{}, env("TERM", "xterm")).On,
		"NO_COLOR":        paint(screen, env("NO_COLOR", "1")).On,
		"a dumb terminal": paint(screen, env("TERM", "dumb")).On,
	} {
		if p {
			t.Errorf("%s has colour", about)
		}
	}
}
