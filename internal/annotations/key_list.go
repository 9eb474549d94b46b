package annotations

import (
	"fmt"
	"strings"
)

// Keys is on the workload or its namespace and sets which keys of a source count: all, those that
// the pod template uses, or listed ones.
const Keys = "reroll.dev/keys"

// The words in the annotation Keys that are no entries of a list.
const (
	KeysUsedWord = "used"
	KeysAllWord  = "all"
)

// maxListedKeys bounds a list of keys, far beyond lists written by people.
const maxListedKeys = 1000

// KeyEntry is the part of a list of keys that is about one source.
type KeyEntry struct {
	// Kind is in lower case, as the user wrote it.
	Kind, Name string
	// Only are the keys that count, all if there are none. Without are keys that do not.
	Only, Without []string
}

// ReadKeys parses a list of keys such as
//
//	used, configmap/app=logging.yaml,level, secret/db=!comment
//
// A key belongs to the source before it. Word is "used" or "all" if the list begins with that, and
// then applies to the other sources. An error applies to the whole list: with a part of it, a change
// of a key in the other part would be lost.
func ReadKeys(text string) (word string, entries []KeyEntry, err error) {
	count := 0
	for token := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == ',' || r == ' ' || r == '\n' || r == '\t' || r == '\r' }) {
		if count++; count > maxListedKeys {
			return "", nil, fmt.Errorf("it has more than %d entries", maxListedKeys)
		}
		source, key, begins := strings.Cut(token, "=")
		switch {
		case begins:
			entry, err := readKeySource(source)
			if err != nil {
				return "", nil, err
			}
			entries = append(entries, entry)
		case len(entries) > 0:
			key = token
		case count == 1 && (token == KeysUsedWord || token == KeysAllWord):
			word = token
			continue
		default:
			return "", nil, fmt.Errorf("%q belongs to no source", Shortened(token))
		}
		if err := entries[len(entries)-1].add(key); err != nil {
			return "", nil, err
		}
	}
	return word, entries, nil
}

func readKeySource(text string) (KeyEntry, error) {
	kind, name, _ := strings.Cut(text, "/")
	kind = strings.ToLower(kind)
	if _, _, foreign := SplitForeign(name); foreign && (kind == "configmap" || kind == "secret") {
		return KeyEntry{}, fmt.Errorf("%q is in another namespace, and all keys of such a source count; remove it from the list", Shortened(text))
	}
	if kind != "configmap" && kind != "secret" || !IsObjectName(name) {
		return KeyEntry{}, fmt.Errorf("%q is neither configmap/NAME nor secret/NAME", Shortened(text))
	}
	return KeyEntry{Kind: kind, Name: strings.Clone(name)}, nil
}

func (e *KeyEntry) add(key string) error {
	name, without := strings.CutPrefix(key, "!")
	if !isKey(name) {
		return fmt.Errorf("%q is not a key of %s/%s", Shortened(key), e.Kind, e.Name)
	}
	name = strings.Clone(name)
	if without {
		e.Without = append(e.Without, name)
	} else {
		e.Only = append(e.Only, name)
	}
	return nil
}

// isKey reports whether a ConfigMap or a Secret can have such a key.
func isKey(name string) bool {
	return name != "" && len(name) <= maxObjectName && strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.") == ""
}
