package stamp

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Diff shows the changes of a file in the form of diff -U0. Of a long line, it shows only the text
// around the change, and nothing of other objects on that line, which may be Secrets.
func (f *File) Diff() string {
	var b strings.Builder
	var at *cursor
	grown := 0
	for _, d := range f.documents {
		if d.list == nil || at == nil || at.list != d.list {
			at = cursorIn(d)
		}
		for _, e := range d.edits {
			if b.Len() == 0 {
				fmt.Fprintf(&b, "--- %s\n+++ %s\n", f.Name, f.Name)
			}
			shown := e.target.extent
			if d.list != nil {
				e.at, e.end = e.at+d.at, e.end+d.at
				shown = extent{shown.from + d.at, shown.to + d.at}
			}
			grown += at.hunk(&b, e, shown, grown)
		}
	}
	return b.String()
}

// cursor moves through a text line by line.
type cursor struct {
	list *list
	text []byte
	// extent is the extent of the current line.
	extent
	line int
}

// cursorIn treats all parts of a list as one text, because several of them may be on one line.
func cursorIn(d *document) *cursor {
	c := &cursor{text: d.text, line: d.line, list: d.list}
	if d.list != nil {
		c.text, c.line = d.list.text, d.list.parts[0].line
	}
	c.to = behindLine(c.text, 0)
	return c
}

func behindLine(text []byte, from int) int {
	if next := bytes.IndexByte(text[from:], '\n'); next >= 0 {
		return from + next + 1
	}
	return len(text)
}

func (c *cursor) move(at int) {
	for c.to <= at && c.from < c.to && c.text[c.to-1] == '\n' {
		c.extent = extent{c.to, behindLine(c.text, c.to)}
		c.line++
	}
}

// wide is the maximum length of the shown part of a line.
const wide = 100

// hunk writes one hunk, and returns the number of lines that the file grows. It reads hardly more
// text than it shows, because one line may be the whole file.
func (c *cursor) hunk(b *strings.Builder, e edit, object extent, grown int) int {
	c.move(e.at)
	whole := c.extent
	if e.end > whole.to {
		whole.to = behindLine(c.text, e.end-1)
	}
	shown := whole
	if object.from > shown.from && !separates(c.text[shown.from:object.from]) {
		shown.from = object.from
	}
	if object.to < shown.to && !separates(c.text[object.to:shown.to]) {
		shown.to = object.to
	}
	// Because of a bracket in a comment, the object can seem shorter than it is. The change itself
	// is always shown.
	shown.from, shown.to = min(max(shown.from, e.at-2*wide), e.at), max(min(shown.to, e.end+2*wide), e.end)
	for shown.from > whole.from && !utf8.RuneStart(c.text[shown.from]) {
		shown.from--
	}
	for shown.to < whole.to && !utf8.RuneStart(c.text[shown.to]) {
		shown.to++
	}
	was := string(c.text[shown.from:shown.to])
	is := string(c.text[shown.from:e.at]) + e.text + string(c.text[e.end:shown.to])
	// Whole lines are added.
	if whole.from == e.at && e.at == e.end && strings.HasSuffix(e.text, "\n") {
		was, is, shown = "", e.text, whole
	}
	removed, added := linesOf(was), linesOf(is)
	from, to := c.line, c.line+grown
	if len(removed) == 0 {
		from-- // as in diff: after this line
	}
	if len(added) == 0 {
		to--
	}
	fmt.Fprintf(b, "@@ -%d,%d +%d,%d @@ %s\n", from, len(removed), to, len(added), e.target.about)
	part := shown != whole || len(was) > 2*wide || len(is) > 2*wide
	for _, side := range []struct {
		sign  string
		lines []string
	}{{"-", removed}, {"+", added}} {
		for i, line := range side.lines {
			line = strings.TrimSuffix(line, "\r")
			if part {
				at := 0
				if i == 0 {
					at = e.at - shown.from
				}
				line = cut(line, at, i == 0 && shown.from > whole.from, i == len(side.lines)-1 && shown.to < whole.to)
			}
			fmt.Fprintf(b, "%s%s\n", side.sign, line)
		}
	}
	return len(added) - len(removed)
}

// separates reports whether a text has only separators of objects.
func separates(text []byte) bool { return len(bytes.TrimLeft(text, "-,[]{} \t\r\n")) == 0 }

func linesOf(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

// cut returns the text around a position, and marks omitted text before and after it.
func cut(line string, at int, before, behind bool) string {
	from, to := min(max(0, at-wide/4), len(line)), min(len(line), at+wide)
	for from > 0 && !utf8.RuneStart(line[from]) {
		from--
	}
	for to < len(line) && !utf8.RuneStart(line[to]) {
		to++
	}
	shown := line[from:to]
	if before || from > 0 {
		shown = "… " + shown
	}
	if behind || to < len(line) {
		shown += " …"
	}
	return shown
}
