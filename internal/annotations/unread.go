package annotations

import (
	"slices"
	"strings"

	"github.com/reroll-dev/reroll/internal/buildinfo"
)

// Unread reports whether a key is in the domain of Reroll or of Reloader although nothing reads it there, with what would be
// right. Elsewhere reports whether a key belongs on another object, which where describes.
func (n *Names) Unread(key string, elsewhere func(key string) bool, where string) (message string, unread bool) {
	if meant, own := n.imitated(key); own {
		return n.question(meant, elsewhere, where), true
	}
	meant, strayed := n.strayed(key)
	if !strayed {
		return "", false
	}
	return instead(meant, elsewhere, where), true
}

// imitated reports whether a key is in the domain of Reroll and is not one of its keys, and returns the keys that may have been
// meant. The annotations for users are in the domain of Reloader, so users try them in ours.
func (n *Names) imitated(key string) (meant []string, own bool) {
	domain, name, whole := strings.Cut(key, "/")
	sub, own := strings.CutSuffix(domain, ownDomain)
	if !whole || !own || sub != "" && !strings.HasSuffix(sub, ".") || n.Known(key) {
		return nil, false
	}
	usual, written := DefaultNames(), n.written()
	candidates, twin := usual.written(), sub+reloaderDomain+"/"+name
	if right, near := usual.Nearest(twin); near {
		twin = right
	}
	if i := slices.Index(candidates[:], twin); i >= 0 {
		return []string{written[i]}, true
	}
	if slices.Contains([]string{"enable", "enabled", "on", "restart", "roll", "rollout", "watch"}, strings.ToLower(name)) {
		return []string{n.Auto}, true
	}
	meant, _ = n.strayed(twin)
	return meant[:min(len(meant), maxMeant)], true
}

// maxMeant is how many keys a question suggests.
const maxMeant = 2

// question asks for the keys that may have been meant.
func (n *Names) question(meant []string, elsewhere func(key string) bool, where string) string {
	if len(meant) == 0 {
		return "does nothing. Reroll reads " + Settle + " and the annotations of Reloader, such as " + n.Auto
	}
	text := "does nothing. Did you mean " + strings.Join(meant, " or ")
	if elsewhere(meant[0]) {
		text += ", which belongs on " + where
	}
	return text + "?"
}

// strayed reports whether a key in the domain of Reloader means nothing, spelt right or
// not, and what may have been meant: the keys of that name, elsewhere in the
// domain. Those that were renamed here mean something to somebody else.
func (n *Names) strayed(key string) (meant []string, strayed bool) {
	domain, name, whole := strings.Cut(key, "/")
	if !whole || !isReloaders(domain) || n.Known(key) {
		return nil, false
	}
	usual := DefaultNames()
	if _, near := usual.Nearest(key); near || usual.Known(key) {
		return nil, false
	}
	least, written := 0, n.written()
	for i, candidate := range usual.written() {
		of, what, _ := strings.Cut(candidate, "/")
		labels := strings.Count(of, ".")
		switch {
		case what != name || !isReloaders(of), least != 0 && labels > least:
			continue
		case labels < least:
			meant = nil
		}
		meant, least = append(meant, written[i]), labels
	}
	return meant, true
}

// instead names the keys that may have been meant, and where they belong if that is
// not here.
func instead(meant []string, elsewhere func(key string) bool, where string) string {
	if len(meant) == 0 {
		return "does nothing; for the keys that are read, see " + buildinfo.Doc("reference/annotations.md")
	}
	text := "does nothing; there is " + enumerated(meant)
	switch {
	case !elsewhere(meant[0]):
	case len(meant) == 1:
		text += ", which belongs on " + where
	default:
		text += ", which belong on " + where
	}
	return text
}

// enumerated is a list as a sentence has it.
func enumerated(words []string) string {
	last := len(words) - 1
	if last == 0 {
		return words[0]
	}
	return strings.Join(words[:last], ", ") + " and " + words[last]
}
