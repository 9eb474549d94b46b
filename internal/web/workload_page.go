package web

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/reroll-dev/reroll/internal/gate"
	"github.com/reroll-dev/reroll/internal/inspect"
	"github.com/reroll-dev/reroll/internal/workload"
)

// workloadPage explains one workload. It has a field for each part of the page.
type workloadPage struct {
	Cluster, State, Head, Next string
	Key                        workload.Key
	TemplateUser               *workload.Key
	Approve                    string
	OptInWhy, OptIn            string
	Sources                    []sourcePart
	HiddenSources              int
	Facts                      []fact
	Mistakes                   []string
	Pods                       []inspect.PodPart
	OldPods                    int
	// NoPods and NoHistory are why there is none.
	NoPods, NoHistory string
	History           []event
	Map               string
}

func (p *workloadPage) page() (name, title string) { return "workload", p.Key.Name }

// fact is a line of a list with titles.
type fact struct{ Title, Text string }

// sourcePart is a source of a workload, on its page.
type sourcePart struct {
	sourceRef
	Why     string
	Facts   []string
	Written time.Time
}

// event is an event of the controller.
type event struct {
	Reason, Note string
	At           time.Time
	Key          workload.Key
	Link         string
}

// mostPods and mostEvents bound the lists of a page.
const (
	mostPods   = 200
	mostEvents = 30
)

func (s *site) workload(r *request) (any, error) {
	c, f, err := s.facts(r)
	if err != nil {
		return nil, err
	}
	key := workload.Key{Kind: r.query.Get("kind"), Namespace: r.query.Get("ns"), Name: r.query.Get("name")}
	unknown := pageError{http.StatusNotFound, "There is no such workload, or you may not read it."}
	if !r.sight.workload(&f, key) {
		return nil, unknown
	}
	x, err := c.Explain(r.Context(), key, r.sight.may(key.Namespace, "pods"))
	if err != nil {
		return nil, unknown // the reason may name other objects
	}
	if !r.sight.workload(&f, x.Workload.Key) {
		return nil, pageError{http.StatusNotFound, "Another workload has its pod template, and you may not read that one."}
	}
	p := &workloadPage{Cluster: c.Name(), Key: x.Workload.Key, State: x.State.String(), TemplateUser: x.TemplateUser}
	p.Map = address("map", "cluster", c.Name(), "ns", key.Namespace, "q", key.Name)
	sum := x.Summary()
	for i := range x.Sources {
		sum.Others = append(sum.Others, x.Sources[i].Key) // no text of this page names one that is hidden
	}
	show := func(text string) string {
		if text == "" || r.sight.shows(&f, sum, text) {
			return text
		}
		return withheld
	}
	p.Head, p.Next = show(x.Head()), show(shown(x.Next()))
	if p.Head == withheld {
		p.Head = "This workload is " + p.State + "; " + withheld + "."
	}
	p.OptInWhy, p.OptIn = x.OptInCommand()
	p.OptIn = s.onCluster(c, p.OptIn)
	if p.Approve = show(sum.Approve); p.Approve != withheld {
		p.Approve = s.onCluster(c, p.Approve)
	}
	p.sources(r, &f, x)
	p.facts(x, show)
	p.pods(r, x)
	p.history(r, c, sum, &f)
	return p, nil
}

// shown returns a text for a page. A page never shows a digest: it may be that of a Secret.
func shown(text string) string { return inspect.WithoutDigests(text) }

func (p *workloadPage) sources(r *request, f *inspect.Facts, x *inspect.Explanation) {
	for _, part := range x.SourceParts() {
		if from := part.Key.In(p.Key.Namespace).Origin(); !r.sight.source(from.Namespace, from.Kind) {
			p.HiddenSources++
			continue
		}
		// A suggestion of a similar name could name a source of another kind.
		why := part.Why
		if len(part.Near) > 0 && !r.sight.sources(f, p.Key.Namespace, why) {
			why = "it does not exist"
		}
		p.Sources = append(p.Sources, sourcePart{
			sourceRef{part.Key, sourceAddress(p.Cluster, p.Key.Namespace, part.Key), part.Rolls, part.Absent}, why, part.Facts, part.Written,
		})
	}
}

func (p *workloadPage) facts(x *inspect.Explanation, show func(string) string) {
	add := func(title string, texts ...string) {
		for _, text := range texts {
			if text != "" {
				p.Facts = append(p.Facts, fact{title, show(shown(text))})
			}
		}
	}
	add("Ledger", x.LedgerText())
	add("Mode", x.Mode)
	if x.Gate.By != "" && x.Gate.By != gate.Notify {
		add("Waits for", string(x.Gate.By)+": "+x.Gate.Why)
	}
	add("Approval", x.Approvals...)
	add("Freeze", x.Freezes...)
	add("Window", x.Windows...)
	add("Waves", x.Waves...)
	add("Delivered by", string(x.Workload.Tool))
	for _, text := range x.Mistaken() {
		p.Mistakes = append(p.Mistakes, show(shown(text)))
	}
	for _, text := range x.UnmatchedTexts() {
		p.Mistakes = append(p.Mistakes, show(text))
	}
}

func (p *workloadPage) pods(r *request, x *inspect.Explanation) {
	if !r.sight.may(p.Key.Namespace, "pods") {
		p.NoPods = "You may not list the Pods of this namespace."
		return
	}
	pods, listed := x.PodParts()
	switch {
	case !listed:
		p.NoPods = "The Pods could not be listed."
	case len(pods) == 0:
		p.NoPods = "There are no Pods."
	}
	for i := range pods {
		if pods[i].Content == inspect.ContentOld {
			p.OldPods++
		}
	}
	p.Pods = pods[:min(len(pods), mostPods)]
}

func (p *workloadPage) history(r *request, c Cluster, sum *inspect.Summary, f *inspect.Facts) {
	if !r.sight.may(p.Key.Namespace, "events") {
		p.NoHistory = "You may not list the events of this namespace."
		return
	}
	events, err := c.Events(r.Context(), p.Key)
	if err != nil {
		p.NoHistory = "The events could not be listed."
	}
	for _, e := range events {
		note := strings.TrimPrefix(e.Note, e.Reason+": ")
		if !r.sight.sources(f, p.Key.Namespace, note) || !r.sight.shows(f, sum, note) {
			note = withheld // an earlier source may be named that the workload no longer uses
		}
		p.History = append(p.History, event{Reason: e.Reason, Note: note, At: e.At})
	}
	if p.NoHistory == "" && len(p.History) == 0 {
		p.NoHistory = "No events. Kubernetes keeps events for an hour by default."
	}
	p.History = slices.Clip(p.History[:min(len(p.History), mostEvents)])
}

// facts returns the cluster of a request, and what all of its pages need.
func (s *site) facts(r *request) (Cluster, inspect.Facts, error) {
	c, err := s.cluster(r)
	if err != nil {
		return nil, inspect.Facts{}, err
	}
	f, err := c.Facts()
	if err != nil {
		return nil, f, pageError{http.StatusServiceUnavailable, "The cluster was not read yet. This page appears when it was."}
	}
	return c, f, nil
}
