package reload

// lookups answer in one step what is asked for each of thousands of sources. A decision makes each of them when it needs it.
// Otherwise a workload with as many marks as sources would keep a worker busy for seconds.
type lookups struct {
	there     map[LocalKey]struct{}
	marks     map[markPlace]string
	variables map[string]variableUse
}

// markPlace is where a mark stands in a pod template.
type markPlace struct{ container, variable string }

func (m EnvMark) place() markPlace { return markPlace{m.Container, m.Variable} }

// variableUse is a source that concerns the workload, by the variable that marks it. Several tells that there are others.
type variableUse struct {
	source  SourceKey
	several bool
}

func (f *Facts) look() *lookups {
	if f.lookups == nil {
		f.lookups = &lookups{}
	}
	return f.lookups
}

// exists tells whether a source was found, whether it concerns the workload or not.
func (f *Facts) exists(key LocalKey) bool {
	l := f.look()
	if l.there == nil {
		l.there = f.existing()
	}
	_, found := l.there[key]
	return found
}

// mark returns the value of a variable in a container.
func (f *Facts) mark(container, variable string) (string, bool) {
	l := f.look()
	if l.marks == nil {
		l.marks = f.Workload.Marks.places()
	}
	value, found := l.marks[markPlace{container, variable}]
	return value, found
}

// shares tells whether the variable that marks a source marks another one, too.
func (f *Facts) shares(src SourceKey, variable string) bool {
	l := f.look()
	if l.variables == nil {
		l.variables = make(map[string]variableUse, len(f.Concerns))
		for i := range f.Concerns {
			key := f.Concerns[i].Source.Key
			name := EnvVarName(key)
			_, several := l.variables[name]
			l.variables[name] = variableUse{key, several}
		}
	}
	use, found := l.variables[variable]
	return found && (use.several || use.source != src)
}

// places returns the values of the marks. Of two in one place the first counts.
func (m Marks) places() map[markPlace]string {
	places := make(map[markPlace]string, len(m.Env))
	for _, env := range m.Env {
		if _, there := places[env.place()]; !there {
			places[env.place()] = env.Value
		}
	}
	return places
}
