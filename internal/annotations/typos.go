package annotations

import (
	"slices"
	"strings"
)

// Nearest returns the known key that is most similar to an unknown one. MistakesOfSource,
// MistakesOfNamespace and, for workloads, package workload turn it into a mistake, which a notice
// (notice.Mistakes), "reroll why" and "reroll lint" show.
func (n *Names) Nearest(key string) (string, bool) {
	if n.Known(key) {
		return "", false
	}
	nearest, least := "", maxTypos+1
	for _, candidate := range n.written() {
		if found, near := typos(key, candidate); near && found < least {
			nearest, least = candidate, found
		}
	}
	return nearest, nearest != ""
}

// maxTypos is by how many letters a key may differ from the key that was meant.
const maxTypos = 2

// typos counts the letters by which a key differs from the key that may have been meant, if they
// are similar enough. Short words have similar words that are correct, too, so they may differ
// less.
func typos(key, meant string) (int, bool) {
	if len(key) > len(meant)+maxTypos || len(meant) > len(key)+maxTypos {
		return 0, false
	}
	domain, name, _ := strings.Cut(key, "/")
	meantDomain, meantName, whole := strings.Cut(meant, "/")
	if !whole {
		return 0, false // a key without a domain may belong to any program
	}
	inDomain, alike := near(domain, meantDomain, min(len(meantDomain)/8, maxTypos))
	if !alike {
		return 0, false
	}
	inName, alike := near(name, meantName, min(len(meantName)/4, maxTypos))
	if !alike || inDomain+inName > maxTypos {
		return 0, false
	}
	if !isOurs(meantDomain) && !slipped(name, meantName, inDomain, inName) {
		return 0, false
	}
	return inDomain + inName, true
}

// isOurs reports whether no other program has a reason to use a domain.
func isOurs(domain string) bool {
	return domain == ownDomain || isReloaders(domain)
}

func isReloaders(domain string) bool {
	return domain == reloaderDomain || strings.HasSuffix(domain, "."+reloaderDomain)
}

const (
	ownDomain      = "reroll.dev"
	reloaderDomain = "reloader.stakater.com"
)

// slipped is for keys in a domain of the user, who may have similar keys of their own: "auth"
// beside "auto", "watch" beside "match", "ignored" beside "ignore". The only typos that count are
// one missing letter or two swapped letters in the name, or any typo in the domain.
func slipped(name, meant string, inDomain, inName int) bool {
	if inDomain+inName > 1 {
		return false
	}
	return inName == 0 || len(name) < len(meant) || sortedLetters(name) == sortedLetters(meant)
}

func sortedLetters(word string) string {
	letters := []byte(strings.ToLower(word))
	slices.Sort(letters)
	return string(letters)
}

// near compares only words of about the same length, because all keys of all objects are checked.
func near(word, meant string, most int) (int, bool) {
	if word == meant {
		return 0, true
	}
	if len(word) > len(meant)+most || len(meant) > len(word)+most {
		return 0, false
	}
	found := distance(strings.ToLower(word), strings.ToLower(meant))
	return found, found <= most
}

// longestKey is the usual maximum length of either part of a key.
const longestKey = 63

// distance counts the letters by which two words differ: changed, missing, added or swapped with
// the next.
func distance(a, b string) int {
	var rows [3][longestKey + 1]int
	before, last, row := rows[0][:], rows[1][:], rows[2][:]
	if len(b) > longestKey {
		before, last, row = make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	}
	for j := range len(b) + 1 {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}

// Alike reports whether one name may be a misspelling of another.
func Alike(a, b string) bool {
	_, alike := near(a, b, min(2, max(1, min(len(a), len(b))/3)))
	return alike
}
