package access

import (
	"net/netip"
	"sync"

	"golang.org/x/time/rate"
	"k8s.io/utils/clock"
)

const (
	// wrongBurst is how many wrong tokens an address may send at once, and wrongPerSecond how many
	// afterwards.
	wrongBurst, wrongPerSecond = 10, 0.2
	// newPerSecond and newBurst limit the tokens of all addresses that the API server is asked about
	// for the first time.
	newPerSecond, newBurst = 20, 100
	// addresses is how many addresses with wrong tokens are remembered.
	addresses = 1_000
)

// attempts limits wrong tokens. A token that is already accepted passes without it, so nobody is
// signed out by the attempts of others.
type attempts struct {
	clock clock.Clock
	all   *rate.Limiter

	mu    sync.Mutex
	wrong map[netip.Prefix]*rate.Limiter
}

func newAttempts(c clock.Clock) *attempts {
	return &attempts{clock: c, all: rate.NewLimiter(newPerSecond, newBurst), wrong: map[netip.Prefix]*rate.Limiter{}}
}

// admit reports whether the API server may be asked about a token from the address.
func (a *attempts) admit(remote string) bool {
	a.mu.Lock()
	of := a.wrong[network(remote)]
	a.mu.Unlock()
	now := a.clock.Now()
	if of != nil && of.TokensAt(now) < 1 {
		return false
	}
	return a.all.AllowN(now, 1)
}

// failed counts a wrong token.
func (a *attempts) failed(remote string) {
	now, key := a.clock.Now(), network(remote)
	a.mu.Lock()
	defer a.mu.Unlock()
	of := a.wrong[key]
	if of == nil {
		a.makeRoomLocked()
		of = rate.NewLimiter(wrongPerSecond, wrongBurst)
		a.wrong[key] = of
	}
	of.AllowN(now, 1)
}

// makeRoomLocked forgets the addresses that may send as many wrong tokens as a new one. If there is
// none, it forgets any.
func (a *attempts) makeRoomLocked() {
	if len(a.wrong) < addresses {
		return
	}
	now := a.clock.Now()
	for key, of := range a.wrong {
		if of.TokensAt(now) >= wrongBurst {
			delete(a.wrong, key)
		}
	}
	for key := range a.wrong {
		if len(a.wrong) < addresses {
			return
		}
		delete(a.wrong, key)
	}
}

// network returns the address that a client cannot easily change: with IPv6, a client has all
// addresses of a network of 64 bits.
func network(remote string) netip.Prefix {
	from, err := netip.ParseAddrPort(remote)
	if err != nil {
		return netip.Prefix{}
	}
	address := from.Addr().Unmap()
	bits := 32
	if address.Is6() {
		bits = 64
	}
	prefix, _ := address.Prefix(bits)
	return prefix
}
