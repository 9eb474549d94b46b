package web

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/reroll-dev/reroll/internal/gate"
	"github.com/reroll-dev/reroll/internal/inspect"
	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/workload"
)

// sight is what one reader may see, asked once for each page.
type sight struct {
	ctx    context.Context //nolint:containedctx // it lives as long as the request
	reader Reader
	known  map[scope]bool
	// resources are those of the kinds of workloads.
	resources map[string]string
	// whole are the namespaces of which the reader may read all workloads, or not.
	whole map[wholeOf]bool
}

type wholeOf struct {
	board     *inspect.Board
	namespace string
}

type scope struct{ namespace, resource string }

func newSight(ctx context.Context, reader Reader) *sight {
	return &sight{ctx: ctx, reader: reader, known: map[scope]bool{}, resources: map[string]string{}, whole: map[wholeOf]bool{}}
}

// may reports whether the reader may read a resource in a namespace. A reader who may read it in all
// namespaces needs one question.
func (s *sight) may(namespace, resource string) bool {
	return s.ask(scope{"", resource}) || namespace != "" && s.ask(scope{namespace, resource})
}

func (s *sight) ask(of scope) bool {
	may, known := s.known[of]
	if !known {
		may = s.reader.MayRead(s.ctx, of.namespace, of.resource)
		s.known[of] = may
	}
	return may
}

// together asks many questions at once, so that the answers of the API server are not awaited one
// after the other. A reader who may read a resource in all namespaces needs no further question.
func (s *sight) together(all []scope) {
	everywhere := map[scope]bool{}
	for _, of := range all {
		everywhere[scope{"", of.resource}] = true
	}
	s.askAll(everywhere)
	each := map[scope]bool{}
	for _, of := range all {
		if of.namespace != "" && !s.known[scope{"", of.resource}] {
			each[of] = true
		}
	}
	s.askAll(each)
}

// mostAtOnce bounds the questions of one page that wait. The reader bounds those in flight.
const mostAtOnce = 32

func (s *sight) askAll(all map[scope]bool) {
	var asking sync.WaitGroup
	var mu sync.Mutex
	answers, slots := map[scope]bool{}, make(chan struct{}, mostAtOnce)
	for of := range all {
		if _, known := s.known[of]; known {
			continue
		}
		slots <- struct{}{}
		asking.Go(func() {
			defer func() { <-slots }()
			may := s.reader.MayRead(s.ctx, of.namespace, of.resource)
			mu.Lock()
			defer mu.Unlock()
			answers[of] = may
		})
	}
	asking.Wait()
	maps.Copy(s.known, answers)
}

// workload reports whether the reader may read a workload.
func (s *sight) workload(f *inspect.Facts, key workload.Key) bool {
	return s.may(key.Namespace, s.resource(f, key.Kind))
}

func (s *sight) resource(f *inspect.Facts, kind string) string {
	resource, known := s.resources[kind]
	if !known {
		resource = resourceOf(f, kind)
		s.resources[kind] = resource
	}
	return resource
}

// scopes returns the scopes that the reader may read, and how many workloads are in the others.
func (s *sight) scopes(f *inspect.Facts) (all []*inspect.Scope, hidden int) {
	var questions []scope
	for i := range f.Board.Scopes {
		questions = append(questions, scope{f.Board.Scopes[i].Namespace, s.resource(f, f.Board.Scopes[i].Kind)})
	}
	s.together(questions)
	for i := range f.Board.Scopes {
		scope := &f.Board.Scopes[i]
		if s.workload(f, workload.Key{Kind: scope.Kind, Namespace: scope.Namespace}) {
			all = append(all, scope)
			continue
		}
		hidden += scope.OptedIn()
	}
	return all, hidden
}

// resourceOf returns the resource of a kind of workload, as RBAC rules name it.
func resourceOf(f *inspect.Facts, kind string) string {
	known, ok := f.Settings.Rules.Kinds.Named(kind)
	if !ok {
		return strings.ToLower(kind) // nobody has a permission for it
	}
	if known.Resource.Group == "" {
		return known.Resource.Resource
	}
	return known.Resource.Resource + "." + known.Resource.Group
}

// source reports whether the reader may read a kind of source.
func (s *sight) source(namespace string, kind source.Kind) bool {
	of := scopeOfSource(namespace, kind)
	return s.may(of.namespace, of.resource)
}

// scopeOfSource returns what a reader of a source must be allowed to read. A Role of a namespace may
// allow all resources, which does not cover those in no namespace.
func scopeOfSource(namespace string, kind source.Kind) scope {
	if kind.ClusterScoped() {
		namespace = ""
	}
	return scope{namespace, resourceOfSource(kind)}
}

func resourceOfSource(kind source.Kind) string {
	if group, _, qualified := strings.Cut(kind.APIVersion(), "/"); qualified {
		return kind.Resource() + "." + group
	}
	return kind.Resource()
}

// sources reports whether the reader may read all sources of a namespace that a text may name. A kind
// that the controller does not read has no names in its texts. After another start it may be in an
// earlier event, which then names the kind, too.
func (s *sight) sources(f *inspect.Facts, namespace, text string) bool {
	for _, kind := range source.Kinds() {
		if kind.Reported() || !f.Settings.Rules.ReadsSource(kind) && !strings.Contains(text, kind.String()) {
			continue
		}
		if !s.source(namespace, kind) {
			return false
		}
	}
	return true
}

// workloads reports whether the reader may read all workloads of a namespace, or of all namespaces if
// it is empty. A kind without workloads has no names.
func (s *sight) workloads(f *inspect.Facts, namespace string) bool {
	of := wholeOf{f.Board, namespace}
	whole, known := s.whole[of]
	if !known {
		whole = !slices.ContainsFunc(f.Board.In(namespace), func(scope inspect.Scope) bool {
			return !s.workload(f, workload.Key{Kind: scope.Kind, Namespace: scope.Namespace})
		})
		s.whole[of] = whole
	}
	return whole
}

// withheld replaces a text that names something that the reader may not read.
const withheld = "the explanation names objects that you may not read"

// detail returns the explanation of a state, if it names nothing that the reader may not read.
func (s *sight) detail(f *inspect.Facts, sum *inspect.Summary) string {
	if sum.Detail == "" || s.shows(f, sum, sum.Detail) {
		return sum.Detail
	}
	return withheld
}

// shows reports whether the reader may see a text about a workload.
func (s *sight) shows(f *inspect.Facts, sum *inspect.Summary, text string) bool {
	if !s.workloads(f, sum.Key.Namespace) {
		return false // the text may name a workload of another kind
	}
	for _, use := range sum.Sources {
		if !s.source(sum.Key.Namespace, use.Key.Kind) && strings.Contains(text, use.Key.Name) {
			return false
		}
	}
	for _, key := range sum.Others {
		if !s.source(sum.Key.Namespace, key.Kind) && strings.Contains(text, key.Name) {
			return false
		}
	}
	return sum.Gate != gate.Halted && !tellsHalt(f, text) || s.workloads(f, "")
}

// tellsHalt reports whether a text has the reason of a halt, which may name workloads of any namespace.
// That of a plan has it although the workload waits for nothing.
func tellsHalt(f *inspect.Facts, text string) bool {
	return f.Settings.Halted.Is() && strings.Contains(text, f.Settings.Halted.Why)
}
