package inspect

import (
	"encoding/json"
	"time"

	"github.com/reroll-dev/reroll/internal/gate"
	"github.com/reroll-dev/reroll/internal/policy"
)

// SchemaVersion is the apiVersion of the JSON documents that the commands print. New fields keep
// the version. Any other change needs a new version.
const SchemaVersion = "reroll.dev/v1"

// document has the first fields of each document.
type document struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
}

func documentOf(kind string) document { return document{SchemaVersion, kind} }

// encode returns the text of a document.
func encode(v any) (string, error) {
	text, err := json.MarshalIndent(v, "", "  ")
	return string(text) + "\n", err
}

// controllerJSON describes the controller that the settings come from.
type controllerJSON struct {
	Controller string     `json:"controllerNamespace,omitempty"`
	Beside     []string   `json:"otherControllerNamespaces,omitempty"`
	Assumed    string     `json:"assumed,omitempty"`
	Receiver   string     `json:"receiver,omitempty"`
	Flags      []string   `json:"flags,omitempty"`
	State      string     `json:"controllerState,omitempty"`
	LastActive *time.Time `json:"controllerLastActive,omitempty"`
}

func (s *Settings) json(now time.Time) controllerJSON {
	out := controllerJSON{
		Controller: s.Controller, Beside: s.Beside, Assumed: s.Assumed, Receiver: s.receiver, Flags: s.Beyond, LastActive: timeOf(s.Heard),
	}
	if s.Controller != "" {
		out.State = s.life(now).String()
	}
	return out
}

// timeOf returns nil for the zero time.
func timeOf(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// LintJSON returns the findings of lint as JSON.
func LintJSON(found []Finding, failed []Unread, unread []string) (string, error) {
	type failure struct {
		File    string `json:"file"`
		Line    int    `json:"line,omitempty"`
		Message string `json:"message"`
	}
	type finding struct {
		File       string `json:"file,omitempty"`
		Line       int    `json:"line,omitempty"`
		Object     string `json:"object"`
		Annotation string `json:"annotation,omitempty"`
		Message    string `json:"message"`
		Note       bool   `json:"note,omitempty"`
	}
	out := struct {
		document
		Findings []finding `json:"findings"`
		Unread   []string  `json:"unread,omitempty"`
		// Unread has these as text, too.
		UnreadManifests []failure `json:"unreadManifests,omitempty"`
	}{document: documentOf("Lint"), Findings: []finding{}}
	for _, f := range failed {
		out.Unread = append(out.Unread, f.String())
		out.UnreadManifests = append(out.UnreadManifests, failure{f.File, f.Line, f.Text})
	}
	out.Unread = append(out.Unread, unread...)
	for _, f := range found {
		out.Findings = append(out.Findings, finding{f.File, f.Line, f.Object, f.annotation, oneLine(f.Text), f.Note})
	}
	return encode(out)
}

// plannedJSON is one workload of a plan.
type plannedJSON struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Reason    string `json:"reason"`
	Pods      int64  `json:"pods"`
	// Wave is only known if workloads are rolled one after the other.
	Wave *int `json:"wave,omitempty"`
	// Keys are those that count, if not all do.
	Keys *keysJSON `json:"keys,omitempty"`
	gateJSON
}

// gateJSON is a gate that is closed, and when it opens.
type gateJSON struct {
	Gate      string     `json:"gate,omitempty"`
	GateOpens *time.Time `json:"gateOpens,omitempty"`
}

func gateOf(a gate.Answer) gateJSON { return gateJSON{string(a.By), timeOf(a.Until.UTC())} }

// JSON returns the plan as JSON.
func (p *Plan) JSON() (string, error) {
	list := func(all []Planned) []plannedJSON {
		out := []plannedJSON{}
		for _, one := range all {
			planned := plannedJSON{one.Key.Kind, one.Key.Namespace, one.Key.Name, one.Why, one.Pods, nil, keysAsJSON(&one.keys), gateOf(one.Gate)}
			if p.Waves != nil {
				planned.Wave = &one.Wave
			}
			out = append(out, planned)
		}
		return out
	}
	var out struct {
		document
		Source struct {
			Kind      string `json:"kind"`
			Namespace string `json:"namespace"`
			Name      string `json:"name"`
			Exists    bool   `json:"exists"`
		} `json:"source"`
		Rolled    []plannedJSON `json:"rolled"`
		NotRolled []plannedJSON `json:"notRolled"`
		Unread    []string      `json:"unread,omitempty"`
		controllerJSON
	}
	out.document, out.controllerJSON = documentOf("Plan"), p.Settings.json(p.Now)
	out.Source.Kind, out.Source.Namespace, out.Source.Name, out.Source.Exists = p.Source.Kind.String(), p.Source.Namespace, p.Source.Name, !p.Absent
	out.Rolled, out.NotRolled, out.Unread = list(p.Rolled), list(p.Left), p.Unread
	return encode(out)
}

// sourceJSON is one source of an explanation.
type sourceJSON struct {
	Kind    string     `json:"kind"`
	Name    string     `json:"name"`
	Rolls   bool       `json:"rolls"`
	Reason  string     `json:"reason"`
	Exists  bool       `json:"exists"`
	Deleted bool       `json:"deleted,omitempty"`
	Unread  bool       `json:"unread,omitempty"`
	Written *time.Time `json:"written,omitempty"`
	UsedBy  []string   `json:"usedBy,omitempty"`
	// Keys are those that count, if not all do, and Ignored whether only others were written.
	Keys    *keysJSON `json:"keys,omitempty"`
	Ignored bool      `json:"ignored,omitempty"`
}

// keysJSON are the keys of a source that count.
type keysJSON struct {
	// Only are all keys that count, unless all but some count.
	Only    []string `json:"only,omitempty"`
	Without []string `json:"without,omitempty"`
	SetBy   string   `json:"setBy"`
}

// keysAsJSON returns nil if all keys count.
func keysAsJSON(v *policy.KeyVerdict) *keysJSON {
	if v.Keys == nil {
		return nil
	}
	only, without := v.Keys.Names()
	return &keysJSON{only, without, v.SetBy}
}

func (x *Explanation) sourceJSON(s *Source) sourceJSON {
	one := sourceJSON{
		Kind: s.Key.Kind.String(), Name: s.Key.Name, Rolls: x.rolls(s), Exists: !s.Absent && !s.Unread, Deleted: s.Deleted, Unread: s.Unread,
		Written: timeOf(s.Written), Reason: word(s),
	}
	if !one.Rolls && (!s.Unread || !s.Verdict.Concerned) {
		one.Reason = x.whyNot(s)
	}
	one.Keys, one.Ignored = keysAsJSON(&s.Keys), s.Skipped
	for _, use := range s.Uses {
		one.UsedBy = append(one.UsedBy, use.String())
	}
	return one
}

// JSON returns the explanation as JSON.
func (x *Explanation) JSON() (string, error) {
	type event struct {
		Reason string    `json:"reason"`
		Note   string    `json:"note"`
		Time   time.Time `json:"time"`
	}
	var out struct {
		document
		Answer    string       `json:"answer"`
		OptedIn   bool         `json:"optedIn"`
		Workload  statusJSON   `json:"workload"`
		Mistakes  []string     `json:"mistakes,omitempty"`
		Sources   []sourceJSON `json:"sources"`
		Fields    []string     `json:"fields,omitempty"`
		Next      string       `json:"next,omitempty"`
		LastEvent *event       `json:"lastEvent,omitempty"`
		controllerJSON
	}
	out.document, out.controllerJSON = documentOf("Explanation"), x.Settings.json(x.Now)
	out.Answer, out.OptedIn, out.Workload = x.head(Paint{}), x.Workload.Policy.OptedIn(x.Settings.Rules.AutoReloadAll), x.json()
	out.Fields = x.Fields
	out.Mistakes, out.Sources = x.mistaken(), []sourceJSON{}
	if x.OnlySource != nil {
		out.Sources = append(out.Sources, x.sourceJSON(x.OnlySource))
	}
	for i := range x.Sources {
		if x.OnlySource == nil {
			out.Sources = append(out.Sources, x.sourceJSON(&x.Sources[i]))
		}
	}
	if out.OptedIn || x.Ledger.There {
		out.Next = x.next()
	}
	if x.Last != nil {
		out.LastEvent = &event{x.Last.Reason, oneLine(x.Last.Note), x.Last.At}
	}
	return encode(out)
}

// statusJSON is one workload of a status.
type statusJSON struct {
	Kind      string     `json:"kind"`
	Namespace string     `json:"namespace"`
	Name      string     `json:"name"`
	State     string     `json:"state"`
	Detail    string     `json:"detail,omitempty"`
	Cause     string     `json:"cause,omitempty"`
	Since     *time.Time `json:"since,omitempty"`
	Reloads   *int64     `json:"reloads,omitempty"`
	Updated   int32      `json:"updatedPods"`
	Wanted    int32      `json:"wantedPods"`
	Unknown   []string   `json:"unknown,omitempty"`
	gateJSON
}

// mistakenJSON is one workload that is not opted in, with the mistakes in its annotations.
type mistakenJSON struct {
	Kind      string   `json:"kind"`
	Namespace string   `json:"namespace"`
	Name      string   `json:"name"`
	Mistakes  []string `json:"mistakes"`
}

func (a *Answer) json() statusJSON {
	one := statusJSON{
		Kind: a.Workload.Key.Kind, Namespace: a.Workload.Key.Namespace, Name: a.Workload.Key.Name,
		State: a.State.String(), Detail: a.Detail, Cause: string(a.Cause), Since: timeOf(a.Since),
		Updated: a.Workload.Progress.Updated, Wanted: a.Workload.Progress.Wanted, Unknown: a.Unknown,
		gateJSON: gateOf(a.Gate),
	}
	if a.Ledger.There && a.Ledger.Err == nil {
		one.Reloads = &a.Ledger.Counter
	}
	return one
}

// JSON returns the status as JSON.
func (s *Status) JSON() (string, error) {
	out := struct {
		document
		UpToDate bool `json:"upToDate"`
		controllerJSON
		Frozen    []frozenJSON `json:"frozen,omitempty"`
		Unread    []string     `json:"unread,omitempty"`
		Skipped   []string     `json:"skipped,omitempty"`
		Workloads []statusJSON `json:"workloads"`
		// Mistaken are workloads that are not opted in, perhaps because of these mistakes.
		Mistaken []mistakenJSON `json:"notOptedInByMistake,omitempty"`
	}{documentOf("Status"), s.Code() == CodeUpToDate, s.Settings.json(s.Now), frozenAsJSON(s.Frozen), s.Unread, s.Skipped, []statusJSON{}, nil}
	for _, m := range s.Mistaken {
		out.Mistaken = append(out.Mistaken, mistakenJSON{m.Key.Kind, m.Key.Namespace, m.Key.Name, m.Texts})
	}
	for i := range s.Answers {
		out.Workloads = append(out.Workloads, s.Answers[i].json())
	}
	return encode(out)
}
