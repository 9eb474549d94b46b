// Package story is the voice of the demos.
package story

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

// Story tells what happens as it happens: the time since the beginning, a word for what it is
// about, a sentence.
type Story struct {
	out   io.Writer
	began time.Time

	mu       sync.Mutex
	expected string    // what is waited for
	moved    time.Time // when something was last told or newly waited for
}

const (
	// Width is how many columns a line has at most.
	Width  = 80
	indent = 18
)

// New begins one now.
func New(out io.Writer) *Story { return &Story{out: out, began: time.Now(), moved: time.Now()} }

// Tell prints one step. What does not fit goes to the next line, below where the sentence began.
func (s *Story) Tell(about, format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.moved = time.Now()
	s.print(about, fmt.Sprintf(format, args...))
}

func (s *Story) print(about, sentence string) {
	head := fmt.Sprintf("%5.1fs  %-9s ", time.Since(s.began).Seconds(), about)
	for _, line := range wrap(sentence, Width-indent) {
		fmt.Fprintln(s.out, head+line)
		head = strings.Repeat(" ", indent)
	}
}

// Expect says what comes next. It is printed only if that takes long, or does not come.
func (s *Story) Expect(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expected, s.moved = what, time.Now()
}

// Expecting returns what is waited for.
func (s *Story) Expecting() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.expected
}

// firstWord is how long nothing may happen until the story says what it waits for. It says so again
// after twice as long, and so on: there is room for few lines.
const firstWord = 15 * time.Second

// Watch says what is waited for when that takes long, and gives up when nothing has happened for so
// long that nothing will, however slow the machine.
func (s *Story) Watch(ctx context.Context, patience time.Duration, giveUp context.CancelCauseFunc) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for said := 0; ; {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			var err error
			if said, err = s.look(now, patience, said); err != nil {
				giveUp(err)
				return
			}
		}
	}
}

// look is given how often it was said already what is waited for, and returns how often it is now.
func (s *Story) look(now time.Time, patience time.Duration, said int) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch idle := now.Sub(s.moved); {
	case idle >= patience:
		return said, fmt.Errorf("nothing has happened for %s; expected was %s", patience, s.expected)
	case idle < firstWord:
		return 0, nil
	case idle >= firstWord<<said:
		s.print("waiting", "for "+s.expected)
		said++
	}
	return said, nil
}

func wrap(text string, width int) []string {
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(text) {
		switch {
		case line == "":
			line = word
		case len(line)+1+len(word) > width:
			lines = append(lines, line)
			line = word
		default:
			line += " " + word
		}
	}
	return append(lines, line)
}
