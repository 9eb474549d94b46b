package main

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// story tells what happens as it happens: the time since the beginning, a word for what it is about, a sentence.
type story struct {
	out   io.Writer
	began time.Time
}

const (
	width  = 80
	indent = 18
)

// tell prints one step. What does not fit goes to the next line, below where the sentence began.
func (s *story) tell(about, format string, args ...any) {
	head := fmt.Sprintf("%5.1fs  %-9s ", time.Since(s.began).Seconds(), about)
	for _, line := range wrap(fmt.Sprintf(format, args...), width-indent) {
		fmt.Fprintln(s.out, head+line)
		head = strings.Repeat(" ", indent)
	}
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
