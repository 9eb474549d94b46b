package reload

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// misuse finds annotations of a workload that do nothing, and that somebody
// meant to do something: a key with a typo, one that belongs on a source, one
// that has no effect beside another.
func misuse(own map[string]string, policy Policy, names Names) []Problem {
	var found []Problem
	for _, key := range slices.Sorted(maps.Keys(own)) {
		switch right, near := names.nearest(key); {
		case key == names.Match || key == names.Ignore:
			found = append(found, Problem{Annotation: key, Value: own[key], Message: "does nothing on a workload; it belongs on the ConfigMap or Secret"})
		case near:
			found = append(found, Problem{Annotation: key, Value: own[key], Message: "does nothing; there is " + right})
		}
	}
	if policy.configMap.search && policy.configMap.auto == on && policy.secret.search {
		found = append(found, Problem{Annotation: names.Search, Value: own[names.Search], Message: "has no effect beside " + names.Auto + ", which covers all that the workload refers to"})
	}
	return found
}

// misplaced finds the first annotation of a source that belongs on a workload.
func misplaced(own map[string]string, names Names) string {
	for _, key := range names.ofWorkload() {
		if _, ok := own[key]; ok {
			return key
		}
	}
	return ""
}

// MisplacedSentence tells what is wrong with an annotation of a source.
func MisplacedSentence(key string) string {
	return fmt.Sprintf("annotation %s does nothing here; it belongs on the workload that uses this", key)
}

// nearest finds the key that somebody meant by one that means nothing. It looks
// at nothing that does not look like one of ours.
func (n Names) nearest(key string) (string, bool) {
	if !strings.Contains(key, "stakater") && !strings.HasPrefix(key, "reroll") && !strings.HasPrefix(key, "reloader") {
		return "", false
	}
	known := append(n.ofWorkload(), n.Match, n.Ignore, n.PausedAt, n.LastReloadedFrom, LedgerAnnotation)
	if slices.Contains(known, key) {
		return "", false
	}
	for _, candidate := range known {
		if distance(key, candidate) <= 2 {
			return candidate, true
		}
	}
	return "", false
}

// ofWorkload are the keys that users set on workloads.
func (n Names) ofWorkload() []string {
	return []string{
		n.Auto, n.ConfigMapAuto, n.SecretAuto, n.SPCAuto, n.Search, n.ConfigMap, n.Secret, n.SecretProviderClass,
		n.ConfigMapExclude, n.SecretExclude, n.SPCExclude, n.RolloutStrategy, n.PausePeriod, SettleAnnotation,
	}
}

// distance counts the letters by which two words differ: changed, missing, added
// or swapped with the next.
func distance(a, b string) int {
	before, last := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row := make([]int, len(b)+1)
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
		before, last = last, row
	}
	return last[len(b)]
}
