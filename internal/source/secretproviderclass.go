package source

import (
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/internal/annotations"
)

// Class collects the reports of Pods about one SecretProviderClass. Nothing else shows its data:
// the object of the class only says where the store is.
// The CSI driver writes the report of a running Pod again when it rotates. Each Pod is rotated at
// its own time, so a version that is new for one Pod may be known from another. The versions that a
// Pod starts with are no rotation, because some stores give each Pod another version.
type Class struct {
	key     Key
	objects map[string]*turns
	reports map[string]*classMember
	// first is when the first report was created.
	first   time.Time
	version uint64

	defined bool
	// uid and definition, a resource version, identify the object of the class. definedIn is the
	// version in which it was written or deleted, 0 if unknown.
	uid         types.UID
	definition  string
	definedIn   uint64
	annotations Annotations
	mistakes    []annotations.Mistake
}

// classMember is the latest report of a Pod.
type classMember struct {
	ClassReport
	// began is when the Pod reported first. The status may have been created for an earlier Pod.
	began time.Time
	// beganIn is the resource version of that report, 0 if no watch has shown it.
	beganIn uint64
	// at is the turn of each object that the Pod has, -1 if none.
	at map[string]int
	// without are the objects that the class had for a while when the Pod started without them.
	// They count as never given to the Pod, unless the class loses them, or another Pod is seen to gain
	// them while it runs: after that, this Pod may be given them, too.
	without map[string]bool
	// started reports whether the Pod has had all of them since it started.
	started bool
}

// NewClass returns a class without any reports.
func NewClass(key Key) *Class {
	return &Class{key: key, objects: map[string]*turns{}, reports: map[string]*classMember{}}
}

// Define stores which workloads the object of the class concerns, and reports whether that changed.
func (c *Class) Define(meta *metav1.ObjectMeta, version uint64, names annotations.Names) bool {
	defined := fromMeta(SecretProviderClass, meta, names)
	differs := !c.defined || c.annotations != defined.Annotations || !slices.Equal(c.mistakes, defined.Mistakes)
	c.defined, c.annotations, c.mistakes = true, defined.Annotations, defined.Mistakes
	c.uid, c.definition, c.definedIn = defined.UID, defined.ResourceVersion, version
	return differs
}

// Undefine records in which version the object of the class was deleted, 0 if that is unknown, and
// reports whether that is a change.
func (c *Class) Undefine(version uint64) bool {
	differs := c.annotations != Annotations{}
	c.defined, c.annotations, c.mistakes = false, Annotations{}, nil
	c.uid, c.definition, c.definedIn = "", "", version
	return differs
}

// Definition is the object of the class, as far as it is known. It has no data. Recreating the
// object changes nothing, because Source has no UID.
func (c *Class) Definition() Source {
	return Source{Key: c.key, UID: c.uid, ResourceVersion: c.definition, Annotations: c.annotations, Mistakes: c.mistakes}
}

// Unknown reports whether the class has neither an object nor a report.
func (c *Class) Unknown() bool { return !c.defined && len(c.reports) == 0 }

// Drop forgets the report of a Pod. The data of the class stays: having no Pods does not change it.
func (c *Class) Drop(name string) { delete(c.reports, name) }

// Restore stores the reports after a time without a watch, in the order in which they were written,
// and returns the changes of the data as Put does.
func (c *Class) Restore(reports []ClassReport) []Source {
	sortByWrite(reports)
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

// Put stores a report, and returns the new data of the class: nothing if the data did not change,
// and two sources if the data changed and changed back.
func (c *Class) Put(r ClassReport) []Source { return c.put(r, true) }

// put also stores a report whose changes no watch has seen.
func (c *Class) put(r ClassReport, seen bool) []Source {
	r = c.bounded(r)
	known, ok := c.reports[r.Name]
	// The first report of a Pod may overwrite the report of an earlier Pod of that name.
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
	var in uint64
	if seen {
		in = r.Version
	}
	if ok && len(known.Objects) > 0 {
		had = known.Objects
		turned = c.rewrite(known, r, in)
	} else {
		began := r.Created
		if first {
			began = r.Written
		}
		turned = c.start(&classMember{ClassReport: r, began: began, beganIn: in, at: map[string]int{}, without: map[string]bool{}, started: ok || first || !r.rewritten()})
	}
	after, _ := c.Source()
	switch {
	case !was || before.Digest != after.Digest:
		return []Source{after}
	case len(turned) == 0:
		return nil
	}
	// The Pod had been given the present data before, and then had other data.
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

// start stores the first report of a Pod.
func (c *Class) start(m *classMember) (turned []string) {
	r, started := &m.ClassReport, m.started
	others := started && c.mounted()
	c.reports[r.Name] = m
	turned = c.startWithout(m)
	for _, id := range slices.Sorted(maps.Keys(r.Objects)) {
		version, all := r.Objects[id], c.turns(id)
		if all.last() < 0 && others {
			// Pods run without the object. If its version counted as data at once, a ledger would
			// record that these Pods have it. After a restart of the controller, giving it to them
			// would be no change.
			all.begin(turn{})
		}
		at, last := all.latest(version), all.last()
		switch {
		case at >= 0 && at == last:
			if !started && all.rotate(r, m.beganIn) {
				turned = append(turned, id)
			}
		case last < 0, !started && (at < 0 || all.present().isBefore(r)):
			at = all.begin(turn{version: version, turnWrite: r.write(m.beganIn), rotated: !started})
			turned = append(turned, id)
		case at < 0:
			at = last // some stores give each Pod another version
		}
		m.at[id] = at
	}
	return turned
}

// mounted reports whether any Pod reports a mounted object.
func (c *Class) mounted() bool {
	for _, m := range c.reports {
		if len(m.Objects) > 0 {
			return true
		}
	}
	return false
}

// startWithout records which objects of the class are missing in the first report of a Pod. The
// class has lost them if the report was written again, and later. A Pod that started soon after an
// object was added may still be given the object.
func (c *Class) startWithout(m *classMember) (turned []string) {
	for _, id := range slices.Sorted(maps.Keys(c.objects)) {
		all := c.objects[id]
		_, named := m.Objects[id]
		switch {
		case named:
		case all.present().version == "":
			m.at[id] = all.last()
		case m.started && m.began.After(all.added().Add(StartLag)):
			m.at[id], m.without[id] = all.last(), true
		case !m.started && all.present().isBefore(&m.ClassReport):
			m.at[id] = all.begin(turn{turnWrite: m.write(m.beganIn), rotated: true})
			turned = append(turned, id)
		default:
			m.at[id] = all.latest("")
		}
	}
	return turned
}

// rewrite stores a later report of a Pod.
func (c *Class) rewrite(m *classMember, r ClassReport, in uint64) (turned []string) {
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
			at = last // it counted as a Pod with the present data, so that any other version is new
		case started && m.beganAfter(all.present()):
			at = last // its workload may have been rolled for that already, and this Pod is the result
		}
		next := all.next(version, at)
		switch {
		case next >= 0:
		case last > at && all.present().version == version:
			next = last // Pods have started with it, and this is the first running Pod that was given it
			all.rotate(&r, in)
			turned = append(turned, id)
		default:
			next = all.begin(turn{version: version, turnWrite: r.write(in), rotated: true, gained: had[id] == ""})
			turned = append(turned, id)
		}
		m.at[id], m.started = next, false
		delete(m.without, id)
	}
	m.ClassReport = r
	return turned
}

// turns are the turns of an object; none yet if the object is new.
func (c *Class) turns(id string) *turns {
	all, ok := c.objects[id]
	if !ok {
		all = &turns{}
		c.objects[id] = all
	}
	return all
}

// beganAfter reports whether the Pod first reported after another Pod was given a turn, by the order
// of both if a watch has shown it.
func (m *classMember) beganAfter(t *turn) bool {
	if m.beganIn != 0 && t.in != 0 {
		return m.beganIn > t.in
	}
	return m.began.After(t.written.Add(StartLag))
}

func (m *classMember) turnOf(id string) int {
	if at, known := m.at[id]; known {
		return at
	}
	return -1
}

// hasPresent reports whether the pod has the present version of an object, or is never given the
// object.
func (m *classMember) hasPresent(id string, all *turns) bool {
	if all.present().version == m.Objects[id] {
		return true
	}
	return m.without[id] && !all.opensAfter(m.turnOf(id))
}
