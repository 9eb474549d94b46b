// Package stamp puts a digest of the configuration that a workload refers to on its pod template, in manifests: whatever sends
// them to a cluster then rolls the workload when the configuration changes. All other bytes of the manifests stay as they are.
package stamp

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/reroll-dev/reroll/internal/reload"
)

// Options say what is stamped, and how.
type Options struct {
	// Annotation is the key. Where somebody else's value stands there, Fallback is taken.
	Annotation string
	// Names are those of the annotations that opt workloads in.
	Names reload.Names
	// All opts in what does not say anything about it.
	All bool
	// Jobs are stamped too.
	Jobs bool
	// Kinds are workloads of other kinds.
	Kinds []Kind
	// Namespace is that of objects that have none.
	Namespace string
	Missing   Missing

	// Key is for Secrets. Without it they count only if PlainSecrets is set.
	Key          reload.DigestKey
	PlainSecrets bool
}

// Missing is what follows from a source that pods need and that is not in the stream.
type Missing string

// What can follow.
const (
	MissingIgnore Missing = "ignore"
	MissingWarn   Missing = "warn"
	MissingError  Missing = "error"
)

// Stream is all that is looked at together.
type Stream struct {
	options   Options
	files     []*File
	documents []*document
}

// File is one of a stream.
type File struct {
	Name      string
	documents []*document
}

// New returns an empty stream.
func New(o Options) *Stream { return &Stream{options: o} }

// Read adds a file. It fails only if that cannot be read: what is in it is looked at by Stamp.
func (s *Stream) Read(name string, from io.Reader) error {
	f := &File{Name: name}
	err := split(from, func(line int, text []byte) {
		d := &document{file: f, line: line, text: text}
		f.documents = append(f.documents, d)
		s.documents = append(s.documents, d)
	})
	s.files = append(s.files, f)
	return err
}

// Result is a stream with its stamps.
type Result struct {
	Files []*File
	// Notes are for who calls: what is not covered by a stamp, and could be thought to be.
	Notes []string
}

// Stamp stamps everything, or fails with all mistakes that there are. A second call is not possible.
func (s *Stream) Stamp() (*Result, error) {
	read := make([][]*source, len(s.documents))
	if err := s.each(func(i int, d *document) (err error) {
		read[i], err = s.options.read(d)
		return err
	}); err != nil {
		return nil, err
	}
	all, err := gather(s.documents, read)
	if err != nil {
		return nil, err
	}
	notes, err := s.options.settle(s.documents, all)
	if err != nil {
		return nil, err
	}
	if err := s.each(func(_ int, d *document) error { return s.options.place(d) }); err != nil {
		return nil, err
	}
	return &Result{Files: s.files, Notes: notes}, nil
}

// each works on several documents at a time. The mistakes come in the order of the stream.
func (s *Stream) each(work func(i int, d *document) error) error {
	failed := make([]error, len(s.documents))
	var next atomic.Int64
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(failed); i = int(next.Add(1)) - 1 {
				failed[i] = s.documents[i].in(work(i, s.documents[i]))
			}
		})
	}
	workers.Wait()
	return errors.Join(failed...)
}

// read notes what matters of a document, and keeps nothing else of it but its text.
func (o *Options) read(d *document) ([]*source, error) {
	t, err := parse(d.text)
	if err != nil {
		return nil, err
	}
	objects, err := t.objects(o.Namespace)
	if err != nil {
		return nil, err
	}
	edit := sync.OnceValue(func() *editor { return newEditor(d.text, t) })
	var sources []*source
	for i, obj := range objects {
		src, err := o.sourceOf(obj)
		if err != nil {
			return nil, err
		}
		if src != nil && src.key.Name != "" {
			src.file, src.line = d.file.Name, d.line+src.line-1
			sources = append(sources, src)
		}
		found, err := o.readTarget(edit, t, obj)
		if err != nil {
			return nil, err
		}
		if found != nil {
			found.order = i
			d.found = append(d.found, found)
		}
	}
	if len(d.found) > 0 {
		d.before = printOf(t, o.stampedIn(t, objects, d.found))
	}
	return sources, nil
}

// sources are all of a stream. Of one Secret there can be several, if some are what it is made of.
type sources map[reload.SourceKey][]*source

// gather refuses to choose between two that are not alike.
func gather(documents []*document, read [][]*source) (sources, error) {
	all := sources{}
	var failed []error
	for i := range documents {
	next:
		for _, src := range read[i] {
			for _, before := range all[src.key] {
				if before.kind != src.kind {
					continue
				}
				if before.digest != src.digest {
					failed = append(failed, &Error{File: src.file, Line: src.line, Text: fmt.Sprintf(
						"%s is here a second time, with other data than in %s:%d", called(src.kind, src.key), before.file, before.line)})
				}
				continue next
			}
			all[src.key] = append(all[src.key], src)
		}
	}
	return all, errors.Join(failed...)
}

func called(kind string, key reload.SourceKey) string {
	return (&object{kind: kind, ns: key.Namespace, name: key.Name}).String()
}

// settle computes the stamps.
func (o *Options) settle(documents []*document, all sources) ([]string, error) {
	var notes []string
	var failed []error
	for _, d := range documents {
		for _, t := range d.found {
			covered, told := o.cover(t, all)
			t.value = reload.Stamp(covered)
			for _, about := range told {
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

// lack is something that a stamp does not cover.
type lack struct {
	text    string
	missing bool
}

// cover returns the sources of a stamp: those that would roll the workload if a controller watched it.
func (o *Options) cover(t *target, all sources) ([]reload.StampedSource, []lack) {
	var covered []reload.StampedSource
	var lacks []lack
	add := func(key reload.SourceKey, refers bool) {
		for _, src := range all[key] {
			switch {
			case !t.policy.Judge(key, src.annotations, refers, o.All).Concerned:
			case src.kind == reload.Secret.String() && !o.secrets():
				lacks = append(lacks, lack{text: fmt.Sprintf("%s is left out: Secrets count with --key-file, or with --secrets=plain", called(src.kind, key))})
			case !src.empty:
				covered = append(covered, reload.StampedSource{Kind: src.kind, Name: key.Name, Digest: src.digest})
			}
		}
	}
	for _, ref := range t.references {
		key := ref.Key.In(t.ns)
		if ref.Key.Kind != reload.ConfigMap && ref.Key.Kind != reload.Secret {
			continue
		}
		add(key, true)
		needed := slices.ContainsFunc(ref.Uses, func(u reload.Use) bool { return !u.Optional })
		if needed && len(all[key]) == 0 && t.policy.Judge(key, reload.SourceAnnotations{Match: true}, true, o.All).Concerned {
			lacks = append(lacks, lack{text: fmt.Sprintf("%s, which it needs, is not among these manifests, and not in the stamp", called(key.Kind.String(), key)), missing: true})
		}
	}
	// What it names without referring to it, in a list of the annotations.
	if len(t.policy.Named()) > 0 {
		for key := range all {
			if key.Namespace == t.ns && t.policy.Names(key.Local()) && !t.refers(key.Local()) {
				add(key, false)
			}
		}
	}
	slices.SortStableFunc(lacks, func(a, b lack) int { return strings.Compare(a.text, b.text) })
	return covered, lacks
}

func (t *target) refers(key reload.LocalKey) bool {
	return slices.ContainsFunc(t.references, func(r reload.Reference) bool { return r.Key == key })
}

func (o *Options) secrets() bool { return o.PlainSecrets || o.Key.ID() != "" }

// place finds edits that say what is meant and change nothing else.
func (o *Options) place(d *document) error {
	chosen := func(choose func(*target) slot) []edit {
		var all []edit
		for _, t := range d.found {
			if t.value != t.present {
				all = append(all, choose(t).with(t))
			}
		}
		sortEdits(all)
		return all
	}
	if len(d.found) == 0 {
		return nil
	}
	for _, t := range d.found {
		if len(t.slots) == 0 {
			return t.nowhere()
		}
	}
	d.edits = chosen(func(t *target) slot { return t.slots[0] })
	if len(d.edits) == 0 || o.holds(d, apply(d.text, d.edits)) {
		return nil
	}
	right := map[*target]slot{}
	for _, t := range d.found {
		i := slices.IndexFunc(t.slots, func(s slot) bool { return o.alone(d, t, s) })
		if i < 0 {
			return t.nowhere()
		}
		right[t] = t.slots[i]
	}
	d.edits = chosen(func(t *target) slot { return right[t] })
	if !o.holds(d, apply(d.text, d.edits)) {
		return d.found[0].nowhere()
	}
	return nil
}

// alone tells whether a slot is right for one target, the others as they are.
func (o *Options) alone(d *document, t *target, s slot) bool {
	others := &document{file: d.file, text: d.text, before: d.before}
	for _, other := range d.found {
		same := *other
		if other != t {
			same.value = other.present
		}
		others.found = append(others.found, &same)
	}
	return o.holds(others, apply(d.text, []edit{s.with(t)}))
}

func (t *target) nowhere() error {
	return &fault{t.line, t.about + ": no place for annotation " + t.key + " is found in the way in which its pod template is written: write metadata and annotations in lines of their own"}
}
