package stamp

import (
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

func TestAStreamIsSplitAtItsMarkers(t *testing.T) {
	long := strings.Repeat("x", 200<<10)
	for about, want := range map[string][]string{
		"nothing":                    nil,
		"one":                        {"a: b"},
		"two":                        {"a: b\n", "---\nc: d\n"},
		"comments in front":          {"# a\n\n---\na: b\n", "--- # c\nc: d\n"},
		"an end":                     {"a: b\n...\n", "c: d\n"},
		"an end and a marker":        {"a: b\n...\n", "# c\n---\nc: d\n"},
		"a directive":                {"%YAML 1.1\n---\na: b\n"},
		"a marker and no more":       {"a: b\n", "---"},
		"what only looks like one":   {"a: b\n----\n---c\n ---\n....\n"},
		"CRLF":                       {"a: b\r\n", "---\r\nc: d\r\n...\r\n"},
		"a byte order mark":          {byteOrderMark + "---\na: b\n", "---\nc: d\n"},
		"a long line":                {"a: " + long + "\n", "--- {a: " + long + "}\n", "---\na: b"},
		"a long line without an end": {"a: b\n", "--- " + long},
		"what is behind 64 KiB":      {strings.Repeat("x", 64<<10) + "--- x\n"},
		"exactly a piece":            {strings.Repeat("a: b\n", piece/5-1) + "a: bc\n", "---\nc: d\n"},
		"several pieces":             {"a: b\n", "---\n" + strings.Repeat("a: b\n", 3*piece/5), "---\n" + strings.Repeat("c: d\n", piece/5+9) + "...\n", "e: f"},
		"a long document":            {"a: b\n", "---\n" + strings.Repeat("a: b\n", 30<<10), "---\nc: d\n"},
	} {
		text := strings.Join(want, "")
		var kept [][]byte // until the end, like a stream
		line := 1
		err := split(iotest.OneByteReader(strings.NewReader(text)), func(at int, doc []byte) {
			if at != line {
				t.Errorf("%s: document %d is said to be on line %d, and is on %d", about, len(kept), at, line)
			}
			line += strings.Count(string(doc), "\n")
			kept = append(kept, doc)
		})
		var got []string
		for _, doc := range kept {
			got = append(got, string(doc))
		}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %d documents, want %d, %v", about, len(got), len(want), err)
		}
	}
	if err := split(iotest.ErrReader(iotest.ErrTimeout), func(int, []byte) {}); err == nil {
		t.Error("a stream that cannot be read is no error")
	}
}
