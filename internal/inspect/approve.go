package inspect

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/internal/digest"
	"github.com/reroll-dev/reroll/internal/gate"
	"github.com/reroll-dev/reroll/internal/kinds"
	"github.com/reroll-dev/reroll/internal/kubeapi"
	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/workload"
)

// Approval is the consent of a user to the present data of a source, or of all sources of a
// workload.
type Approval struct {
	// Kind is the kind of the workload on which the consent is written, and nil for a source, of which
	// Source is the kind.
	Kind   *kinds.Kind
	Source kubeapi.SourceKind
	// Ref is the object as users write it.
	Ref, Namespace, Name string
	UID                  types.UID
	ResourceVersion      string
	// Digest is the value of the annotation.
	Digest string
	// Waiting are the workloads whose reloads wait for this consent.
	Waiting []string
}

// Approve returns the consent to a source or a workload, by the text of a user. Seen is the digest
// that the user has seen, empty for that of the present data. The digest of a Secret is made with
// the key of the controller. Without the key, the user has to have seen it.
func (o *Objects) Approve(ns, text, seen string, pods Pods, now time.Time) (*Approval, error) {
	e := o.Evaluate(pods, now)
	a, present, err := o.approved(e, ns, text)
	if err != nil {
		return nil, err
	}
	a.Digest = present.String()
	switch {
	case present.IsZero() && seen == "":
		return nil, fmt.Errorf("%s cannot be approved without its digest: %s; paste the command from the event ApprovalRequested of the workload, which has the digest", a.Ref, o.unknownDigest())
	case present.IsZero():
		a.Digest = seen
	case seen != "" && seen != a.Digest:
		return nil, fmt.Errorf("the data of %s has changed since that request; review it, and approve it with reroll approve -n %s %s --digest=%s", a.Ref, ns, a.Ref, a.Digest)
	}
	for _, key := range e.OptedIn() {
		one := e.Of(key)
		if key.Namespace == ns && one.Gate.By == gate.Approval && (a.Kind != nil && ref(key) == a.Ref || one.changedBy(a)) {
			a.Waiting = append(a.Waiting, ref(key))
		}
	}
	return a, nil
}

// changedBy reports whether a consent is to a source that has changed.
func (a *Answer) changedBy(consent *Approval) bool {
	for i := range a.Decision.Changes {
		if src := &a.Decision.Changes[i].Source; consent.Kind == nil && src.Key.Kind == consent.Source.Kind && src.Key.Name == consent.Name {
			return true
		}
	}
	return false
}

// approved finds the object that a user approves, and the digest of its present data, zero if that
// is unknown.
func (o *Objects) approved(e *Evaluation, ns, text string) (*Approval, digest.Digest, error) {
	if kind, _, err := split(text, sourceWords()); err == nil && kind != "" {
		key, err := o.Source(ns, text)
		if err != nil {
			return nil, digest.Digest{}, err
		}
		return o.approvedSource(key)
	}
	key, err := o.Workload(ns, text)
	if err == nil {
		key, err = o.TemplateOwner(key)
	}
	if err != nil {
		return nil, digest.Digest{}, err
	}
	one := e.Of(key)
	w := &one.Workload
	kind, _ := o.settings.Rules.Kinds.Named(key.Kind)
	a := &Approval{Kind: &kind, Ref: ref(key), Namespace: ns, Name: key.Name, UID: w.UID, ResourceVersion: w.ResourceVersion}
	if o.knowsAll(&one) {
		return a, one.Consent, nil
	}
	return a, digest.Digest{}, nil
}

func (o *Objects) approvedSource(key source.Key) (*Approval, digest.Digest, error) {
	if key.Kind.ClusterScoped() {
		return nil, digest.Digest{}, fmt.Errorf("%s is in no namespace, so it cannot be approved for one: approve each workload instead, for example deployment/NAME", key)
	}
	src, there := o.source(key)
	if !there {
		return nil, digest.Digest{}, fmt.Errorf("namespace %s has no %s %s, or you may not read it", key.Namespace, key.Kind, key.Name)
	}
	a := &Approval{Ref: strings.ToLower(key.Kind.String()) + "/" + key.Name, Namespace: key.Namespace, Name: key.Name, UID: src.UID, ResourceVersion: src.ResourceVersion}
	for _, k := range kubeapi.SourceKinds() {
		if k.Kind == key.Kind {
			a.Source = k
		}
	}
	if key.Kind.Keyed() && o.settings.NoKey != "" {
		return a, digest.Digest{}, nil
	}
	return a, src.Digest, nil
}

// knowsAll reports whether the user may read all sources of a workload, and the key for their
// digests. Commands do not read what a CSI driver has mounted.
func (o *Objects) knowsAll(a *Answer) bool {
	if o.noDefaults || slices.ContainsFunc(a.Workload.References, func(r workload.Reference) bool { return r.Key.Kind.Reported() }) {
		return false
	}
	for i := range a.Sources {
		src := &a.Sources[i]
		if src.Verdict.Concerned && (src.Unread || src.Key.Keyed() && o.settings.NoKey != "" && !src.Absent) {
			return false
		}
	}
	return true
}

// unknownDigest is why a digest is unknown.
func (o *Objects) unknownDigest() string {
	if o.settings.NoKey != "" {
		return o.settings.NoKey
	}
	return "not all of its sources can be read"
}

// nextApproval returns what a workload waits for that has to be approved.
func (x *Explanation) nextApproval() string {
	return "nothing, until a user approves the data: " + x.Settings.on(x.Gate.Request.Brief(x.Workload.Key))
}

// command is the command that approves what a workload waits for; empty if it waits for something
// else.
func (a *Answer) command() string {
	if a.Gate.By != gate.Approval {
		return ""
	}
	return a.Gate.Request.Command(a.Workload.Key)
}
