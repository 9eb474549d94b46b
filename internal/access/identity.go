package access

import (
	"context"
	"crypto/sha256"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	"k8s.io/apimachinery/pkg/api/equality"
)

// fingerprint stands for a token or a session ID in a map, so that a lookup does not take longer
// for a value that resembles a valid one.
type fingerprint [sha256.Size]byte

func fingerprintOf(secret string) fingerprint { return sha256.Sum256([]byte(secret)) }

// identity is a token that the API server accepts, and its user. The token is kept for the next
// review, only in memory.
type identity struct {
	token string
	key   fingerprint
	user  atomic.Pointer[authenticationv1.UserInfo]
	// ended is done when the token is no longer accepted here, which ends its requests.
	ended context.Context //nolint:containedctx // it has no parent: a token outlives the request that brought it
	end   context.CancelFunc
	// questions are those to the API server in flight.
	questions chan struct{}

	// reviewing is held during a review, so that one review answers all requests that wait for it.
	reviewing sync.Mutex
	reviewed  time.Time

	// The following is guarded by readers.mu. The sessions are in the order of their start.
	used     time.Time
	sessions []*session
	// requests is the number of requests in progress.
	requests int
}

func newIdentity(token string, user authenticationv1.UserInfo, now time.Time) *identity {
	id := &identity{
		token: token, key: fingerprintOf(token), reviewed: now, used: now,
		questions: make(chan struct{}, questionsAtOnce),
	}
	id.user.Store(&user)
	id.ended, id.end = context.WithCancel(context.Background())
	return id
}

func (id *identity) name() string { return id.user.Load().Username }

// review reviews a token again if its last review is too long ago. If the API server rejects the
// token, its sessions end. If the API server does not answer, the request fails, and the next one
// tries again.
func (r *readers) review(ctx context.Context, id *identity) error {
	id.reviewing.Lock()
	defer id.reviewing.Unlock()
	if id.ended.Err() != nil {
		return errRejected
	}
	if r.clock.Since(id.reviewed) < reviewEvery {
		return nil
	}
	user, err := r.reviewer.whose(ctx, id.token)
	if err == nil && user.Username != id.name() {
		err = errRejected
	}
	if err != nil {
		if errors.Is(err, errRejected) {
			r.drop(id)
		}
		return err
	}
	if !equality.Semantic.DeepEqual(&user, id.user.Load()) {
		// The groups of the user have changed, and with them what the user may read.
		id.user.Store(&user)
		r.permits.drop(id)
	}
	id.reviewed = r.clock.Now()
	return nil
}
