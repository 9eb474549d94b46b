package policy

import (
	"unique"

	"github.com/reroll-dev/reroll/internal/annotations"
)

// approval is setApproval in the room of a pointer, because few of many workloads have any.
type approval struct{ unique.Handle[setApproval] }

// setApproval is the object whose annotation requires approval, empty if none does, and the consent
// on the workload.
type setApproval struct{ by, consent string }

func (a setApproval) keep() approval {
	if a == (setApproval{}) {
		return approval{}
	}
	return approval{unique.Make(a)}
}

func (a approval) get() setApproval {
	if a == (approval{}) {
		return setApproval{}
	}
	return a.Value()
}

// over adds what another object requires. The consent is on the object with the pod template.
func (a approval) over(below approval) approval {
	both, other := a.get(), below.get()
	if both.by == "" {
		both.by = other.by
	}
	if other.consent != "" {
		both.consent = other.consent
	}
	return both.keep()
}

// RequiresApproval returns what requires that reloads of the workload are approved, empty if no
// annotation does.
func (p *Policy) RequiresApproval() string {
	if by := p.approval.get().by; by != "" {
		return annotations.Approval + " on " + by
	}
	return ""
}

// Consent returns the text of the digest on the workload that a user approved.
func (p *Policy) Consent() string { return p.approval.get().consent }

// approval reads what a workload and its pod template require. Neither can lift it.
func (r *policyReader) approval() approval {
	own := r.approvalIn(r.own, "the workload").get()
	if of := r.approvalIn(r.template, "the pod template").get(); own.by == "" {
		own.by = of.by
	}
	if r.template.HasAny(annotations.Approved) {
		r.refuse(r.template, annotations.Approved, r.template.Values[annotations.Approved], "does nothing here; it belongs on the workload")
	}
	own.consent = annotations.Consent(r.own.Values)
	return own.keep()
}

func (r *policyReader) approvalIn(from annotations.Written, on string) approval {
	if !annotations.RequiresApproval(from, func(mistake annotations.Mistake) { r.mistakes = append(r.mistakes, mistake) }) {
		return approval{}
	}
	return setApproval{by: on}.keep()
}
