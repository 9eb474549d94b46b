package policy

import (
	"fmt"
	"strings"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/source"
)

// KeyMode is which keys of a source count.
type KeyMode uint8

const (
	// KeysAll counts all keys.
	KeysAll KeyMode = iota
	// KeysUsed counts the keys that the pod template uses.
	KeysUsed
)

// String returns the value of the annotation.
func (m KeyMode) String() string {
	if m == KeysUsed {
		return annotations.KeysUsedWord
	}
	return annotations.KeysAllWord
}

// ParseKeyMode reads which keys count.
func ParseKeyMode(text string) (KeyMode, error) {
	for _, m := range []KeyMode{KeysAll, KeysUsed} {
		if text == m.String() {
			return m, nil
		}
	}
	return KeysAll, fmt.Errorf("write %q or %q", KeysUsed, KeysAll)
}

// KeyRule is which keys of the sources of a workload count.
type KeyRule struct {
	mode KeyMode
	// on is the object whose annotation sets the mode, and listOn that of the list.
	on, listOn place
	list       *keyList
}

// keyList are the keys that a user lists. It is never changed after it was made.
type keyList struct {
	text string
	of   map[source.LocalKey]*source.Keys
	keys []source.LocalKey // in the order of the annotation
}

func (l *keyList) equal(other *keyList) bool {
	if l == nil || other == nil {
		return l == other
	}
	return l.text == other.text
}

// Equal reports whether two rules are equal.
func (r KeyRule) Equal(other KeyRule) bool {
	return r.mode == other.mode && r.on == other.on && r.listOn == other.listOn && r.list.equal(other.list)
}

// KeyCause is why some keys of a source count, and others do not.
type KeyCause uint8

const (
	// KeysByDefault means that all keys count, because nothing says otherwise.
	KeysByDefault KeyCause = iota
	// KeysListed means that the user lists them.
	KeysListed
	// KeysOfTemplate means that the pod template uses them.
	KeysOfTemplate
	// KeysNamed means that all count, because the workload names the source.
	KeysNamed
	// KeysSelected means that all count, because the workload selects the source by its labels.
	KeysSelected
)

// KeyVerdict are the keys of one source that count, nil for all, with the reason.
type KeyVerdict struct {
	Keys  *source.Keys
	Cause KeyCause
	// SetBy is what decides that.
	SetBy string
}

// Of returns which keys of a source count. Used are the keys that the pod template uses, nil if it
// uses the whole source, or does not reference it. Rule is RuleNamed or RuleSelected if the
// annotations of the workload name or select the source: then all of its keys count. ByDefault
// applies without an annotation.
func (r *KeyRule) Of(key source.LocalKey, used *source.Keys, rule Rule, byDefault KeyMode) KeyVerdict {
	if !key.Kind.HasKeys() {
		return KeyVerdict{}
	}
	if r.list != nil {
		if listed, ok := r.list.of[key]; ok {
			return KeyVerdict{listed, KeysListed, annotations.Keys + " on " + r.listOn.String()}
		}
	}
	mode, setBy := r.Mode(byDefault)
	switch {
	case mode != KeysUsed:
		return KeyVerdict{SetBy: setBy}
	case rule == RuleNamed:
		return KeyVerdict{Cause: KeysNamed, SetBy: setBy}
	case rule == RuleSelected:
		return KeyVerdict{Cause: KeysSelected, SetBy: setBy}
	default:
		return KeyVerdict{used, KeysOfTemplate, setBy}
	}
}

// Mode returns which keys count of sources that no list names, and what sets that.
func (r *KeyRule) Mode(byDefault KeyMode) (mode KeyMode, setBy string) {
	if r.on == nowhere {
		return byDefault, "--keys"
	}
	return r.mode, annotations.Keys + " on " + r.on.String()
}

// Restricts reports whether keys of some source may not count.
func (r *KeyRule) Restricts(byDefault KeyMode) bool {
	mode, _ := r.Mode(byDefault)
	return mode == KeysUsed || r.list != nil
}

// SetsUsed reports whether annotations of the workload or its pod template count only used keys.
func (r *KeyRule) SetsUsed() bool {
	return r.mode == KeysUsed && (r.on == onWorkload || r.on == onTemplate)
}

// Listed are the sources whose keys a user lists.
func (r *KeyRule) Listed() []source.LocalKey {
	if r.list == nil {
		return nil
	}
	return r.list.keys
}

// under returns the rule of a workload with the default of its namespace, in place of that from an
// earlier call.
func (r KeyRule) under(namespace KeyRule) KeyRule {
	if r.on == nowhere || r.on == onNamespace {
		r.mode, r.on = namespace.mode, namespace.on
	}
	return r
}

// over returns the rule of an object, with defaults from another one.
func (r KeyRule) over(below KeyRule) KeyRule {
	if r.on == nowhere && r.list == nil {
		return below
	}
	return r
}

// KeyRule returns which keys of the sources count.
func (p *Policy) KeyRule() KeyRule { return p.keys }

// keys reads which keys count. If the annotation cannot be read, all do: reloading for a key that
// does not count is better than losing a change.
func (r *policyReader) keys() KeyRule {
	from := r.preferred(annotations.Keys)
	text, ok := from.Values[annotations.Keys]
	if !ok {
		return KeyRule{}
	}
	const right = `write "used", "all", or a list such as "configmap/app=logging.yaml,!banner"`
	on := onWorkload.orTemplate(from)
	word, entries, err := annotations.ReadKeys(text)
	switch {
	case err != nil:
		r.refuse(from, annotations.Keys, text, "cannot be read, so all keys count: %s; %s", err, right)
		return KeyRule{on: on}
	case word == "" && len(entries) == 0:
		r.refuse(from, annotations.Keys, text, "has no effect; %s, or remove the annotation", right)
		return KeyRule{}
	}
	var rule KeyRule
	if word != "" {
		rule.mode, _ = ParseKeyMode(word)
		rule.on = on
	}
	if len(entries) > 0 {
		rule.list, rule.listOn = listOfKeys(text, entries), on
	}
	return rule
}

func listOfKeys(text string, entries []annotations.KeyEntry) *keyList {
	list := &keyList{text: strings.Clone(text), of: map[source.LocalKey]*source.Keys{}}
	merged := map[source.LocalKey]annotations.KeyEntry{}
	for _, entry := range entries {
		key := source.LocalKey{Kind: source.ConfigMap, Name: entry.Name}
		if entry.Kind == "secret" {
			key.Kind = source.Secret
		}
		all, twice := merged[key]
		if !twice {
			list.keys = append(list.keys, key)
		}
		all.Only, all.Without = append(all.Only, entry.Only...), append(all.Without, entry.Without...)
		merged[key] = all
	}
	for key, all := range merged {
		list.of[key] = source.ListedKeys(all.Only, all.Without)
	}
	return list
}

// keysOfNamespace reads the default of a namespace. A value that cannot be read has no effect.
func (r *policyReader) keysOfNamespace() KeyRule {
	text, ok := r.own.Values[annotations.Keys]
	if !ok {
		return KeyRule{}
	}
	mode, err := ParseKeyMode(text)
	if err != nil {
		r.refuse(r.own, annotations.Keys, text, "has no effect on a namespace; %s, or remove the annotation", err)
		return KeyRule{}
	}
	return KeyRule{mode: mode, on: onNamespace}
}
