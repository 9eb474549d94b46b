package access

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/utils/clock"
)

const (
	// allowedFor is how long a page may show what the reader may no longer read.
	allowedFor = 10 * time.Second
	// deniedFor is longer, because a late permission discloses nothing: most readers may read few of
	// many namespaces, and each page asks about all of them.
	deniedFor = 30 * time.Second
	// failedFor is how long a question without an answer is not repeated.
	failedFor = time.Second
	// permitsOfOne and permitsOfAll limit the answers in memory. A page asks about each kind of each
	// namespace.
	permitsOfOne, permitsOfAll = 10_000, 50_000
	// questionsAtOnce is how many questions of one reader are in flight, so that a reader with many
	// namespaces leaves room for others.
	questionsAtOnce = reviewsAtOnce / 2
)

// permits is what readers may read, for seconds.
type permits struct {
	reviewer reviewer
	clock    clock.Clock

	mu    sync.Mutex
	of    map[*identity]map[question]*answer
	count int
}

// question is whether a reader may list a resource of a namespace.
type question struct{ namespace, resource string }

// answer is complete when done is closed.
type answer struct {
	done    chan struct{}
	allowed bool
	until   time.Time
}

func newPermits(r reviewer, c clock.Clock) *permits {
	return &permits{reviewer: r, clock: c, of: map[*identity]map[question]*answer{}}
}

// allow reports whether the reader may list the resource. Without an answer, the reader may not.
func (p *permits) allow(ctx context.Context, id *identity, q question) bool {
	if q.resource == "" || q.namespace != "" && len(validation.IsDNS1123Label(q.namespace)) > 0 {
		return false // no such namespace can exist
	}
	a := p.known(id, q)
	if a == nil {
		select {
		case id.questions <- struct{}{}:
		case <-ctx.Done():
			return false
		}
		a = p.ask(ctx, id, q)
	}
	select {
	case <-a.done:
		return a.allowed && id.ended.Err() == nil
	case <-ctx.Done():
		return false
	case <-id.ended.Done():
		return false
	}
}

// known returns the answer, which may still be on its way, or nil if nobody asked lately.
func (p *permits) known(id *identity, q question) *answer {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.knownLocked(id, q)
}

func (p *permits) knownLocked(id *identity, q question) *answer {
	if a := p.of[id][q]; a != nil && p.isFresh(a) {
		return a
	}
	return nil
}

// ask sends the question, unless another request has sent it meanwhile. The caller has taken a place
// in id.questions, which the answer frees.
func (p *permits) ask(ctx context.Context, id *identity, q question) *answer {
	p.mu.Lock()
	defer p.mu.Unlock()
	if a := p.knownLocked(id, q); a != nil {
		<-id.questions
		return a
	}
	p.makeRoomLocked(id)
	if p.of[id] == nil {
		p.of[id] = map[question]*answer{}
	}
	if p.of[id][q] == nil {
		p.count++
	}
	a := &answer{done: make(chan struct{})}
	p.of[id][q] = a
	// The first request may be canceled, and the others still want the answer.
	go p.find(context.WithoutCancel(ctx), id, q, a)
	return a
}

// makeRoomLocked forgets an answer of the reader, if the reader has too many, or else one of the reader
// with the most. Any will do: to forget all would mean that a page with too many questions asks all of
// them each time.
func (p *permits) makeRoomLocked(id *identity) {
	switch {
	case len(p.of[id]) >= permitsOfOne:
	case p.count >= permitsOfAll:
		for other := range p.of {
			if len(p.of[other]) > len(p.of[id]) {
				id = other
			}
		}
	default:
		return
	}
	for q := range p.of[id] {
		delete(p.of[id], q)
		p.count--
		return
	}
}

func (p *permits) isFresh(a *answer) bool {
	select {
	case <-a.done:
		return p.clock.Now().Before(a.until)
	default:
		return true
	}
}

func (p *permits) find(ctx context.Context, id *identity, q question, a *answer) {
	defer close(a.done)
	defer func() { <-id.questions }()
	allowed, err := p.reviewer.allows(ctx, id.user.Load(), q.namespace, q.resource)
	kept := deniedFor
	switch {
	case err != nil:
		allowed, kept = false, failedFor
	case allowed:
		kept = allowedFor
	}
	a.allowed, a.until = allowed, p.clock.Now().Add(kept)
}

// drop forgets what a reader may read.
func (p *permits) drop(id *identity) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dropLocked(id)
}

func (p *permits) dropLocked(id *identity) {
	p.count -= len(p.of[id])
	delete(p.of, id)
}
