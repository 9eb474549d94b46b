package gate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/digest"
	"github.com/reroll-dev/reroll/internal/reload"
	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/workload"
)

// Consent is the digest that a user approved, in an annotation of a source or of a workload. It is
// worth nothing for other data. An admission policy limits who may write it.

// Request is what a user has to approve, so that a reload starts.
type Request struct {
	// Source is the source whose data has to be approved. It is zero if the workload has to be,
	// because its own annotation requires that, several sources have changed, a CSI driver brings the
	// data, or the source is not in its namespace, so that a consent on it would be one for all
	// tenants.
	Source source.Key
	Digest digest.Digest
}

// Command is the command that approves it, unless the data has changed meanwhile.
func (r *Request) Command(w workload.Key) string {
	return r.Brief(w) + " --digest=" + r.Digest.String()
}

// Brief is the command that approves the present data.
func (r *Request) Brief(w workload.Key) string {
	ref := strings.ToLower(w.Kind) + "/" + w.Name
	if r.Source != (source.Key{}) {
		ref = strings.ToLower(r.Source.Kind.String()) + "/" + r.Source.Name
	}
	return "reroll approve -n " + w.Namespace + " " + ref
}

// ConsentTo is the digest of the data of all sources of a workload, which a user approves on the
// workload. It does not depend on which of them has changed: only the controller may know that.
func ConsentTo(f *reload.Facts, d *reload.Decision) digest.Digest {
	changed := map[source.Key]digest.Digest{}
	for i := range d.Changes {
		changed[d.Changes[i].Source.Key] = d.Changes[i].Source.Digest
	}
	b := digest.Beginning('c')
	for i := range f.Concerns {
		src := &f.Concerns[i].Source
		sum, ok := changed[src.Key]
		if !ok {
			sum = src.Digest
		}
		b = b.Text(src.Key.Kind.String()).Text(src.Key.Name).Text(sum.String())
	}
	return b.Digest()
}

// mostUnapproved is how many sources without consent are named.
const mostUnapproved = 2

// checkApproval reports whether a user has approved the data of a reload: of the workload, or of
// each changed source. Urgent changes wait, too. Otherwise everybody who may edit a source could
// pass.
func checkApproval(f *reload.Facts, d *reload.Decision) Answer {
	by := f.RequiresApproval()
	if by == "" && !anyRequiresApproval(f, d) {
		return Answer{}
	}
	if given := f.Workload.Policy.Consent(); given != "" && given == ConsentTo(f, d).String() {
		return Answer{}
	}
	var names []string
	request, setBy := Request{Digest: ConsentTo(f, d)}, by
	for _, src := range changedSources(f, d) {
		own := src.Annotations.Waves.Waves()
		if by == "" && !own.Approval || consents(src) {
			continue
		}
		name := src.Key.Kind.String() + " " + src.Key.Name
		if setBy == "" {
			setBy = annotations.Approval + " on " + name
		}
		names = append(names, name)
		request.Source, request.Digest = src.Key, src.Digest
	}
	switch n := len(names); {
	case n == 0:
		return Answer{}
	case n > 1 || f.Workload.Policy.RequiresApproval() != "" || request.Digest.IsZero() || request.Source.Kind.Reported() || request.Source.Kind.ClusterScoped() || request.Source.IsForeign():
		request = Request{Digest: ConsentTo(f, d)}
		if n > mostUnapproved {
			names = append(names[:mostUnapproved], fmt.Sprintf("%d more", n-mostUnapproved))
		}
	}
	return Answer{By: Approval, Request: request, Why: fmt.Sprintf("for approval of %s (%s)", strings.Join(names, " and "), setBy)}
}

// consents reports whether a user has approved the data of a source on the source. That counts only in
// the namespace of the source: users who may approve there may not approve for other tenants. And
// for one in no namespace, the admission policy does not limit who may write it.
func consents(src *source.Source) bool {
	given := src.Annotations.Waves.Waves().Consent
	return given != "" && given == src.Digest.String() && !src.Key.Kind.ClusterScoped() && !src.Key.IsForeign()
}

// anyRequiresApproval reports whether a source of a workload requires approval. It needs no ledger,
// and nearly always it is the only question.
func anyRequiresApproval(f *reload.Facts, d *reload.Decision) bool {
	required := func(c reload.Concern) bool { return c.Source.Annotations.Waves.Waves().Approval }
	return slices.ContainsFunc(d.Changes, required) || slices.ContainsFunc(f.Concerns, required)
}

// changedSources are the sources whose data a reload brings. A ledger with one digest for many
// sources may not show which of them have changed since a reload waits. Then all of them count.
func changedSources(f *reload.Facts, d *reload.Decision) []*source.Source {
	var all []*source.Source
	seen, kinds := map[source.Key]bool{}, map[source.Kind]bool{}
	for i := range d.Changes {
		src := &d.Changes[i].Source
		if !seen[src.Key] {
			all = append(all, src)
		}
		seen[src.Key], kinds[src.Key.Kind] = true, true
	}
	known, _, err := f.Ledger()
	if err != nil {
		return all
	}
	for i := range f.Concerns {
		src := &f.Concerns[i].Source
		if _, aggregated := known.Aggregates[src.Key.Kind]; aggregated && kinds[src.Key.Kind] && !seen[src.Key] && !src.Key.IsForeign() {
			all = append(all, src)
		}
	}
	return all
}

// DescribeApproval describes what has to be approved before a reload of the workload, if anything
// does.
func DescribeApproval(f *reload.Facts) []string {
	var texts []string
	if by := f.RequiresApproval(); by != "" {
		texts = append(texts, "required for each change ("+by+")")
	}
	for i := range f.Concerns {
		if src := &f.Concerns[i].Source; src.Annotations.Waves.Waves().Approval {
			texts = append(texts, fmt.Sprintf("required for changes of %s %s (%s there)", src.Key.Kind, src.Key.Name, annotations.Approval))
		}
	}
	return texts
}
