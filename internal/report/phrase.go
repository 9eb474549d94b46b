package report

import (
	"fmt"
	"strings"
	"unicode"
)

// phrase is a sentence in pieces: our own text, and text from tenants, tools or Kubernetes. A chat
// renders Markdown, links and mentions. Otherwise the author of an image name could notify
// everybody in the channel, or show a link under our name.
type phrase []span

type span struct {
	text      string
	untrusted bool
}

// ours is a phrase without foreign text.
func ours(text string) phrase { return phrase{{text: text}} }

// say replaces each %s of a format of ours with an argument. Arguments are not trusted, except for
// phrases.
func say(format string, args ...any) phrase {
	var p phrase
	for _, arg := range args {
		before, after, _ := strings.Cut(format, "%s")
		p, format = append(p, span{text: before}), after
		if inner, ok := arg.(phrase); ok {
			p = append(p, inner...)
		} else {
			p = append(p, span{OneLine(fmt.Sprint(arg)), true})
		}
	}
	return append(p, span{text: format})
}

// String is the phrase as plain text.
func (p phrase) String() string { return p.escaped(func(text string) string { return text }) }

// escaped is the phrase for one sink. A plain name is not escaped, so that dashboards and filters
// still match most names.
func (p phrase) escaped(escape func(string) string) string {
	var b strings.Builder
	for _, s := range p {
		if s.untrusted && !isPlainName(s.text) {
			b.WriteString(escape(s.text))
		} else {
			b.WriteString(s.text)
		}
	}
	return b.String()
}

// cut shortens a phrase to the length of an event.
func (p phrase) cut() phrase { return p.cutTo(maxNote) }

// cutTo shortens a phrase. An escaped text must not be cut, because that could end within an escape
// sequence.
func (p phrase) cutTo(room int) phrase {
	for i, s := range p {
		if len(s.text) > room {
			short := append(phrase{}, p[:i]...)
			return append(short, span{cutTo(s.text, max(room, len("…"))), s.untrusted})
		}
		room -= len(s.text)
	}
	return p
}

// isPlainName reports whether a text has only letters, digits, dashes and dots, like the names of
// most Kubernetes objects, and no part of it can be the name of a host. Some chats make a link of that.
func isPlainName(text string) bool {
	isLetter := func(r rune) bool { return r <= unicode.MaxASCII && unicode.IsLetter(r) }
	isOther := func(r rune) bool { return !isLetter(r) && (r < '0' || r > '9') && r != '-' && r != '.' }
	afterDot := false
	for _, r := range text {
		if isOther(r) || afterDot && isLetter(r) { // each top-level domain begins with a letter
			return false
		}
		afterDot = r == '.'
	}
	return true
}

// OneLine removes line breaks and characters that control a terminal or reorder text. Otherwise a
// text from the cluster could forge a line of a log, a list or a terminal.
func OneLine(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) {
			return -1
		}
		return r
	}, text)
}
