package stamp

import (
	"bytes"
	"sort"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// unparsed removes the line from an error of the parser, if it is present and right. It never shows
// the name of an alias: a password that begins with * and has no quotes is one.
func unparsed(source []byte, err error) error {
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	if _, rest, ok := strings.Cut(text, "unknown anchor '"); ok {
		name, _, _ := strings.Cut(rest, "'")
		at := max(0, bytes.Index(source, []byte("*"+name)))
		reported := 1 + bytes.Count(source[:at], []byte("\n"))
		return &fault{refusedAt(source, err, reported), "an alias has no anchor in this document: put the value in quotes if it is a text that begins with *"}
	}
	if rest, ok := strings.CutPrefix(text, "line "); ok {
		if number, what, ok := strings.Cut(rest, ": "); ok {
			if line, bad := strconv.Atoi(number); bad == nil {
				if strings.Contains(what, "<document start>") {
					return &fault{line + 1, anotherDocument} // the parser counts from 0 here
				}
				return &fault{refusedAt(source, err, max(line, 1)), notYAML(what)}
			}
		}
	}
	return &fault{refusedAt(source, err, 1), notYAML(text)}
}

// notYAML returns messages of the parser that are the same for every document. Any other message
// could contain text of this one.
func notYAML(what string) string {
	const plainly = "it is not YAML"
	switch what {
	case "block sequence entries are not allowed in this context", "control characters are not allowed",
		"could not find expected ':'", "could not find expected directive name", "did not find URI escaped octet",
		"did not find expected ',' or ']'", "did not find expected ',' or '}'", "did not find expected '-' indicator", "did not find expected '!'",
		"did not find expected alphabetic or numeric character", "did not find expected comment or line break",
		"did not find expected digit or '.' character", "did not find expected hexdecimal number", "did not find expected key",
		"did not find expected node content", "did not find expected tag URI", "did not find expected version number",
		"did not find expected whitespace", "did not find expected whitespace or line break", "did not find the expected '>'",
		"found a tab character that violates indentation", "found a tab character where an indentation space is expected",
		"found an indentation indicator equal to 0", "found character that cannot start any token", "found duplicate %TAG directive",
		"found duplicate %YAML directive", "found extremely long version number", "found incompatible YAML document",
		"found invalid Unicode character escape code", "found undefined tag handle", "found unexpected document indicator",
		"found unexpected end of stream", "found unexpected non-alphabetical character", "found unknown directive name",
		"found unknown escape character", "mapping keys are not allowed in this context", "mapping values are not allowed in this context":
		return plainly + ": " + what
	default:
		return plainly
	}
}

// isKey reports whether a text may be a key of a Kubernetes object or of a ConfigMap.
func isKey(text string) bool {
	const marks = "-._/"
	return len(text) <= 253 && !strings.ContainsFunc(text, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune(marks, r)
	})
}

// searched is the maximum length of a document that is parsed repeatedly to find the line of a
// mistake. It is longer than any object that an API server accepts.
const searched = 4 << 20

// refusedAt returns the first line up to which the text gives the same error. The line in the
// message of the parser is often that of the mapping around the mistake, or the line above.
func refusedAt(source []byte, err error, reported int) int {
	if len(source) > searched {
		return reported
	}
	var ends []int // of all lines except the last one
	for at, b := range source[:max(0, len(source)-1)] {
		if b == '\n' {
			ends = append(ends, at+1)
		}
	}
	return 1 + sort.Search(len(ends), func(line int) bool {
		var root yaml.Node
		same := yaml.Unmarshal(source[:ends[line]], &root)
		return same != nil && same.Error() == err.Error()
	})
}
