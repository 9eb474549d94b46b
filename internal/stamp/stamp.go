// Package stamp adds a digest of the configuration that a workload references to its pod template,
// in manifests. A tool that applies the manifests then rolls the workload when the configuration
// changes. All other bytes of the manifests stay unchanged.
package stamp

import (
	"errors"
	"io"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/reroll-dev/reroll/internal/digest"
	"github.com/reroll-dev/reroll/internal/rules"
	"github.com/reroll-dev/reroll/internal/workload"
)

// Options configure what is stamped, and how.
type Options struct {
	// Annotation is the key. If it has a value of another tool, Fallback is used.
	Annotation string
	// Settings are the settings of the controller that apply without a cluster.
	rules.Settings
	// Jobs reports whether Jobs are stamped, too.
	Jobs bool
	// Namespace is the namespace of objects that do not declare one.
	Namespace string
	Missing   Missing

	// Key makes digests of Secrets. Without it, Secrets count only if PlainSecrets is set.
	Key          digest.Key
	PlainSecrets bool

	// templateUsers has the workloads that use a pod template, by the owner of the template.
	templateUsers map[workload.Key][]*templateUser
}

// Missing is the action if a source that Pods need is not in the stream.
type Missing string

// The actions.
const (
	MissingIgnore Missing = "ignore"
	MissingWarn   Missing = "warn"
	MissingError  Missing = "error"
)

// Stream is a set of files that are processed together.
type Stream struct {
	options   Options
	files     []*File
	documents []*document
	// long is a constant, except in tests.
	long int
}

// File is a file of a stream.
type File struct {
	Name      string
	documents []*document
}

// New returns an empty stream.
func New(o Options) *Stream { return &Stream{options: o, long: long} }

// Read adds a file. It fails only if the file cannot be read. Stamp parses the text.
func (s *Stream) Read(name string, from io.Reader) error {
	f := &File{Name: name}
	err := split(from, func(line int, text []byte) {
		all := []*document{{file: f, line: line, text: text}}
		if len(text) >= s.long {
			if parts := parted(all[0]); parts != nil {
				all = parts
			}
		}
		f.documents = append(f.documents, all...)
		s.documents = append(s.documents, all...)
	})
	s.files = append(s.files, f)
	return err
}

// Result is a stream with its stamps.
type Result struct {
	Files []*File
	// Workloads is the number of opted-in workloads.
	Workloads int
	// Notes are messages for the caller: sources that a stamp does not cover although a user may
	// expect it.
	Notes []string
}

// Stamp stamps everything, or returns all mistakes. It can be called only once.
func (s *Stream) Stamp() (*Result, error) {
	read := make([][]*manifestSource, len(s.documents))
	failed := s.each(func(i int, d *document) (err error) {
		if read[i], err = s.options.read(d); err != nil && d.list != nil {
			d.list.failed.Store(true)
			return nil
		}
		return err
	})
	s.rejoin(read, failed)
	s.applyTemplateUsers(failed)
	if err := errors.Join(failed...); err != nil {
		return nil, err
	}
	all, err := gather(s.documents, read)
	if err != nil {
		return nil, err
	}
	notes, err := s.options.computeStamps(s.documents, all)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(s.each(func(_ int, d *document) error { return s.options.place(d) })...); err != nil {
		return nil, err
	}
	stamped := func(d *document) bool { return len(d.found) > 0 }
	passed := func(d *document) bool { return d.passed }
	if slices.ContainsFunc(s.documents, passed) && !slices.ContainsFunc(s.documents, stamped) {
		if s.options.AutoReloadAll {
			notes = append(notes, "every workload is opted out, so none is stamped")
		} else {
			notes = append(notes, "no workload is opted in, so none is stamped; --all also stamps workloads without annotations")
		}
	}
	result := &Result{Files: s.files, Notes: notes}
	for _, d := range s.documents {
		result.Workloads += len(d.found)
	}
	return result, nil
}

// rejoin reads a list as a whole if a part of it could not be read separately.
func (s *Stream) rejoin(read [][]*manifestSource, failed []error) {
	for i, d := range s.documents {
		if d.list == nil || !d.list.failed.Load() {
			continue
		}
		if d.list.parts[0] == d {
			for j := range d.list.parts {
				read[i+j] = nil
			}
			l := d.list
			var err error
			read[i], err = s.options.read(l.join())
			failed[i] = l.atItem(d.in(err))
		}
	}
}

// each processes several documents at a time. The errors have the order of the stream.
func (s *Stream) each(work func(i int, d *document) error) []error {
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
	return failed
}

// read records what is needed of a document, and keeps only its text.
func (o *Options) read(d *document) ([]*manifestSource, error) {
	if d.shell {
		return nil, nil // read before its list was parted
	}
	t, err := parse(d.text)
	if err != nil {
		return nil, err
	}
	objects, err := d.objects(t, o.Namespace)
	if err != nil {
		return nil, err
	}
	d.nameOrigin(objects)
	edit := sync.OnceValue(func() *editor { return newEditor(d.text, t).know(objects) })
	var sources []*manifestSource
	for i, obj := range objects {
		src, err := o.readSource(d, obj)
		if err != nil {
			return nil, err
		}
		if src != nil && src.key.Name != "" {
			sources = append(sources, src)
		}
		found, err := o.readTarget(d, edit, t, obj)
		if errors.Is(err, errNotOptedIn) {
			d.passed = true
			continue
		}
		if err != nil {
			return nil, err
		}
		if found != nil {
			found.order = i
			d.found = append(d.found, found)
		}
	}
	if len(d.found) > 0 {
		d.before = meaningOf(t, o.stampedIn(t, objects, d.found))
	}
	return sources, nil
}

// readSource returns nil for an object that is not a source.
func (o *Options) readSource(d *document, obj *object) (*manifestSource, error) {
	src, err := o.sourceOf(obj)
	if src == nil || err != nil {
		return nil, err
	}
	if err := o.quoted(obj, get(obj.node, "metadata", "annotations")); err != nil {
		return nil, err
	}
	d.warnings = append(d.warnings, src.warnings...)
	src.warnings = nil
	src.file, src.line = d.file.Name, d.line+src.line-1
	if src.key.Name == obj.name { // kustomize does not rename names in a spec
		src.renamed = renamedOf(obj)
	}
	return src, nil
}

// place finds edits with the intended result and without other effects.
func (o *Options) place(d *document) error {
	chosen := func(choose func(*target) slot) []edit {
		var all []edit
		for _, t := range d.found {
			if t.value != t.present {
				all = append(all, choose(t).with(t))
			}
			all = append(all, t.dropping()...)
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
	if len(d.edits) == 0 || o.holds(d, d.edits) {
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
	if !o.holds(d, d.edits) {
		return d.found[0].nowhere()
	}
	return nil
}

// alone reports whether a slot is right for one target while the others are unchanged.
func (o *Options) alone(d *document, t *target, s slot) bool {
	others := &document{file: d.file, text: d.text, list: d.list, before: d.before}
	edits := []edit{s.with(t)}
	for _, other := range d.found {
		edits = append(edits, other.dropping()...)
		same := *other
		if other != t {
			same.value = other.present
		}
		others.found = append(others.found, &same)
	}
	sortEdits(edits)
	return o.holds(others, edits)
}

func (t *target) nowhere() error {
	return &fault{t.line, t.about + ": no place for annotation " + t.key + " is found in the way in which its pod template is written: write metadata and annotations in lines of their own"}
}
