package controller

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
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/clock"
)

// offers is which versions of which groups the API server serves. One request tells it for all kinds. Nobody tells when it
// changes, and most of what is not installed never will be: so it is asked for ever more seldom, as long as the answer is the
// same.
type offers struct {
	client kubernetes.Interface
	clock  clock.PassiveClock

	mu     sync.Mutex
	served map[string]struct{} // by "group/version"; nil before the first answer
	asked  time.Time
	every  time.Duration
	// refused is why what is served is not to be watched all the same, until it is asked for again.
	refused map[offered]*apierrors.StatusError
}

// offered is a kind, in one namespace or in all.
type offered struct {
	kind      schema.GroupVersionKind
	namespace string
}

const (
	// askedSoon is how long an answer counts after it was another one than before, and askedSeldom at most.
	askedSoon   = 20 * time.Second
	askedSeldom = time.Minute
)

// serves tells whether a version of a group is served.
func (o *offers) serves(ctx context.Context, version schema.GroupVersion) (bool, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.served == nil || o.clock.Since(o.asked) >= o.every {
		if err := o.ask(ctx); err != nil {
			return false, err
		}
	}
	_, is := o.served[version.String()]
	return is, nil
}

// ask wants the short list, and not what a client library asks for: all resources of all groups.
func (o *offers) ask(ctx context.Context) error {
	raw, err := o.client.Discovery().RESTClient().Get().AbsPath("/apis").SetHeader("Accept", "application/json").Do(ctx).Raw()
	if err != nil {
		return fmt.Errorf("ask which APIs are served: %w", err)
	}
	var list metav1.APIGroupList
	if err := json.Unmarshal(raw, &list); err != nil {
		return fmt.Errorf("read which APIs are served: %w", err)
	}
	now := map[string]struct{}{}
	news := false
	for i := range list.Groups {
		for _, version := range list.Groups[i].Versions {
			now[version.GroupVersion] = struct{}{}
			_, known := o.served[version.GroupVersion]
			news = news || !known
		}
	}
	if news || len(now) != len(o.served) {
		o.every = askedSoon
	} else {
		o.every = min(2*o.every, askedSeldom)
	}
	o.served, o.asked, o.refused = now, o.clock.Now(), map[offered]*apierrors.StatusError{}
	return nil
}

// forget has it asked again at once: something has turned out to be otherwise.
func (o *offers) forget() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.served = nil
}

// refuse notes why a kind is not to be watched, and returns it with when to ask again.
func (o *offers) refuse(of offered, err *apierrors.StatusError) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.refused != nil {
		o.refused[of] = err
	}
	return o.later(err)
}

// why returns what was noted since it was last asked.
func (o *offers) why(of offered) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err, is := o.refused[of]; is {
		return o.later(err)
	}
	return nil
}

// later adds when the next answer is due.
func (o *offers) later(err *apierrors.StatusError) error {
	err = &apierrors.StatusError{ErrStatus: *err.ErrStatus.DeepCopy()}
	left := o.every - o.clock.Since(o.asked)
	err.ErrStatus.Details.RetryAfterSeconds = max(int32(math.Ceil(left.Seconds())), 1)
	return err
}
