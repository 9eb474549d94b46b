package stamp

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"slices"

	"github.com/reroll-dev/reroll/internal/workload"
)

// document is one of a stream, with all that stands between it and the next.
type document struct {
	file *File
	// line is that of the file on which it begins.
	line int
	text []byte
	// list is the one that it is an item of, or, if it is a shell, something around the items, and at where in its text.
	list  *list
	at    int
	shell bool
	// found are the pod templates in it that get a stamp.
	found []*target
	// passed reports whether there is a workload that gets none, because it is not opted in.
	passed bool
	// told is what is no mistake, and could be one.
	told []told
	// borrowers are workloads in it that have the pod template of another one, and lends those that others may have it of.
	borrowers []*borrower
	lends     []workload.Key
	// before stands for the document without the stamps.
	before meaning
	edits  []edit
}

const byteOrderMark = "\ufeff"

// piece is how much of a document is held together while it is read. One that grew to tens of megabytes would leave as many
// behind each time that it is moved to where there is more room, and memory be gone before they are collected.
const piece = 1 << 20

// split calls each with every document. All of the text is in one of them, and none is empty.
//
// A marker counts wherever it stands at the beginning of a line: YAML allows it nowhere else, not even in a block of text.
func split(from io.Reader, each func(line int, text []byte)) error {
	lines := bufio.NewReaderSize(from, 64<<10)
	var text []byte
	var pieces [][]byte // in front of text
	first, line := 1, 1
	open, begun := false, true // a line may come in parts
	flush := func() {
		switch {
		case len(pieces) > 0:
			each(first, slices.Concat(append(pieces, text)...))
			text, pieces = nil, nil
		case len(text) >= long: // not copied: there may be no room for another one
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
