package source

import (
	"bytes"
	"cmp"
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/internal/annotations"
)

// ClassReport is what one pod reports to have mounted of a SecretProviderClass.
type ClassReport struct {
	// Name is that of the object that reports.
	Name  string
	Class Key
	// Pod is the name of the Pod, and Owner distinguishes it from a later Pod of that name.
	Pod   string
	Owner types.UID
	// Version is that of the object.
	Version uint64
	// Created is when the object was made, and Written when what it reports was.
	Created, Written time.Time
	// Again reports whether the object was written more than once, where it counts that.
	Again bool
	// Objects are the versions of what is mounted, by the id. They are names of
	// versions, and no part of what is secret.
	Objects map[string]string
}

// writtenWithCreation is how far apart the two times of an object may be that was
// written once: the API server notes seconds.
const writtenWithCreation = time.Second

// OwnsReport reports whether fields of an object are what a pod reports.
func OwnsReport(fields *metav1.FieldsV1) bool {
	return fields != nil && bytes.Contains(fields.GetRawBytes(), []byte(`"f:objects"`))
}

// rewritten reports whether the pod was given something else than what it started with.
func (r *ClassReport) rewritten() bool {
	return r.Again || r.Written.Sub(r.Created) > writtenWithCreation
}

// Class gathers what pods report about one SecretProviderClass. Nothing else tells
// what that stands for: its own object only says where to ask.
//
// A rotation is seen when the report of a pod that runs is written again. Each pod
// is told at its own time, so what is new for one of them may be known from
// another. What a pod starts with is no rotation: of some stores every pod is given
// something else.
type Class struct {
	key     Key
	objects map[string]*turns
	reports map[string]*classMember
	// first is when the first report was made.
	first   time.Time
	version uint64

	defined bool
	// uid and definition, a resource version, are those of the object of the class.
	uid         types.UID
	definition  string
	annotations Annotations
	problems    []annotations.Problem
}

// classMember is the latest report of a pod.
type classMember struct {
	ClassReport
	// at is which turn of each object the pod has, -1 if none.
	at map[string]int
	// without are the objects that the class had for a while when the pod started without them. It counts as one that is
	// never given them, unless the class loses them: a pod that has none then may be given the next.
	without map[string]bool
	// started reports whether it has all of them since it started.
	started bool
}

// NewClass returns a class of which nothing is known.
func NewClass(key Key) *Class {
	return &Class{key: key, objects: map[string]*turns{}, reports: map[string]*classMember{}}
}

// Define stores what the object of the class specifies about the workloads that it concerns, and
// reports whether that differs.
func (c *Class) Define(meta *metav1.ObjectMeta, version uint64, names annotations.Names) bool {
	defined := fromMeta(SecretProviderClass, meta, names)
	differs := !c.defined || c.annotations != defined.Annotations || !slices.Equal(c.problems, defined.Problems)
	c.defined, c.annotations, c.problems = true, defined.Annotations, defined.Problems
	c.uid, c.definition = defined.UID, defined.ResourceVersion
	c.version = max(c.version, version)
	return differs
}

// Undefine records that the object of the class was deleted, and reports whether that differs.
func (c *Class) Undefine() bool {
	differs := c.annotations != Annotations{}
	c.defined, c.annotations, c.problems = false, Annotations{}, nil
	c.uid, c.definition = "", ""
	return differs
}

// Definition is the object of the class, as far as it is known. It has no data, and the class stays what it is when that
// object is recreated: Source has no UID.
func (c *Class) Definition() Source {
	return Source{Key: c.key, UID: c.uid, ResourceVersion: c.definition, Annotations: c.annotations, Problems: c.problems}
}

// Unknown reports whether nothing is left that speaks of the class.
func (c *Class) Unknown() bool { return !c.defined && len(c.reports) == 0 }

// Drop forgets the report of a Pod. The data of the class stays: having no Pods does not change it.
func (c *Class) Drop(name string) { delete(c.reports, name) }

// Restore stores the reports after a time when nobody watched, in the order in which they were
// written, and returns what became of the data as Put does.
func (c *Class) Restore(reports []ClassReport) []Source {
	slices.SortFunc(reports, func(a, b ClassReport) int {
		return cmp.Or(a.Written.Compare(b.Written), cmp.Compare(a.Version, b.Version), cmp.Compare(a.Name, b.Name))
	})
	fromNothing := len(c.objects) == 0
	var all []Source
	for _, r := range reports {
		all = append(all, c.put(r, false)...)
	}
	if len(all) == 0 {
		return nil
	}
	if fromNothing {
		all = all[len(all)-1:]
	}
	all[len(all)-1], _ = c.Source() // the reports after the last turn show which Pods started with it
	return all
}

// Put takes a report in, and returns what has become of the content: nothing if it
// is as it was, and two if it came to be again what it was before.
func (c *Class) Put(r ClassReport) []Source { return c.put(r, true) }

// put also takes one in of which nobody saw how it came to be what it is.
func (c *Class) put(r ClassReport, seen bool) []Source {
	r = c.bounded(r)
	known, ok := c.reports[r.Name]
	// The first of a pod may be written over that of a pod of the same name.
	first := seen && ok && known.Owner != "" && r.Owner != "" && known.Owner != r.Owner
	ok = ok && known.Owner == r.Owner
	if ok && r.Version != 0 && r.Version <= known.Version {
		return nil
	}
	if len(r.Objects) == 0 {
		if !ok {
			c.reports[r.Name] = &classMember{ClassReport: r}
		}
		return nil // nothing is mounted yet, or the store has no versions
	}
	before, was := c.Source()
	c.version = max(c.version, r.Version)
	if c.first.IsZero() || r.Created.Before(c.first) {
		c.first = r.Created
	}
	var had map[string]string
	var turned []string
	if ok && len(known.Objects) > 0 {
		had = known.Objects
		turned = c.rewrite(known, r)
	} else {
		turned = c.start(r, ok || first || !r.rewritten())
	}
	after, _ := c.Source()
	switch {
	case !was || before.Digest != after.Digest:
		return []Source{after}
	case len(turned) == 0:
		return nil
	}
	// The pod was given what counted as the content already, and had something else.
	former := c.content()
	for _, id := range turned {
		delete(former, id)
		if had[id] != "" {
			former[id] = had[id]
		}
	}
	away := after
	away.setContent(former)
	return []Source{away, after}
}

// start takes in the first report of a pod.
func (c *Class) start(r ClassReport, started bool) (turned []string) {
	others := started && c.mounted()
	m := &classMember{ClassReport: r, at: map[string]int{}, without: map[string]bool{}, started: started}
	c.reports[r.Name] = m
	turned = c.startWithout(m)
	for _, id := range slices.Sorted(maps.Keys(r.Objects)) {
		version, all := r.Objects[id], c.turns(id)
		if all.last() < 0 && others {
			// Pods run without it. If it counted as content at once, a ledger would say that they have it, and that they
			// are given it would be no change when a controller starts again after that.
			all.begin(turn{})
		}
		at, last := all.latest(version), all.last()
		switch {
		case at >= 0 && at == last:
			if !started && all.rotate(r.Written) {
				turned = append(turned, id)
			}
		case last < 0, !started && (at < 0 || r.Written.After(all.present().written)):
			at = all.begin(turn{version, r.Written, !started})
			turned = append(turned, id)
		case at < 0:
			at = last // of some stores every pod starts with something else
		}
		m.at[id] = at
	}
	return turned
}

// mounted reports whether any pod reports that it has mounted something.
func (c *Class) mounted() bool {
	for _, m := range c.reports {
		if len(m.Objects) > 0 {
			return true
		}
	}
	return false
}

// startWithout takes in which objects of the class the first report of a pod does not
// name. The class has lost them if that was written again, and later. A pod that has
// started soon after an object was added may be given it yet.
func (c *Class) startWithout(m *classMember) (turned []string) {
	for _, id := range slices.Sorted(maps.Keys(c.objects)) {
		all := c.objects[id]
		_, named := m.Objects[id]
		switch {
		case named:
		case all.present().version == "":
			m.at[id] = all.last()
		case m.started && m.Created.After(all.added().Add(StartLag)):
			m.at[id], m.without[id] = all.last(), true
		case !m.started && m.Written.After(all.present().written):
			m.at[id] = all.begin(turn{"", m.Written, true})
			turned = append(turned, id)
		default:
			m.at[id] = all.latest("")
		}
	}
	return turned
}

// rewrite takes in what a pod reports that has reported before.
func (c *Class) rewrite(m *classMember, r ClassReport) (turned []string) {
	had, started := m.Objects, m.started
	ids := maps.Clone(had)
	maps.Copy(ids, r.Objects)
	for _, id := range slices.Sorted(maps.Keys(ids)) {
		version, all := r.Objects[id], c.turns(id)
		if had[id] == version {
			continue
		}
		at, last := m.turnOf(id), all.last()
		switch {
		case last < 0:
		case m.hasPresent(id, all):
			at = last // it counted as one that has what there is, so that anything else is new
		case started && m.Created.After(all.present().written.Add(StartLag)):
			at = last // its workload may have been rolled for that already, and this pod has come of it
		}
		next := all.next(version, at)
		switch {
		case next >= 0:
		case last > at && all.present().version == version:
			next = last // pods have started with it, and this is the first that was given it
			all.rotate(r.Written)
			turned = append(turned, id)
		default:
			next = all.begin(turn{version, r.Written, true})
			turned = append(turned, id)
		}
		m.at[id], m.started = next, false
		delete(m.without, id)
	}
	m.ClassReport = r
	return turned
}

// turns are those of an object, none yet if it is new.
func (c *Class) turns(id string) *turns {
	all, ok := c.objects[id]
	if !ok {
		all = &turns{}
		c.objects[id] = all
	}
	return all
}

func (m *classMember) turnOf(id string) int {
	if at, known := m.at[id]; known {
		return at
	}
	return -1
}

// hasPresent reports whether the pod has the present version of an object, or is never given the object.
func (m *classMember) hasPresent(id string, all *turns) bool {
	if all.present().version == m.Objects[id] {
		return true
	}
	return m.without[id] && !slices.ContainsFunc(all.since(m.turnOf(id)), func(t turn) bool { return t.version == "" })
}
