package stamp

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/digest"
	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/workload"
)

// sources are all sources of a stream. One Secret can have several, for example an object that
// creates it and objects that are merged into it.
type sources struct {
	by map[source.Key][]*manifestSource
	// former has the sources that kustomize has renamed, by their earlier names.
	former map[source.Key][]*manifestSource
}

// gather returns an error if the same object occurs twice with different data.
func gather(documents []*document, read [][]*manifestSource) (*sources, error) {
	type definition struct {
		key          source.Key
		kind, object string
	}
	all := &sources{map[source.Key][]*manifestSource{}, map[source.Key][]*manifestSource{}}
	defined := map[definition]*manifestSource{}
	var failed []error
	for i := range documents {
		for _, src := range read[i] {
			is := definition{src.key, src.kind, src.object}
			before, twice := defined[is]
			switch {
			case !twice || src.object == "":
				defined[is] = src
				all.add(src)
			case before.digest != src.digest:
				failed = append(failed, &Error{File: src.file, Line: src.line, Text: fmt.Sprintf(
					"%s is here a second time, with other data than in %s:%d", src.object, before.file, before.line)})
			}
		}
	}
	return all, errors.Join(failed...)
}

func (all *sources) add(src *manifestSource) {
	all.by[src.key] = append(all.by[src.key], src)
	for _, name := range src.renamed.former {
		key := src.key
		key.Name = name
		all.former[key] = append(all.former[key], src)
	}
}

func called(kind string, key source.Key) string {
	return (&object{kind: kind, ns: key.Namespace, name: key.Name}).String()
}

// computeStamps computes the stamps.
func (o *Options) computeStamps(documents []*document, all *sources) ([]string, error) {
	var notes []string
	var failed []error
	for _, d := range documents {
		for _, w := range d.warnings {
			notes = append(notes, (&Error{File: d.file.Name, Line: d.line + w.line - 1, Text: w.text}).Error())
		}
		for _, t := range d.found {
			covered, lacks := o.cover(t, all)
			t.value = digest.Stamp(covered)
			for _, about := range lacks {
				at := &Error{File: d.file.Name, Line: d.line + t.line - 1, Text: t.about + ": " + about.text}
				if about.missing && o.Missing == MissingError {
					failed = append(failed, at)
				} else if !about.missing || o.Missing == MissingWarn {
					notes = append(notes, at.Error())
				}
			}
		}
	}
	return notes, errors.Join(failed...)
}

// lack is a source that a stamp does not cover.
type lack struct {
	text    string
	missing bool
}

// cover returns the sources of a stamp: those that would roll the workload if a controller watched
// it.
func (o *Options) cover(t *target, all *sources) ([]digest.StampedSource, []lack) {
	var covered []digest.StampedSource
	var lacks []lack
	added := map[source.Key]bool{}
	w := workload.Workload{Policy: t.policy, References: t.references}
	add := func(key source.Key, written source.LocalKey, refers bool) {
		if added[key] {
			return
		}
		added[key] = true
		for _, src := range all.by[key] {
			keys := w.KeysOf(written, src.annotations.Labels, o.Keys).Keys
			switch {
			case !t.policy.Verdict(key, src.annotations, refers, o.AutoReloadAll).Concerned:
			case src.kind == source.Secret.String() && !o.secrets():
				lacks = append(lacks, lack{text: called(src.kind, key) + " is left out: Secrets count with --key-file, or with --secrets=plain"})
			case !src.empty || keys != nil: // otherwise the first key would change the stamp, even if it does not count
				covered = append(covered, digest.StampedSource{Kind: src.kind, Name: key.Name, Digest: src.digestOf(keys)})
			}
		}
	}
	for _, ref := range t.references {
		if ref.Key.Kind.Reported() || ref.Key.Kind.ClusterScoped() { // the data of a CSI volume is in no manifest, and trust is the platform's
			continue
		}
		key := all.resolve(ref.Key.In(t.ns), t.renamed)
		add(key, ref.Key, true)
		if !workload.Optional(ref.Uses) && len(all.by[key]) == 0 && t.policy.Verdict(key, source.Annotations{Match: true}, true, o.AutoReloadAll).Concerned {
			lacks = append(lacks, lack{text: called(key.Kind.String(), key) + ", which it needs, is not in these manifests, so its data is not in the stamp", missing: true})
		}
	}
	// Annotations may name sources that the workload does not reference.
	for key := range t.named(all) {
		referenced := added[key]
		add(key, key.Local(), false)
		if !referenced && !key.Kind.Reported() && len(all.by[key]) == 0 {
			lacks = append(lacks, t.lacksNamed(key, all))
		}
	}
	slices.SortStableFunc(lacks, func(a, b lack) int { return strings.Compare(a.text, b.text) })
	return covered, lacks
}

// lacksNamed is for a source that an annotation names. Kustomize renames no names in annotations.
func (t *target) lacksNamed(key source.Key, all *sources) lack {
	text := called(key.Kind.String(), key) + ", which its annotations name, is not in these manifests, so its data is not in the stamp"
	if meant := all.resolve(key, t.renamed); meant != key {
		text += annotations.DidYouMean([]string{meant.Name}, "")
	}
	return lack{text: text, missing: true}
}

// named searches all sources only if some names are expressions, or if labels select some.
func (t *target) named(all *sources) map[source.Key]bool {
	found := map[source.Key]bool{}
	for _, kind := range source.Kinds() {
		for _, name := range t.policy.ExactNames(kind) {
			found[source.Key{Kind: kind, Namespace: t.ns, Name: name}] = true
		}
		selects := t.policy.SelectorFor(kind) != nil
		if len(t.policy.Patterns(kind)) == 0 && !selects {
			continue
		}
		for key := range all.by {
			if key.Kind == kind && key.Namespace == t.ns && (selects && key.Name != "" || t.policy.Names(key.Local())) {
				found[key] = true
			}
		}
	}
	return found
}

func (o *Options) secrets() bool { return o.PlainSecrets || o.Key.ID() != "" }
