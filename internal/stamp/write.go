package stamp

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

// Changed tells whether stamping made a difference.
func (f *File) Changed() bool {
	for _, d := range f.documents {
		if len(d.edits) > 0 {
			return true
		}
	}
	return false
}

// WriteTo writes the file with its stamps.
func (f *File) WriteTo(w io.Writer) (int64, error) {
	var written int64
	for _, d := range f.documents {
		last := 0
		put := func(text []byte) error {
			n, err := w.Write(text)
			written += int64(n)
			return err
		}
		for _, e := range d.edits {
			if err := put(d.text[last:e.at]); err != nil {
				return written, err
			}
			if err := put([]byte(e.text)); err != nil {
				return written, err
			}
			last = e.end
		}
		if err := put(d.text[last:]); err != nil {
			return written, err
		}
	}
	return written, nil
}

// WriteTo writes all files as one stream. Between two of them there is a separator, if they have none themselves.
func (r *Result) WriteTo(w io.Writer) (int64, error) {
	var written int64
	for i, f := range r.Files {
		n, err := io.WriteString(w, r.between(i))
		written += int64(n)
		if err != nil {
			return written, err
		}
		more, err := f.WriteTo(w)
		written += more
		if err != nil {
			return written, err
		}
	}
	return written, nil
}

// between is what has to stand in front of a file, behind the others.
func (r *Result) between(i int) string {
	last := r.lastBefore(i)
	if last == nil || len(r.Files[i].documents) == 0 {
		return ""
	}
	was, next := apply(last.text, last.edits), r.Files[i].documents[0].text
	separator := ""
	if !bytes.HasSuffix(was, []byte("\n")) {
		separator = "\n"
	}
	lines := bytes.Split(bytes.TrimSuffix(was, []byte("\n")), []byte("\n"))
	ended := kindOfLine(lines[len(lines)-1]) == endLine
	switch {
	case bytes.HasPrefix(next, []byte(byteOrderMark)), bytes.HasPrefix(next, []byte("%")): // neither may stand inside of a document
		if !ended {
			separator += "...\n"
		}
	case kindOfLine(firstLine(next)) != markerLine:
		separator += "---\n"
	}
	return separator
}

func (r *Result) lastBefore(i int) *document {
	for i--; i >= 0; i-- {
		for _, d := range slices.Backward(r.Files[i].documents) {
			if len(d.text) > 0 {
				return d
			}
		}
	}
	return nil
}

func firstLine(text []byte) []byte {
	line, _, _ := bytes.Cut(text, []byte("\n"))
	return line
}

// Diff shows what stamping changes in a file, in the form of diff -U0. Of a long line only what is around the change is shown.
func (f *File) Diff() string {
	var b strings.Builder
	grown := 0
	for _, d := range f.documents {
		for _, e := range d.edits {
			if b.Len() == 0 {
				fmt.Fprintf(&b, "--- %s\n+++ %s\n", f.Name, f.Name)
			}
			grown += e.hunk(&b, d, grown)
		}
	}
	return b.String()
}

// hunk writes one, and returns by how many lines the file grows.
func (e edit) hunk(b *strings.Builder, d *document, grown int) int {
	from, to := lineAround(d.text, e.at, e.end)
	line := d.line + bytes.Count(d.text[:from], []byte("\n"))
	was := string(d.text[from:to])
	is := string(d.text[from:e.at]) + e.text + string(d.text[e.end:to])
	if from == e.at && e.at == e.end && strings.HasSuffix(e.text, "\n") { // lines of their own
		was, is = "", e.text
	}
	removed, added := linesOf(was), linesOf(is)
	old := line
	if len(removed) == 0 {
		old-- // as diff counts: behind this line
	}
	fmt.Fprintf(b, "@@ -%d,%d +%d,%d @@ %s\n", old, len(removed), line+grown, len(added), e.target.about)
	shown := func(line string) string { return strings.TrimSuffix(line, "\r") }
	if len(was) > 2*wide || len(is) > 2*wide {
		shown = func(line string) string { return cut(strings.TrimSuffix(line, "\r"), e.at-from) }
	}
	for _, text := range removed {
		fmt.Fprintf(b, "-%s\n", shown(text))
	}
	for _, text := range added {
		fmt.Fprintf(b, "+%s\n", shown(text))
	}
	return len(added) - len(removed)
}

func lineAround(text []byte, at, end int) (from, to int) {
	from = bytes.LastIndexByte(text[:at], '\n') + 1
	to = len(text)
	if next := bytes.IndexByte(text[end:], '\n'); next >= 0 {
		to = end + next + 1
	}
	return from, to
}

func linesOf(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

// wide is how much of a line is shown. Whole objects may be on one, Secrets among them.
const wide = 100

func cut(line string, at int) string {
	from, to := min(max(0, at-wide/4), len(line)), min(len(line), at+wide)
	for from > 0 && !utf8.RuneStart(line[from]) {
		from--
	}
	for to < len(line) && !utf8.RuneStart(line[to]) {
		to++
	}
	shown := line[from:to]
	if from > 0 {
		shown = "… " + shown
	}
	if to < len(line) {
		shown += " …"
	}
	return shown
}
