package ledger

import (
	"errors"
	"maps"
	"slices"

	"github.com/reroll-dev/reroll/internal/digest"
	"github.com/reroll-dev/reroll/internal/source"
)

// putForeign adds the entry of a source in another namespace. Its name may be long, so the text has it
// once, also if the source is gone.
func (t *ledgerText) putForeign(key source.LocalKey, sum digest.Digest, gone bool) {
	traits, ok := inText(key.Kind)
	if !ok {
		return
	}
	entries := &t.Foreign
	if gone {
		entries = &t.ForeignGone
	}
	if *entries == nil {
		*entries = map[string]map[string]digest.Digest{}
	}
	if (*entries)[traits.short] == nil {
		(*entries)[traits.short] = map[string]digest.Digest{}
	}
	(*entries)[traits.short][key.Name] = sum
}

// foreign adds the entries of sources in other namespaces to a ledger.
func (t *ledgerText) foreign(l *Ledger, traits kindInText) {
	for name, sum := range t.Foreign[traits.short] {
		l.Entries[source.LocalKey{Kind: traits.kind, Name: name}] = sum
	}
	for name, sum := range t.ForeignGone[traits.short] {
		key := source.LocalKey{Kind: traits.kind, Name: name}
		l.Entries[key] = sum
		l.noteGone(key)
	}
}

func (l *Ledger) noteGone(key source.LocalKey) {
	if l.Gone == nil {
		l.Gone = map[source.LocalKey]struct{}{}
	}
	l.Gone[key] = struct{}{}
}

// validForeign returns an error if an entry is in the wrong place: otherwise whoever writes a ledger
// could let the plain digest of one source pass for that of another.
func (t *ledgerText) validForeign() error {
	for _, traits := range kindsInText() {
		for name := range *traits.entries(t) {
			if (source.LocalKey{Kind: traits.kind, Name: name}).IsForeign() {
				return errors.New("ledger has a source of another namespace among those of its own")
			}
		}
		for _, of := range []map[string]map[string]digest.Digest{t.Foreign, t.ForeignGone} {
			for name := range of[traits.short] {
				if !(source.LocalKey{Kind: traits.kind, Name: name}).IsForeign() {
					return errors.New("ledger has a source of its own namespace among those of others")
				}
			}
		}
	}
	return nil
}

// SignForeign signs that the sources of other namespaces with an entry allowed the workload. Users
// can write ledgers: without a signature, an invented entry would show whether the source exists,
// by what Reroll does about it.
func (l *Ledger) SignForeign(key digest.Key) {
	l.Consented = ""
	if texts := l.foreignTexts(); texts != nil {
		l.Consented = key.Sign(consented, texts...)
	}
}

// DropUnsigned drops the entries of other namespaces that the key has not signed. Without a key,
// nothing shows which ones these are.
func (l *Ledger) DropUnsigned(key digest.Key) {
	texts := l.foreignTexts()
	if texts == nil || key.ID() == "" || key.HasSigned(l.Consented, consented, texts...) {
		return
	}
	l.Entries, l.Gone = maps.Clone(l.Entries), maps.Clone(l.Gone) // others may read the same ledger
	maps.DeleteFunc(l.Entries, func(key source.LocalKey, _ digest.Digest) bool { return key.IsForeign() })
	maps.DeleteFunc(l.Gone, func(key source.LocalKey, _ struct{}) bool { return key.IsForeign() })
}

const consented = "consented"

// foreignTexts is what a signature is about: the workload and the sources, but not their data. It
// is nil without such an entry.
func (l *Ledger) foreignTexts() []string {
	var foreign []source.LocalKey // most ledgers have none, and are read often
	for key := range l.Entries {
		if key.IsForeign() {
			foreign = append(foreign, key)
		}
	}
	if foreign == nil {
		return nil
	}
	slices.SortFunc(foreign, source.CompareLocalKeys)
	var texts []string
	for _, key := range foreign {
		texts = append(texts, key.Kind.String(), key.Name)
	}
	return append(texts, string(l.UID))
}
