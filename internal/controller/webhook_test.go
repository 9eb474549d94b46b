package controller

import (
	"context"
	"errors"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// listener takes what it is sent, unless it refuses.
type listener struct {
	asked   int
	taken   []News
	refuses error
}

// Send implements Receiver.
func (l *listener) Send(_ context.Context, news []News) error {
	l.asked++
	if l.refuses == nil {
		l.taken = append(l.taken, news...)
	}
	return l.refuses
}

func newToldStage(t *testing.T) (*stage, *listener) {
	t.Helper()
	s, l := newStage(t), &listener{}
	s.opts.Receiver = l
	s.add("web", true, "")
	s.play(3 * time.Second)
	return s, l
}

// tell plays, and sends what is due, until so much time is over.
func (s *stage) tell(within time.Duration) {
	for end := s.clock.Now().Add(within); s.clock.Now().Before(end); {
		s.play(100 * time.Millisecond)
		if keys := s.news.due(mostNews); len(keys) > 0 {
			s.tellOf(s.Context(), s.Context(), keys)
			for _, key := range keys {
				s.news.done(key)
			}
		}
	}
}

func TestWhatWasTakenIsNotSentAgainHoweverLateTheLedgerIs(t *testing.T) {
	for about, refusal := range map[string]error{
		"the write fails":      errors.New("etcd is away"),
		"there is a newer one": apierrors.NewConflict(schema.GroupResource{Resource: "deployments"}, "web", errors.New("changed")),
	} {
		t.Run(about, func(t *testing.T) {
			s, l := newToldStage(t)
			s.edit("web", "2")
			s.refuses = refusal
			s.tell(time.Minute)
			if l.asked != 1 {
				t.Fatalf("it was sent %d times while the ledger could not be written", l.asked)
			}
			s.refuses = nil
			s.tell(lastRetry)
			patched := s.patched
			s.tell(time.Minute)
			if l.asked != 1 || s.news.depth() != 0 || s.patched != patched || len(s.accepted) != 0 {
				t.Errorf("sent %d times; %d wait, %d writes more, %d kept in memory", l.asked, s.news.depth(), s.patched-patched, len(s.accepted))
			}
		})
	}
}

func TestWhatChangesBeforeItWasTakenIsSentAsItIsThen(t *testing.T) {
	s, l := newToldStage(t)
	l.refuses = errors.New("it answered 500")
	s.edit("web", "2")
	s.tell(10 * time.Minute)
	if l.asked < 5 || l.asked > 15 {
		t.Errorf("in ten minutes it was asked %d times", l.asked)
	}
	s.edit("web", "3")
	l.refuses = nil
	asked := l.asked
	s.tell(3 * time.Second)
	if l.asked != asked+1 || len(l.taken) != 1 {
		t.Fatalf("what changed meanwhile was sent %d times, and waited for the failures before", l.asked-asked)
	}
	s.tell(time.Hour)
	if l.asked != asked+1 || s.news.depth() != 0 {
		t.Errorf("it was sent %d times, %d wait", l.asked-asked, s.news.depth())
	}
}

func TestAChangeThatWasTakenBackIsNotSent(t *testing.T) {
	s, l := newToldStage(t)
	l.refuses = errors.New("it answered 500")
	s.edit("web", "2")
	s.tell(time.Minute)
	s.edit("web", "1")
	l.refuses = nil
	s.tell(lastRetry)
	if len(l.taken) != 0 || s.news.depth() != 0 {
		t.Errorf("%d were told, %d wait", len(l.taken), s.news.depth())
	}
}

func TestAWorkloadThatGoesIsNotToldOf(t *testing.T) {
	s, l := newToldStage(t)
	l.refuses = errors.New("it answered 500")
	s.edit("web", "2")
	s.tell(time.Minute)
	s.deployments().del(inShop("web"), "")
	l.refuses = nil
	s.tell(lastRetry)
	if len(l.taken) != 0 || s.news.depth() != 0 || len(s.news.tries) != 0 || len(s.accepted) != 0 {
		t.Errorf("%d were told, %d wait, %d tries are kept", len(l.taken), s.news.depth(), len(s.news.tries))
	}
}
