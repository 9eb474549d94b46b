package permissions

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/reroll-dev/reroll/internal/clientset"
)

// Guard watches the permissions of the controller. It checks them at the start and after a
// forbidden request. While a required permission is missing, it checks that regularly.
type Guard struct {
	all    []Permission
	clock  clock.Clock
	log    *slog.Logger
	refuse chan struct{}

	mu       sync.Mutex
	checked  bool
	missing  []Permission
	reported string
}

// NewGuard returns a Guard that has checked nothing yet.
func NewGuard(all []Permission, c clock.Clock, log *slog.Logger) *Guard {
	return &Guard{all: all, clock: c, log: log, refuse: make(chan struct{}, 1)}
}

const (
	// askEvery is the time between two checks while a permission is missing.
	askEvery = 15 * time.Second
	// askRarely is the minimum time between two checks after requests that were forbidden for other
	// reasons than missing permissions, such as a quota or an admission rule: they look the same,
	// and may last for ever.
	askRarely = 10 * time.Minute
)

// Run checks until the context ends.
func (g *Guard) Run(ctx context.Context, client clientset.Interface) {
	pause := askEvery
	for {
		found := false
		for g.check(ctx, client) {
			found = true
			if !g.wait(ctx, askEvery) {
				return
			}
		}
		if pause = min(2*pause, askRarely); found {
			pause = askEvery
		}
		if !g.wait(ctx, pause) {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-g.refuse:
		}
	}
}

// wait returns false if the context ended first.
func (g *Guard) wait(ctx context.Context, d time.Duration) bool {
	timer := g.clock.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C():
		return true
	}
}

// check checks the permissions, and reports whether to check again although nothing is forbidden.
func (g *Guard) check(ctx context.Context, client clientset.Interface) (again bool) {
	// While the first of them is missing, the others need not be checked.
	if needed := g.needed(); len(needed) > 0 {
		if allowed, err := Allowed(ctx, client, needed[0]); err != nil || !allowed {
			return true
		}
	}
	missing, err := Missing(ctx, client, g.all)
	if ctx.Err() != nil {
		return false
	}
	if err != nil {
		g.log.Debug("could not check all permissions", "error", err.Error())
	}
	g.report(missing)
	return len(g.needed()) > 0
}

func (g *Guard) needed() []Permission {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(g.missing), func(r Permission) bool { return r.Without != "" })
}

// report logs the missing permissions, once for as long as they stay the same.
func (g *Guard) report(missing []Permission) {
	g.mu.Lock()
	before := g.reported
	g.checked, g.missing = true, missing
	g.reported = strings.Join(sentences(missing), "\n")
	same := g.reported == before
	g.mu.Unlock()
	if same {
		return
	}
	for _, text := range sentences(g.needed()) {
		g.log.Error(text, "ready", false)
	}
	var reasons []string
	for _, r := range missing {
		if r.Without != "" && !slices.Contains(reasons, r.Without) {
			reasons = append(reasons, r.Without)
		}
	}
	for _, reason := range reasons {
		for _, text := range sentences(slices.DeleteFunc(slices.Clone(missing), func(r Permission) bool { return r.Without != reason })) {
			g.log.Warn(text, "without", reason)
		}
	}
	if len(missing) == 0 {
		g.log.Info("all permissions that were missing are granted now")
	}
}

// Err returns which required permissions are missing, and the rules to add.
func (g *Guard) Err() error {
	g.mu.Lock()
	checked := g.checked
	g.mu.Unlock()
	if !checked {
		return errors.New("the permissions have not been checked yet")
	}
	if needed := g.needed(); len(needed) > 0 {
		return errors.New(strings.Join(sentences(needed), "\n"))
	}
	return nil
}

// Missing lists all missing permissions, and the rules to add; empty if nothing is missing.
func (g *Guard) Missing() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.reported
}

// Over has the guard see what a client is refused.
func (g *Guard) Over(next http.RoundTripper) http.RoundTripper { return refusals{next, g} }

type refusals struct {
	next  http.RoundTripper
	guard *Guard
}

// RoundTrip implements http.RoundTripper.
func (r refusals) RoundTrip(request *http.Request) (*http.Response, error) {
	answer, err := r.next.RoundTrip(request)
	if err == nil && answer.StatusCode == http.StatusForbidden {
		select {
		case r.guard.refuse <- struct{}{}:
		default:
		}
	}
	return answer, err
}
