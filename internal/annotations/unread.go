package annotations

import (
	"slices"
	"strings"

	"github.com/reroll-dev/reroll/internal/buildinfo"
)

// Unread reports whether a key is in the domain of Reroll or of Reloader although nothing reads it
// there, with what would be right. Elsewhere reports whether a key belongs on another object, which
// where describes.
func (n *Names) Unread(key string, elsewhere func(key string) bool, where string) (message string, unread bool) {
	if meant, own := n.imitated(key); own {
		return n.question(meant, elsewhere, where), true
	}
	meant, strayed := n.strayed(key)
	switch {
	case !strayed:
		return "", false
	case len(meant) == 0:
		return "does nothing; for the keys that are read, see " + buildinfo.Doc("reference/annotations.md"), true
	default:
		return n.question(meant, elsewhere, where), true
	}
}

// imitated reports whether a key is in the domain of Reroll and is not one of its keys, and returns
// the keys that may have been meant. The annotations for users are in the domain of Reloader, so
// users try them in ours.
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
	return meant, true
}

// question asks for the keys that may have been meant.
func (n *Names) question(meant []string, elsewhere func(key string) bool, where string) string {
	if len(meant) == 0 {
		return "does nothing; for the keys that are read, see " + buildinfo.Doc("reference/flags.md#annotations")
	}
	if !elsewhere(meant[0]) {
		where = ""
	}
	return "does nothing" + DidYouMean(meant, where)
}

// maxMeant is how many names a question suggests.
const maxMeant = 2

// DidYouMean asks, after a statement, for the names that may have been meant; empty if there are
// none. Where is the object that they belong on, if that is not the object of the statement.
func DidYouMean(meant []string, where string) string {
	if len(meant) == 0 {
		return ""
	}
	text := ". Did you mean " + strings.Join(meant[:min(len(meant), maxMeant)], " or ")
	if where != "" {
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
