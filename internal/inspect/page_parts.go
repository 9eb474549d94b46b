package inspect

import (
	"slices"
	"time"

	"github.com/reroll-dev/reroll/internal/report"
	"github.com/reroll-dev/reroll/internal/rollout"
)

// The parts of an explanation and of a plan, for pages.

// Head returns the answer in one sentence.
func (x *Explanation) Head() string { return report.OneLine(x.head(Paint{})) }

// Summary returns what lists show of the workload.
func (x *Explanation) Summary() *Summary { return x.summary() }

// Next returns the next step of the controller or of the user, empty for a workload that is not opted
// in.
func (x *Explanation) Next() string {
	if !x.Workload.Policy.OptedIn(x.Settings.Rules.AutoReloadAll) && !x.Ledger.There {
		return ""
	}
	return x.next()
}

// LedgerText describes the ledger.
func (x *Explanation) LedgerText() string { return report.OneLine(x.ledger()) }

// Mistaken returns the mistakes in the annotations of the workload, of its namespace and of its
// sources.
func (x *Explanation) Mistaken() []string { return x.mistaken() }

// UnmatchedTexts describe the expressions and the selector that match no source.
func (x *Explanation) UnmatchedTexts() []string {
	var all []string
	for _, n := range x.Unmatched {
		all = append(all, unmatched(n))
	}
	return all
}

// SourcePart is what an explanation says about one source.
type SourcePart struct {
	*Source
	Rolls bool
	// Why is the rule by which the source rolls the workload, or why it does not.
	Why string
	// Facts are how the pod template uses the source, and how its data compares.
	Facts []string
}

// SourceParts returns what the explanation says about each source, those that roll the workload
// first.
func (x *Explanation) SourceParts() []SourcePart {
	var all []SourcePart
	for i := range x.Sources {
		s := &x.Sources[i]
		part := SourcePart{Source: s, Rolls: x.rolls(s), Why: word(s), Facts: x.about(s)}
		if !part.Rolls && (!s.Unread || !s.Verdict.Concerned) {
			part.Why = x.whyNot(s)
		}
		all = append(all, part)
	}
	slices.SortStableFunc(all, func(a, b SourcePart) int { return yes(b.Rolls) - yes(a.Rolls) })
	return all
}

// PodPart is a Pod of a workload.
type PodPart struct {
	Name    string
	Created time.Time
	Ready   bool
	// Trouble is why it is not ready, if Kubernetes reports a reason.
	Trouble string
	// Content is old, new or unknown.
	Content string
}

// The content of a Pod, compared with the data of its sources.
const (
	ContentNew     = "new"
	ContentOld     = "old"
	ContentUnknown = "unknown"
)

// PodParts returns the Pods that the workload created, the oldest first. It returns false if they
// were not listed.
func (x *Explanation) PodParts() ([]PodPart, bool) {
	if x.Pods == nil {
		return nil, false
	}
	all := []PodPart{}
	for _, pod := range x.Pods.of(&x.Workload) {
		all = append(all, PodPart{pod.Name, pod.Created, pod.Ready, trouble(&pod.Trouble), x.contentOf(pod.Created)})
	}
	slices.SortFunc(all, func(a, b PodPart) int { return a.Created.Compare(b.Created) })
	return all, true
}

func trouble(t *rollout.Trouble) string {
	if t.Reason != "" {
		return t.Reason
	}
	return string(t.Cause)
}

// contentOf returns the content of a Pod that was created at a time.
func (x *Explanation) contentOf(created time.Time) string {
	switch x.State {
	case UpToDate:
		return ContentNew
	case NotOptedIn, Unknown:
		return ContentUnknown
	default:
	}
	for i := range x.Sources {
		src := &x.Sources[i]
		if !src.counts() {
			continue
		}
		if src.Unread {
			return ContentUnknown
		}
		if !created.After(x.dataSince(src)) {
			return ContentOld
		}
	}
	return ContentNew
}

// OptInCommand returns why the workload is not opted in, and the command that opts it in; empty if it
// is.
func (x *Explanation) OptInCommand() (why, command string) {
	if x.Workload.LeftAlone != "" {
		return "", ""
	}
	return x.howToOptIn()
}

// Note returns how the workloads of a plan are rolled, empty without waves.
func (p *Plan) Note() string {
	if p.Waves == nil || len(p.Rolled) == 0 {
		return ""
	}
	return p.inWaves()
}

// Presence says whether a controller runs, and which settings it has.
func (s *Settings) Presence(now time.Time) string {
	if s.Assumed != "" {
		return "not found: " + s.Assumed
	}
	return s.presence(now)
}

// Life is running, ended or unknown.
func (s *Settings) Life(now time.Time) string {
	life := s.life(now)
	return life.String()
}
