package intake

import (
	"errors"
	"math/rand/v2"
	"strings"
	"time"
	"unicode"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// outOfReach reports whether the server cannot go on from a version: it has forgotten what came after it, does not know it,
// or cannot make sense of it. Trying again would be answered the same.
func outOfReach(err error) bool {
	return apierrors.IsResourceExpired(err) || apierrors.IsGone(err) || tooLarge(err) ||
		apierrors.IsBadRequest(err) || apierrors.IsInvalid(err) || errors.Is(err, errWentBack)
}

// tooLarge reports whether the server has not seen a version yet. Before Kubernetes 1.19, only the message shows it.
func tooLarge(err error) bool {
	return apierrors.HasStatusCause(err, metav1.CauseTypeResourceVersionTooLarge) ||
		apierrors.IsTimeout(err) && strings.Contains(err.Error(), "Too large resource version")
}

// longestDemand bounds what a server may ask for: past it, a wrong answer would be as bad as none.
const longestDemand = 5 * time.Minute

// demanded is how long the server asks to be left alone (Retry-After).
func demanded(err error) time.Duration {
	seconds, _ := apierrors.SuggestsClientDelay(err)
	return min(time.Duration(seconds)*time.Second, longestDemand)
}

const (
	firstDelay = 200 * time.Millisecond
	lastDelay  = 15 * time.Second
)

// backoff grows with each failure in a row.
type backoff struct{ delay time.Duration }

// next is between its delay and twice that, so that many clients of a server that comes back do not come as one.
func (b *backoff) next() time.Duration {
	delay := max(b.delay, firstDelay)
	b.delay = min(2*delay, lastDelay)
	return delay + rand.N(delay) //nolint:gosec // no secret
}

func (b *backoff) reset() { b.delay = 0 }

// told is what was reported to Failed since something worked.
type reportedFailures struct{ texts map[string]struct{} }

// maxReported bounds the memory in an outage with ever new texts.
const maxReported = 50

// first reports whether an error is not one of those. Digits do not count: ports, versions and durations make a new text
// of the same failure.
func (t *reportedFailures) first(err error) bool {
	text := strings.Map(func(r rune) rune {
		if unicode.IsDigit(r) {
			return -1
		}
		return r
	}, err.Error())
	if _, ok := t.texts[text]; ok {
		return false
	}
	if t.texts == nil || len(t.texts) >= maxReported {
		t.texts = map[string]struct{}{}
	}
	t.texts[text] = struct{}{}
	return true
}

func (t *reportedFailures) forget() { t.texts = nil }
