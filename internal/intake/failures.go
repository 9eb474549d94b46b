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

// outOfReach reports whether the server cannot continue from a version, because it has expired, is
// unknown, or is invalid. A retry would fail in the same way.
func outOfReach(err error) bool {
	return apierrors.IsResourceExpired(err) || apierrors.IsGone(err) || tooLarge(err) ||
		apierrors.IsBadRequest(err) || apierrors.IsInvalid(err) || errors.Is(err, errWentBack)
}

// tooLarge reports whether the server does not know a version yet. Before Kubernetes 1.19, only the
// message shows it.
func tooLarge(err error) bool {
	return apierrors.HasStatusCause(err, metav1.CauseTypeResourceVersionTooLarge) ||
		apierrors.IsTimeout(err) && strings.Contains(err.Error(), "Too large resource version")
}

// longestDemand bounds Retry-After, because a wrong value could stop the watch for good.
const longestDemand = 5 * time.Minute

// demanded is the delay that the server requests in Retry-After.
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

// next is between the delay and twice the delay, so that the clients of a server that restarts do
// not all return at once.
func (b *backoff) next() time.Duration {
	delay := max(b.delay, firstDelay)
	b.delay = min(2*delay, lastDelay)
	return delay + rand.N(delay) //nolint:gosec // no secret
}

func (b *backoff) reset() { b.delay = 0 }

// reportedFailures are the failures that were passed to Failed since a watch last worked.
type reportedFailures struct{ texts map[string]struct{} }

// maxReported bounds the memory during an outage in which every error has another text.
const maxReported = 50

// first reports whether an error was not reported yet. Digits are ignored, because ports, versions
// and durations make new texts of the same failure.
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
