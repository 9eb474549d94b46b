package stamp

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"slices"

	"github.com/reroll-dev/reroll/internal/workload"
)

// document is a document of a stream, with all text up to the next one.
type document struct {
	file *File
	// line is the line of the file on which it begins.
	line int
	text []byte
	// list is the list that contains this item or, for a shell, the text around the items. at is
	// the offset in its text.
	list  *list
	at    int
	shell bool
	// found has the pod templates that get a stamp.
	found []*target
	// passed reports whether a workload gets no stamp because it is not opted in.
	passed bool
	// warnings has messages about possible mistakes.
	warnings []warning
	// templateUsers has workloads that use the pod template of another one. templateOwners has the
	// workloads whose pod template others may use.
	templateUsers  []*templateUser
	templateOwners []workload.Key
	// before is the meaning of the document without the stamps.
	before meaning
	edits  []edit
}

const byteOrderMark = "\ufeff"

// piece is the size of one buffer while a document is read. A buffer that grows to tens of
// megabytes is copied each time, and the copies would exhaust memory before they are collected.
const piece = 1 << 20

// split calls each with every document. Together they contain all of the text, and none is empty.
//
// A marker counts at the beginning of any line, because YAML allows it nowhere else, not even in a
// block of text.
func split(from io.Reader, each func(line int, text []byte)) error {
	lines := bufio.NewReaderSize(from, 64<<10)
	var text []byte
	var pieces [][]byte // before text
	first, line := 1, 1
	open, begun := false, true // a line may come in parts
	flush := func() {
		switch {
		case len(pieces) > 0:
			each(first, slices.Concat(append(pieces, text)...))
			text, pieces = nil, nil
		case len(text) >= long: // not copied, because memory may not suffice for a copy
			each(first, text)
			text = nil
		case len(text) > 0:
			each(first, bytes.Clone(text))
		}
		text, first, open = text[:0], line, false
	}
	for {
		part, err := lines.ReadSlice('\n')
		if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, bufio.ErrBufferFull) {
			return err
		}
		ended := false
		if begun {
			switch what := kindOfLine(part); {
			case what == markerLine && open:
				flush()
				open = true
			case what == markerLine, what == contentLine:
				open = true
			case what == endLine:
				ended = true
			}
		}
		text = append(text, part...)
		if len(text) >= piece {
			pieces, text = append(pieces, text), nil
		}
		begun = err == nil
		if begun {
			line++
		}
		if ended && begun {
			flush()
		}
		if errors.Is(err, io.EOF) {
			flush()
			return nil
		}
	}
}

type lineKind int

const (
	blankLine lineKind = iota
	contentLine
	markerLine
	endLine
)

func kindOfLine(line []byte) lineKind {
	line = bytes.TrimPrefix(line, []byte(byteOrderMark))
	is := func(marker string) bool {
		rest, ok := bytes.CutPrefix(line, []byte(marker))
		return ok && (len(rest) == 0 || bytes.ContainsAny(rest[:1], " \t\r\n"))
	}
	switch trimmed := bytes.TrimSpace(line); {
	case is("---"):
		return markerLine
	case is("..."):
		return endLine
	case len(trimmed) == 0, trimmed[0] == '#', line[0] == '%':
		return blankLine
	default:
		return contentLine
	}
}
