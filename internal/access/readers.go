package access

import (
	"context"
	"strings"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

const (
	// reviewEvery is how long a token that was revoked is still accepted, and how long a token
	// without a session is kept after its last request.
	reviewEvery = time.Minute
	// identitiesOfOne and identitiesOfAll limit the accepted tokens in memory. A user may create any
	// number of tokens of one ServiceAccount.
	identitiesOfOne, identitiesOfAll = 20, 500
	// requestsAtOnce limits the requests in progress for one token. Most of them are live updates.
	requestsAtOnce = 50
)

// readers are the tokens that the API server accepts, and their sessions.
type readers struct {
	reviewer reviewer
	permits  *permits
	clock    clock.WithDelayedExecution

	mu       sync.Mutex
	all      map[fingerprint]*identity
	sessions map[fingerprint]*session
	// tending reports that a timer is set. It is set while there are readers.
	tending bool
}

func newReaders(api Reviews, c clock.WithDelayedExecution) *readers {
	r := newReviewer(api)
	return &readers{
		reviewer: r, permits: newPermits(r, c), clock: c,
		all: map[fingerprint]*identity{}, sessions: map[fingerprint]*session{},
	}
}

// known returns the identity of a token that was accepted before, or nil.
func (r *readers) known(token string) *identity {
	r.mu.Lock()
	defer r.mu.Unlock()
	id := r.all[fingerprintOf(token)]
	if id != nil {
		id.used = r.clock.Now()
	}
	return id
}

// accept asks the API server about a new token.
func (r *readers) accept(ctx context.Context, token string) (*identity, error) {
	user, err := r.reviewer.whose(ctx, token)
	if err != nil {
		return nil, err
	}
	now := r.clock.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	if id := r.all[fingerprintOf(token)]; id != nil {
		return id, nil // another request was faster
	}
	r.makeRoomLocked(user.Username)
	id := newIdentity(token, user, now)
	r.all[id.key] = id
	if !r.tending {
		r.tendLaterLocked()
	}
	return id, nil
}

// makeRoomLocked drops the token that was not used for the longest time: one of the user, if the
// user has too many. If all readers together have too many, it drops one of the tenant with the most,
// so that no tenant can sign out others. A reader with an open page uses the token all the time.
func (r *readers) makeRoomLocked(user string) {
	ofUser, ofTenant, most := 0, map[string]int{}, 0
	for _, id := range r.all {
		if id.name() == user {
			ofUser++
		}
		of := tenant(id.name())
		ofTenant[of]++
		most = max(most, ofTenant[of])
	}
	switch {
	case ofUser >= identitiesOfOne:
		r.dropOldestLocked(func(name string) bool { return name == user })
	case len(r.all) >= identitiesOfAll:
		r.dropOldestLocked(func(name string) bool { return ofTenant[tenant(name)] == most })
	}
}

// dropOldestLocked drops the token that was not used for the longest time, of those of some users.
func (r *readers) dropOldestLocked(of func(user string) bool) {
	var oldest *identity
	for _, id := range r.all {
		if of(id.name()) && (oldest == nil || id.used.Before(oldest.used)) {
			oldest = id
		}
	}
	if oldest != nil {
		r.dropLocked(oldest)
	}
}

// tenant returns the namespace of a ServiceAccount, or else the user. Whoever may create tokens in a
// namespace can create any number of ServiceAccounts there.
func tenant(user string) string {
	account, is := strings.CutPrefix(user, "system:serviceaccount:")
	if !is {
		return "user " + user
	}
	namespace, _, _ := strings.Cut(account, ":")
	return "namespace " + namespace
}

// drop forgets a token. Its sessions and its requests in progress end.
func (r *readers) drop(id *identity) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.dropLocked(id)
}

func (r *readers) dropLocked(id *identity) {
	id.end()
	delete(r.all, id.key)
	for _, s := range id.sessions {
		delete(r.sessions, s.key)
	}
	id.sessions = nil
	r.permits.drop(id)
}

// begin counts a request, and returns false if the reader has too many in progress. A bearer token
// has no session.
func (r *readers) begin(id *identity, s *session) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if id.requests >= requestsAtOnce {
		return false
	}
	id.requests++
	if s != nil {
		s.requests++
	}
	return true
}

func (r *readers) finish(id *identity, s *session) {
	r.mu.Lock()
	defer r.mu.Unlock()
	id.requests--
	if s != nil {
		s.requests--
	}
}

func (r *readers) tendLaterLocked() {
	r.tending = true
	r.clock.AfterFunc(reviewEvery, func() { go r.tend() })
}

// tend forgets what is no longer needed, and reviews the tokens with requests in progress, since
// live updates may last for hours. It repeats that while there are readers.
func (r *readers) tend() {
	r.mu.Lock()
	now := r.clock.Now()
	var inUse []*identity
	for _, id := range r.all {
		if id.requests > 0 {
			id.used = now
			inUse = append(inUse, id)
		}
		r.expireLocked(id, now)
		if len(id.sessions) == 0 && now.Sub(id.used) >= reviewEvery {
			r.dropLocked(id)
		}
	}
	if r.tending = len(r.all) > 0; r.tending {
		r.tendLaterLocked()
	}
	r.mu.Unlock()
	for _, id := range inUse {
		// Without an answer, the next round asks again.
		go func() { _ = r.review(context.Background(), id) }()
	}
}
