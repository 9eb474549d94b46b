package policy

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/source"
)

// Parse reads the annotations of a workload and of its pod template. A mistake in one annotation
// does not affect the others.
func Parse(own, template map[string]string, names annotations.Names) (Policy, []annotations.Mistake) {
	r := policyReader{
		own:      annotations.Written{Values: own},
		template: annotations.Written{Values: template, InTemplate: true},
		names:    names,
	}
	var policy Policy
	for i, kind := range source.Kinds() {
		policy.kinds[i] = r.kind(kind)
	}
	policy.settle, policy.pause, policy.churn, policy.rollout = r.settle(onWorkload), r.pause(), r.churn("the workload"), r.rollout()
	policy.wave, policy.window, policy.mode, policy.approval = r.wave(), r.window("the workload"), r.mode(onWorkload), r.approval()
	policy.keys = r.keys()
	policy.sources = r.sources()
	policy.rolloutSet = r.preferred(names.RolloutStrategy).HasAny(names.RolloutStrategy)
	return policy, r.mistakes
}

// policyReader collects the mistakes.
type policyReader struct {
	own, template annotations.Written
	names         annotations.Names
	mistakes      []annotations.Mistake
}

// refuse drops duplicates, because "auto" and "search" are read for each kind of source: for each
// kind, it depends on its own annotations whether the pod template counts.
func (r *policyReader) refuse(from annotations.Written, key, value, format string, args ...any) {
	mistake := annotations.Mistake{Annotation: key, InTemplate: from.InTemplate, Value: strings.Clone(annotations.Shortened(value)), Message: fmt.Sprintf(format, args...)}
	if !slices.Contains(r.mistakes, mistake) {
		r.mistakes = append(r.mistakes, mistake)
	}
}

func (r *policyReader) kind(kind source.Kind) kindPolicy {
	keys := kind.Keys(&r.names)
	from := r.own
	opting := r.names.Opting(keys)
	if !from.HasAny(opting...) {
		from = r.template
	}
	return kindPolicy{
		optsSet:     from.HasAny(opting...),
		excludedSet: r.preferred(keys.Exclude).HasAny(keys.Exclude),

		entries:  r.entries(from, keys.Named, kind),
		excluded: r.excluded(keys.Exclude),
		search:   r.search(from),
		auto:     r.toggle(from, r.names.Auto),
		typed:    r.toggle(from, keys.Auto),
	}
}

// preferred is for annotations that do not decide whether a workload is opted in. Each of them is
// read from the workload or else from its pod template.
func (r *policyReader) preferred(key string) annotations.Written {
	if r.own.HasAny(key) {
		return r.own
	}
	return r.template
}

func (r *policyReader) entries(from annotations.Written, key string, kind source.Kind) *annotations.NameList {
	list, refused := annotations.ReadList(from.Values[key], &r.names, kind == source.ConfigMap || kind == source.Secret)
	r.refuseAll(from, key, refused)
	return list
}

func (r *policyReader) excluded(key string) *annotations.NameSet {
	from := r.preferred(key)
	valid := annotations.IsObjectName
	if key == annotations.ExcludeTrustBundles {
		valid = annotations.IsBundleOrSigner
	}
	set, refused := annotations.ReadSet(from.Values[key], &r.names, valid)
	r.refuseAll(from, key, refused)
	return set
}

func (r *policyReader) refuseAll(from annotations.Written, key string, refused []annotations.Refusal) {
	for _, each := range refused {
		r.refuse(from, key, each.Entry, "%s", each.Why)
	}
}

func (r *policyReader) search(from annotations.Written) bool {
	value, ok := from.Values[r.names.Search]
	if ok && value != "true" && value != "false" {
		r.refuse(from, r.names.Search, value, `counts as false; only "true" turns it on`)
	}
	return value == "true"
}

// toggle treats an empty value as unset, although it is not a boolean. Helm templates render that
// for an unset value, and Reloader rolls such a workload if all are opted in. See ADR 7.
func (r *policyReader) toggle(from annotations.Written, key string) toggle {
	value, ok := from.Values[key]
	if !ok {
		return unset
	}
	yes, err := strconv.ParseBool(value)
	switch {
	case value == "":
		r.refuse(from, key, value, `has no effect; write "true" or "false", or remove the annotation`)
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

func (r *policyReader) settle(on place) setDuration {
	return r.duration(annotations.Settle, 0, "a duration of zero or more such as 3s", on)
}

func (r *policyReader) pause() setDuration {
	return r.duration(r.names.PausePeriod, 1, "a duration above zero such as 5m", onWorkload)
}

func (r *policyReader) duration(key string, least time.Duration, right string, on place) setDuration {
	from := r.preferred(key)
	text, ok := from.Values[key]
	if !ok {
		return setDuration{}
	}
	value, err := time.ParseDuration(text)
	if err != nil || value < least {
		r.refuse(from, key, text, "has no effect; write %s", right)
		return setDuration{}
	}
	return setDuration{value: value, on: on.orTemplate(from)}
}

// churn reads the limit of an object, named for users.
func (r *policyReader) churn(on string) setLimit {
	from := r.preferred(annotations.Churn)
	text, ok := from.Values[annotations.Churn]
	if !ok {
		return setLimit{}
	}
	limit, err := ParseLimit(text)
	if err != nil {
		r.refuse(from, annotations.Churn, text, "has no effect; %s", err)
		return setLimit{}
	}
	if from.InTemplate {
		on = "the pod template"
	}
	return setLimit{value: limit, set: true, on: on}
}

func (r *policyReader) window(on string) setWindow {
	from := r.preferred(annotations.Window)
	text := annotations.ReadWindow(from, func(mistake annotations.Mistake) { r.mistakes = append(r.mistakes, mistake) })
	if text == "" {
		return setWindow{}
	}
	if from.InTemplate {
		on = "the pod template"
	}
	return setWindow{text, on}
}

func (r *policyReader) wave() setWave {
	from := r.preferred(annotations.Wave)
	text, ok := from.Values[annotations.Wave]
	if !ok {
		return setWave{}
	}
	wave, err := annotations.ParseWave(text)
	if err != nil {
		r.refuse(from, annotations.Wave, text, "has no effect; %s", err)
		return setWave{}
	}
	return setWave{value: wave, on: onWorkload.orTemplate(from)}
}

func (r *policyReader) rollout() RolloutStrategy {
	from := r.preferred(r.names.RolloutStrategy)
	value, ok := from.Values[r.names.RolloutStrategy]
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
