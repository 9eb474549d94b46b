package stamp

import (
	"bytes"
	"io"
	"slices"
)

// Changed reports whether stamping made a difference.
func (f *File) Changed() bool {
	for _, d := range f.documents {
		if len(d.edits) > 0 {
			return true
		}
	}
	return false
}

// WriteTo writes the file with its stamps.
func (f *File) WriteTo(w io.Writer) (int64, error) { return f.writeFrom(w, 0) }

// writeFrom skips the first bytes, which are a byte order mark or nothing.
func (f *File) writeFrom(w io.Writer, first int) (int64, error) {
	var written int64
	for _, d := range f.documents {
		last := first
		first = 0
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

// WriteTo writes all files as one stream. It adds a separator between two files if they have none,
// and removes byte order marks. Otherwise, tools that split streams by their separators would treat
// the mark and the next document as a part of the previous one.
func (r *Result) WriteTo(w io.Writer) (int64, error) {
	var written int64
	for i, f := range r.Files {
		n, err := io.WriteString(w, r.between(i))
		written += int64(n)
		if err != nil {
			return written, err
		}
		mark := 0
		if r.lastBefore(i) != nil && len(f.documents) > 0 && bytes.HasPrefix(f.documents[0].text, []byte(byteOrderMark)) {
			mark = len(byteOrderMark)
		}
		more, err := f.writeFrom(w, mark)
		written += more
		if err != nil {
			return written, err
		}
	}
	return written, nil
}

// between returns the text before a file that follows others.
func (r *Result) between(i int) string {
	last := r.lastBefore(i)
	if last == nil || len(r.Files[i].documents) == 0 {
		return ""
	}
	was, next := last.text, bytes.TrimPrefix(r.Files[i].documents[0].text, []byte(byteOrderMark))
	if n := len(last.edits); n > 0 { // a line with an edit is never an end marker
		was = append([]byte(last.edits[n-1].text), was[last.edits[n-1].end:]...)
	}
	separator := ""
	if !bytes.HasSuffix(was, []byte("\n")) {
		separator = "\n"
	}
	was = bytes.TrimSuffix(was, []byte("\n"))
	ended := kindOfLine(was[bytes.LastIndexByte(was, '\n')+1:]) == endLine
	switch {
	case bytes.HasPrefix(next, []byte("%")): // a directive is not allowed inside a document
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
