package reload

import (
	"fmt"
	"slices"
	"strconv"
	"time"
)

// Policy is what the annotations of one workload ask for. The zero Policy asks
// for nothing.
type Policy struct {
	configMap           kindPolicy
	secret              kindPolicy
	secretProviderClass kindPolicy

	settle     setDuration
	pause      setDuration
	rollout    RolloutStrategy
	rolloutSet bool
}

// kindPolicy is the part of a Policy that is about one kind of source.
type kindPolicy struct {
	// optsSet and excludedSet tell that there were annotations for it.
	optsSet, excludedSet bool

	entries  []namedEntry
	excluded []string
	search   bool
	auto     toggle
	typed    toggle
}

// toggle keeps "set to false" apart from "not set": only the former opts out
// when every workload is opted in.
type toggle uint8

const (
	unset toggle = iota
	off
	on
)

type setDuration struct {
	value time.Duration
	set   bool
}

// RolloutStrategy is how an Argo Rollout is reloaded.
type RolloutStrategy uint8

const (
	// RolloutTemplate puts the mark into the pod template, so that the steps of
	// the Rollout apply.
	RolloutTemplate RolloutStrategy = iota
	// RolloutRestart restarts the pods and leaves the template alone.
	RolloutRestart
)

// String returns the value of the annotation.
func (s RolloutStrategy) String() string {
	if s == RolloutRestart {
		return "restart"
	}
	return "rollout"
}

// Problem is a mistake in one annotation of a workload. It harms only that
// annotation, or only that entry of a list.
type Problem struct {
	Annotation string
	// InTemplate is set when the annotation is on the pod template.
	InTemplate bool
	// Value is what was refused: the entry, if the annotation is a list.
	Value string
	// Message says what would be right.
	Message string
}

// String returns the problem as one sentence.
func (p Problem) String() string {
	where := ""
	if p.InTemplate {
		where = " of the pod template"
	}
	return fmt.Sprintf("annotation %s%s has %q: %s", p.Annotation, where, p.Value, p.Message)
}

// ParsePolicy reads the annotations of a workload and of its pod template.
// Nothing it finds wrong keeps it from reading the rest.
func ParsePolicy(own, template map[string]string, names Names) (Policy, []Problem) {
	r := policyReader{
		own:      annotations{values: own},
		template: annotations{values: template, inTemplate: true},
		names:    names,
	}
	policy := Policy{
		configMap:           r.kind(ConfigMap),
		secret:              r.kind(Secret),
		secretProviderClass: r.kind(SecretProviderClass),
		settle:              r.settle(),
		pause:               r.pause(),
		rollout:             r.rollout(),
	}
	policy.rolloutSet = r.preferred(names.RolloutStrategy).hasAny(names.RolloutStrategy)
	return policy, r.problems
}

// Settle returns how long the sources of the workload must have been quiet
// before it is rolled, if the workload says so itself.
func (p Policy) Settle() (time.Duration, bool) {
	return p.settle.value, p.settle.set
}

// PausePeriod returns how long a Deployment stays paused after a reload, if it
// is to be paused at all.
func (p Policy) PausePeriod() (time.Duration, bool) {
	return p.pause.value, p.pause.set
}

// RolloutStrategy returns how an Argo Rollout is reloaded.
func (p Policy) RolloutStrategy() RolloutStrategy {
	return p.rollout
}

// Over returns the policy of an object with another one below it, which counts
// where this one says nothing: as the annotations of a pod template count below
// those of its workload.
func (p Policy) Over(below Policy) Policy {
	p.configMap = p.configMap.over(below.configMap)
	p.secret = p.secret.over(below.secret)
	p.secretProviderClass = p.secretProviderClass.over(below.secretProviderClass)
	if !p.settle.set {
		p.settle = below.settle
	}
	if !p.pause.set {
		p.pause = below.pause
	}
	if !p.rolloutSet {
		p.rollout, p.rolloutSet = below.rollout, below.rolloutSet
	}
	return p
}

func (k kindPolicy) over(below kindPolicy) kindPolicy {
	excluded, excludedSet := k.excluded, k.excludedSet
	if !excludedSet {
		excluded, excludedSet = below.excluded, below.excludedSet
	}
	if !k.optsSet {
		k = below
	}
	k.excluded, k.excludedSet = excluded, excludedSet
	return k
}

// Equal tells whether two policies ask for the same.
func (p Policy) Equal(other Policy) bool {
	for _, kind := range sourceKinds() {
		if !p.of(kind).equal(other.of(kind)) {
			return false
		}
	}
	return p.settle == other.settle && p.pause == other.pause && p.rollout == other.rollout
}

func (k kindPolicy) equal(other kindPolicy) bool {
	return k.search == other.search && k.auto == other.auto && k.typed == other.typed &&
		slices.Equal(k.excluded, other.excluded) &&
		slices.EqualFunc(k.entries, other.entries, func(a, b namedEntry) bool { return a.text == b.text })
}

// Names tells whether an entry of a list names a source.
func (p Policy) Names(key LocalKey) bool {
	return slices.ContainsFunc(p.of(key.Kind).entries, func(e namedEntry) bool { return e.matches(key.Name) })
}

// Named are the sources that lists name as they are spelt.
func (p Policy) Named() []LocalKey {
	var named []LocalKey
	for _, kind := range sourceKinds() {
		for _, name := range p.ExactNames(kind) {
			named = append(named, LocalKey{Kind: kind, Name: name})
		}
	}
	return named
}

// ExactNames returns the named sources of a kind that can be one source only,
// in the order of the annotation. Names with a character that means something
// in a regular expression, such as a dot, are not among them.
func (p Policy) ExactNames(kind SourceKind) []string {
	return p.entryTexts(kind, func(e namedEntry) bool { return e.pattern == nil })
}

// Patterns returns the named entries of a kind that can match several sources.
func (p Policy) Patterns(kind SourceKind) []string {
	return p.entryTexts(kind, func(e namedEntry) bool { return e.pattern != nil })
}

func (p Policy) entryTexts(kind SourceKind, wanted func(namedEntry) bool) []string {
	var texts []string
	for _, entry := range p.of(kind).entries {
		if wanted(entry) {
			texts = append(texts, entry.text)
		}
	}
	return texts
}

func (p Policy) of(kind SourceKind) kindPolicy {
	switch kind {
	case ConfigMap:
		return p.configMap
	case Secret:
		return p.secret
	case SecretProviderClass:
		return p.secretProviderClass
	default:
		// What is no source concerns nobody, even if all are opted in.
		return kindPolicy{auto: off}
	}
}

type annotations struct {
	values     map[string]string
	inTemplate bool
}

func (a annotations) hasAny(keys ...string) bool {
	return slices.ContainsFunc(keys, func(key string) bool {
		_, ok := a.values[key]
		return ok
	})
}

// policyReader gathers the problems on the way.
type policyReader struct {
	own, template annotations
	names         Names
	problems      []Problem
}

// refuse drops repetitions: each kind of source reads "auto" and "search" anew,
// because each decides for itself whether the pod template has a say.
func (r *policyReader) refuse(from annotations, key, value, format string, args ...any) {
	problem := Problem{Annotation: key, InTemplate: from.inTemplate, Value: value, Message: fmt.Sprintf(format, args...)}
	if !slices.Contains(r.problems, problem) {
		r.problems = append(r.problems, problem)
	}
}

func (r *policyReader) kind(kind SourceKind) kindPolicy {
	keys := r.names.of(kind)
	from := r.own
	opting := []string{keys.named, r.names.Search, r.names.Auto, keys.auto}
	if !from.hasAny(opting...) {
		from = r.template
	}
	return kindPolicy{
		optsSet:     from.hasAny(opting...),
		excludedSet: r.preferred(keys.exclude).hasAny(keys.exclude),

		entries:  r.entries(from, keys.named),
		excluded: listOf(r.preferred(keys.exclude).values[keys.exclude]),
		search:   r.search(from),
		auto:     r.toggle(from, r.names.Auto),
		typed:    r.toggle(from, keys.auto),
	}
}

// preferred is for the annotations that do not decide whether a workload is
// opted in: each of them is looked for on its own.
func (r *policyReader) preferred(key string) annotations {
	if r.own.hasAny(key) {
		return r.own
	}
	return r.template
}

// maxListProblems bounds what one list can add to events and memory: it has room
// for tens of thousands of mistakes.
const maxListProblems = 10

func (r *policyReader) entries(from annotations, key string) []namedEntry {
	var entries []namedEntry
	size, refused, last := 0, 0, ""
	for _, text := range listOf(from.values[key]) {
		entry, err := newNamedEntry(text, &size)
		if err == nil {
			entries = append(entries, entry)
			continue
		}
		if refused++; refused <= maxListProblems {
			r.refuse(from, key, text, "%v", err)
		}
		last = text
	}
	if refused > maxListProblems {
		r.refuse(from, key, last, "refused like %d other entries of the list, of which only the first %d are reported", refused-1, maxListProblems)
	}
	return entries
}

func (r *policyReader) search(from annotations) bool {
	value := from.values[r.names.Search]
	switch value {
	case "true":
		return true
	case "", "false":
		return false
	default:
		r.refuse(from, r.names.Search, value, `counts as false; only "true" turns it on`)
		return false
	}
}

// toggle takes an empty value for none, although it is not a boolean: that is
// what a template renders for an option nobody has set, and Reloader rolls such
// a workload when all are opted in.
func (r *policyReader) toggle(from annotations, key string) toggle {
	value, ok := from.values[key]
	if !ok {
		return unset
	}
	yes, err := strconv.ParseBool(value)
	switch {
	case value == "":
		r.refuse(from, key, value, `counts as not set; write "true" or "false", or leave the annotation out`)
		return unset
	case err != nil:
		r.refuse(from, key, value, `not a boolean and counts as false; write "true" or "false"`)
		return off
	case yes:
		return on
	default:
		return off
	}
}

func (r *policyReader) settle() setDuration {
	return r.duration(SettleAnnotation, 0, "a duration of zero or more such as 3s")
}

func (r *policyReader) pause() setDuration {
	return r.duration(r.names.PausePeriod, 1, "a duration above zero such as 5m")
}

func (r *policyReader) duration(key string, least time.Duration, right string) setDuration {
	from := r.preferred(key)
	text, ok := from.values[key]
	if !ok {
		return setDuration{}
	}
	value, err := time.ParseDuration(text)
	if err != nil || value < least {
		r.refuse(from, key, text, "counts as not set; write %s", right)
		return setDuration{}
	}
	return setDuration{value: value, set: true}
}

func (r *policyReader) rollout() RolloutStrategy {
	from := r.preferred(r.names.RolloutStrategy)
	value, ok := from.values[r.names.RolloutStrategy]
	switch {
	case !ok || value == RolloutTemplate.String():
		return RolloutTemplate
	case value == RolloutRestart.String():
		return RolloutRestart
	default:
		r.refuse(from, r.names.RolloutStrategy, value, "counts as %q; write %q or %q", RolloutTemplate, RolloutTemplate, RolloutRestart)
		return RolloutTemplate
	}
}
