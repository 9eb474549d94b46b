package access

import (
	"context"
	"crypto/rand"
	"slices"
	"time"
)

const (
	// sessionIdle and sessionLasts are when a session ends: so long after its last request, and so
	// long after its start.
	sessionIdle, sessionLasts = time.Hour, 12 * time.Hour
	// sessionsOfOne limits the sessions of one token.
	sessionsOfOne = 20
)

// session is a browser that has shown a token once. Its ID is a random text in a cookie.
type session struct {
	key           fingerprint
	id            *identity
	started, used time.Time
	// requests is the number of requests in progress.
	requests int
	// ended ends the requests of this session.
	ended context.Context //nolint:containedctx // a session outlives the request that has started it
	end   context.CancelFunc
}

// start starts a session and returns its ID. If the token has too many, its oldest session ends.
func (r *readers) start(id *identity) (secret string, err error) {
	secret = rand.Text() + rand.Text()
	now := r.clock.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	if id.ended.Err() != nil {
		return "", errRejected // it was dropped a moment ago
	}
	s := &session{key: fingerprintOf(secret), id: id, started: now, used: now}
	s.ended, s.end = context.WithCancel(id.ended)
	if len(id.sessions) >= sessionsOfOne {
		r.endLocked(id.sessions[0])
	}
	r.sessions[s.key] = s
	id.sessions, id.used = append(id.sessions, s), now
	return secret, nil
}

// session returns the session with this ID, or nil if there is none or it has ended.
func (r *readers) session(secret string) *session {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.sessions[fingerprintOf(secret)]
	if s == nil {
		return nil
	}
	now := r.clock.Now()
	if s.isOver(now) {
		r.endLocked(s)
		return nil
	}
	s.used, s.id.used = now, now
	return s
}

func (s *session) isOver(now time.Time) bool {
	return now.Sub(s.used) >= sessionIdle || now.Sub(s.started) >= sessionLasts
}

// signOut ends a session. The token is forgotten with its last session.
func (r *readers) signOut(secret string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.sessions[fingerprintOf(secret)]
	if s == nil {
		return
	}
	r.endLocked(s)
	if len(s.id.sessions) == 0 {
		r.dropLocked(s.id)
	}
}

func (r *readers) expireLocked(id *identity, now time.Time) {
	for _, s := range slices.Clone(id.sessions) {
		if s.requests > 0 {
			s.used = now
		}
		if s.isOver(now) {
			r.endLocked(s)
		}
	}
}

func (r *readers) endLocked(s *session) {
	s.end()
	delete(r.sessions, s.key)
	s.id.sessions = slices.DeleteFunc(s.id.sessions, func(other *session) bool { return other == s })
}
