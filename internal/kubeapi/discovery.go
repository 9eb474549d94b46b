package kubeapi

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"

	"github.com/reroll-dev/reroll/internal/clientset"
)

// discovery is which versions of which groups the API server serves. One request answers that for
// all kinds. No watch reports changes, and most missing kinds are never installed. So the longer
// the response stays the same, the less often it is requested.
type discovery struct {
	client clientset.Interface
	clock  clock.PassiveClock

	mu sync.Mutex
	// inFlight is closed when the request in flight has ended; nil without one. The lock is not
	// held during the request.
	inFlight chan struct{}
	// forgotten counts the calls of forget, so that the response to an older request is dropped.
	forgotten   int
	served      map[string]struct{} // by "group/version"; nil before the first answer
	requestedAt time.Time
	every       time.Duration
	// refused is why a served kind cannot be watched, until the next discovery.
	refused map[servedKind]*apierrors.StatusError
}

// servedKind is a kind, in one namespace or in all.
type servedKind struct {
	kind      schema.GroupVersionKind
	namespace string
}

const (
	// recheckSoon is how long a response is cached after a change, and recheckSeldom the maximum.
	recheckSoon   = 20 * time.Second
	recheckSeldom = time.Minute
)

// serves reports whether a version of a group is served. While a request is in flight, other
// callers use the previous response, or wait for the first one.
func (o *discovery) serves(ctx context.Context, version schema.GroupVersion) (bool, error) {
	for {
		is, known, inFlight := o.known(version)
		if known {
			return is, nil
		}
		if inFlight == nil {
			now, err := o.ask(ctx)
			if err != nil || now != nil {
				_, is = now[version.String()]
				return is, err
			}
			continue // it was forgotten in the meantime
		}
		select {
		case <-inFlight:
		case <-ctx.Done():
			return false, fmt.Errorf("discover the API groups: %w", ctx.Err())
		}
	}
}

// known returns the cached response, if it is still valid. If it is not, and no request is in
// flight, the caller has to send one.
func (o *discovery) known(version schema.GroupVersion) (is, known bool, inFlight <-chan struct{}) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.served != nil && (o.inFlight != nil || o.clock.Since(o.requestedAt) < o.every) {
		_, is = o.served[version.String()]
		return is, true, nil
	}
	if o.inFlight != nil {
		return false, false, o.inFlight
	}
	o.inFlight = make(chan struct{})
	return false, false, nil
}

// ask sends the request, caches the response, and wakes the callers that wait for it. It returns
// nil if the cache was invalidated in the meantime.
func (o *discovery) ask(ctx context.Context) (map[string]struct{}, error) {
	o.mu.Lock()
	before := o.forgotten
	o.mu.Unlock()
	now, err := o.request(ctx)
	o.mu.Lock()
	defer o.mu.Unlock()
	close(o.inFlight)
	o.inFlight = nil
	if err != nil || o.forgotten != before {
		return nil, err
	}
	o.take(now)
	return now, nil
}

// request requests the list of groups only, and not all resources of all groups as client libraries
// do.
func (o *discovery) request(ctx context.Context) (map[string]struct{}, error) {
	raw, err := o.client.Discovery().Get().AbsPath("/apis").SetHeader("Accept", "application/json").Do(ctx).Raw()
	if err != nil {
		return nil, fmt.Errorf("discover the API groups: %w", err)
	}
	var list metav1.APIGroupList
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, fmt.Errorf("decode the API groups: %w", err)
	}
	now := map[string]struct{}{}
	for i := range list.Groups {
		for _, version := range list.Groups[i].Versions {
			now[version.GroupVersion] = struct{}{}
		}
	}
	return now, nil
}

// take caches a response. The caller holds o.mu.
func (o *discovery) take(now map[string]struct{}) {
	changed := o.served == nil || len(now) != len(o.served)
	for version := range now {
		_, known := o.served[version]
		changed = changed || !known
	}
	if changed {
		o.every = recheckSoon
	} else {
		o.every = min(2*o.every, recheckSeldom)
	}
	o.served, o.requestedAt, o.refused = now, o.clock.Now(), map[servedKind]*apierrors.StatusError{}
}

// forget invalidates the cache, because the latest response turned out to be wrong.
func (o *discovery) forget() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.served = nil
	o.forgotten++
}

// refuse notes why a kind is not to be watched, and returns it with when to ask again.
func (o *discovery) refuse(of servedKind, err *apierrors.StatusError) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.refused != nil {
		o.refused[of] = err
	}
	return o.later(err)
}

// why returns what was noted since the last call.
func (o *discovery) why(of servedKind) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err, is := o.refused[of]; is {
		return o.later(err)
	}
	return nil
}

// later adds when the next answer is due.
func (o *discovery) later(err *apierrors.StatusError) error {
	err = &apierrors.StatusError{ErrStatus: *err.ErrStatus.DeepCopy()}
	left := o.every - o.clock.Since(o.requestedAt)
	err.ErrStatus.Details.RetryAfterSeconds = max(int32(math.Ceil(left.Seconds())), 1)
	return err
}
