package reload

import (
	"time"

	"github.com/reroll-dev/reroll/internal/digest"
	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/workload"
)

// lookups are maps for questions that come up for each of thousands of sources. A decision builds
// them on demand. Otherwise a workload with as many marks as sources would keep a worker busy for
// seconds.
type lookups struct {
	there          map[source.LocalKey]struct{}
	marks          map[workload.MarkPlace]string
	variables      map[string]variableUse
	selecting      *digest.Digest
	withoutDefault *withoutDefault
	// dataTime is the latest data time of a source that concerns the workload.
	dataTime time.Time
}

// variableUse is a source that concerns the workload, by the variable that marks it. Several
// reports whether other sources share the variable.
type variableUse struct {
	source  source.Key
	several bool
}

func (f *Facts) lookupTables() *lookups {
	if f.lookups == nil {
		f.lookups = &lookups{}
	}
	return f.lookups
}

// exists reports whether a source exists, even if it does not concern the workload.
func (f *Facts) exists(key source.LocalKey) bool {
	_, found := f.existing()[key]
	return found
}

// mark returns the value of a variable in a container.
func (f *Facts) mark(container, variable string) (string, bool) {
	l := f.lookupTables()
	if l.marks == nil {
		l.marks = f.Workload.Marks.Places()
	}
	value, found := l.marks[workload.MarkPlace{Container: container, Variable: variable}]
	return value, found
}

// shares reports whether the variable that marks a source marks another source, too.
func (f *Facts) shares(src source.Key, variable string) bool {
	l := f.lookupTables()
	if l.variables == nil {
		l.variables = make(map[string]variableUse, len(f.Concerns))
		for i := range f.Concerns {
			key := f.Concerns[i].Source.Key
			name := workload.EnvVarName(key)
			_, several := l.variables[name]
			l.variables[name] = variableUse{key, several}
		}
	}
	use, found := l.variables[variable]
	return found && (use.several || use.source != src)
}

func (f *Facts) latestDataTime() time.Time {
	l := f.lookupTables()
	if l.dataTime.IsZero() {
		for i := range f.Concerns {
			if at := f.Concerns[i].Source.DataTime; at.After(l.dataTime) {
				l.dataTime = at
			}
		}
	}
	return l.dataTime
}
