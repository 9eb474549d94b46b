package inspect

import (
	"fmt"
	"slices"
	"strings"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/policy"
	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/workload"
)

// readKeys adds which keys of a source count, and what the ledger shows of the others.
func (s *Source) readKeys(src *source.Source, verdict policy.KeyVerdict, l *Ledger) {
	s.Keys = verdict
	for _, key := range src.Keys {
		s.existing = append(s.existing, key.Name)
	}
	// If the whole source had not been written since, the ledger would have its time.
	s.Skipped = verdict.Keys != nil && s.Content == AsInLedger && l.DataTime > 0 && src.DataTime.Unix() > l.DataTime
}

// keys returns which keys of a source count, and why. It is empty if all do, as by default.
func (x *Explanation) keys(s *Source) string {
	v := &s.Keys
	switch {
	case v.Cause == policy.KeysByDefault:
		return ""
	case v.Cause == policy.KeysNamed:
		return fmt.Sprintf("all keys count, because the workload names it (%s: used)", v.SetBy)
	case v.Cause == policy.KeysSelected:
		return fmt.Sprintf("all keys count, because its labels match %s (%s: used)", annotations.Sources, v.SetBy)
	case v.Keys == nil:
		return fmt.Sprintf("all keys count: %s (%s: used)", usesWhole(s), v.SetBy)
	}
	text := "keys that count: " + v.Keys.String()
	if missing := s.missingKeys(); len(missing) > 0 && !s.Written.IsZero() {
		text += fmt.Sprintf(" (%s missing)", strings.Join(missing, ", "))
	}
	if v.Cause == policy.KeysOfTemplate {
		return text + fmt.Sprintf("; the Pod template uses no other (%s: used)", v.SetBy)
	}
	return text + fmt.Sprintf(" (%s)", v.SetBy)
}

// usesWhole is why all keys of a source count although only used ones do.
func usesWhole(s *Source) string {
	if len(s.Uses) == 0 {
		return "the Pod template does not reference it"
	}
	for i := range s.Uses {
		use := &s.Uses[i]
		switch {
		case !use.UsesAll():
		case use.Merged:
			return "the Pod template uses sources in more places than Reroll compares"
		case use.Unknown:
			return use.String() + " names no key, so the key that it uses is unknown"
		default:
			return use.String() + " uses the whole source"
		}
	}
	return "the list names no key"
}

func (s *Source) usesUnknown() bool {
	return slices.ContainsFunc(s.Uses, func(use workload.Use) bool { return use.Unknown })
}

// missingKeys are the keys that count by name and that the source does not have.
func (s *Source) missingKeys() []string {
	only, _ := s.Keys.Keys.Names()
	return slices.DeleteFunc(slices.Clone(only), func(name string) bool { return slices.Contains(s.existing, name) })
}

// lintKeys finds lists of keys that name no key or no source, and a rule without an effect.
func (x *Explanation) lintKeys(say func(note bool, format string, args ...any)) {
	rule := x.Workload.Policy.KeyRule()
	for _, key := range rule.Listed() {
		i := slices.IndexFunc(x.Sources, func(s Source) bool { return s.Key == key })
		if i < 0 {
			say(false, "annotation %s lists keys of %s, which it neither uses nor names", annotations.Keys, key)
			continue
		}
		x.Sources[i].lintListed(say)
	}
	if rule.SetsUsed() && len(x.Sources) > 0 && !slices.ContainsFunc(x.Sources, func(s Source) bool { return s.Keys.Keys != nil || s.usesUnknown() }) {
		say(true, "annotation %s has no effect: it uses or names all of its sources as a whole", annotations.Keys)
	}
}

func (s *Source) lintListed(say func(note bool, format string, args ...any)) {
	if s.Absent || s.Unread || s.Ignored || s.Keys.Cause != policy.KeysListed {
		return
	}
	if s.Keys.Keys.None() {
		say(false, "annotation %s selects no key of %s, so no change of it rolls this workload", annotations.Keys, s.Key)
	}
	only, without := s.Keys.Keys.Names()
	for _, name := range slices.Concat(only, without) {
		if slices.Contains(s.existing, name) {
			continue
		}
		var near []string
		for _, other := range s.existing {
			if annotations.Alike(name, other) {
				near = append(near, other)
			}
		}
		say(len(near) == 0, "%s has no key %q, which annotation %s lists%s", s.Key, name, annotations.Keys, didYouMean(near[:min(2, len(near))]))
	}
}
