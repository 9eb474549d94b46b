package controller

import (
	"context"
	"errors"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/reroll-dev/reroll/internal/kinds"
	"github.com/reroll-dev/reroll/internal/ledger"
	"github.com/reroll-dev/reroll/internal/workload"
	"github.com/reroll-dev/reroll/internal/workqueue"
	"github.com/reroll-dev/reroll/test/simapi"
)

// listener takes what it is sent, unless it refuses.
type listener struct {
	asked   int
	taken   []Notification
	refuses error
	// judges reports whether it refuses a message, nil if it does not.
	judges func([]Notification) error
}

// Send implements Receiver.
func (l *listener) Send(_ context.Context, notifications []Notification) error {
	l.asked++
	err := l.refuses
	if err == nil && l.judges != nil {
		err = l.judges(notifications)
	}
	if err == nil {
		l.taken = append(l.taken, notifications...)
	}
	return err
}

func newToldStage(t *testing.T) (*stage, *listener) {
	t.Helper()
	s, l := newStage(t), &listener{}
	s.opts().Receiver, s.opts().NotifyOnly = l, true
	s.add("web", true, "")
	s.play(3 * time.Second)
	return s, l
}

func (s *stage) sendDue(keys []workload.Key) {
	for i, result := range s.controller.sendMessages(s.Context(), s.Context(), nil, keys) {
		s.messages().Finish(keys[i], result)
	}
}

// tell lets time pass, and sends the due messages.
func (s *stage) tell(within time.Duration) {
	for end := s.clock.Now().Add(within); s.clock.Now().Before(end); {
		s.play(100 * time.Millisecond)
		if keys := s.messages().Due(s.controller.atOnce()); len(keys) > 0 {
			s.sendDue(keys)
		}
	}
}

func TestAcceptedMessagesAreNotSentAgainBeforeTheLedgerIsWritten(t *testing.T) {
	for about, refusal := range map[string]error{
		"the write fails":      errors.New("etcd is away"),
		"there is a newer one": apierrors.NewConflict(schema.GroupResource{Resource: "deployments"}, "web", errors.New("changed")),
	} {
		t.Run(about, func(t *testing.T) {
			s, l := newToldStage(t)
			edited := s.clock.Now().Unix()
			s.edit("web", "2")
			s.refuses = refusal
			s.tell(time.Minute)
			if l.asked != 1 {
				t.Fatalf("it was sent %d times while the ledger could not be written", l.asked)
			}
			taken := s.clock.Now().Unix()
			s.refuses = nil
			s.tell(workqueue.LastRetry)
			patched := s.patched
			if at := s.toldAt(); at < edited || at > taken {
				t.Errorf("the ledger says that the receiver was told at %d, which took it from %d to %d", at, edited, taken)
			}
			s.tell(time.Minute)
			if l.asked != 1 || s.messages().Depth() != 0 || s.patched != patched || s.controller.taken() != 0 {
				t.Errorf("sent %d times; %d wait, %d writes more, %d kept in memory", l.asked, s.messages().Depth(), s.patched-patched, s.controller.taken())
			}
		})
	}
}

// toldAt is when the receiver was notified of web, by its ledger.
func (s *stage) toldAt() int64 {
	s.Helper()
	facts, _ := s.known().Facts(workload.Key{Kind: "Deployment", Namespace: "shop", Name: "web"})
	ledger, err := ledger.Parse(facts.Workload.LedgerText)
	if err != nil {
		s.Fatal(err)
	}
	return ledger.NotifiedAt
}

// Pods from before a notification may lack the data in the ledger, regardless of the next writer.
func TestTheLedgerRecordsTheTimeOfTheNotification(t *testing.T) {
	s, _ := newToldStage(t)
	if at := s.toldAt(); at != 0 {
		t.Errorf("told at %d, of nothing", at)
	}
	before := s.clock.Now().Unix()
	s.edit("web", "2")
	s.tell(30 * time.Second)
	first := s.toldAt()
	if first <= before || first > before+10 {
		t.Errorf("told %d seconds after the edit", first-before)
	}
	s.opts().Receiver, s.opts().NotifyOnly = nil, false
	s.edit("web", "3")
	s.play(time.Minute)
	if at := s.toldAt(); at != first {
		t.Errorf("the ledger of the reload says %d, and the receiver was told at %d", at, first)
	}
}

// A change was accepted, and then reverted. When it comes a second time, the receiver has to be
// notified again.
func TestAnAcceptedChangeIsSentAgainAfterARevert(t *testing.T) {
	// taken has the receiver take the second content, which the ledger cannot note.
	taken := func(s *stage) {
		s.edit("web", "2")
		s.refuses = apierrors.NewConflict(schema.GroupResource{Resource: "deployments"}, "web", errors.New("the receiver has rolled it"))
		s.tell(3 * time.Second)
		s.refuses = nil
	}
	for about, happens := range map[string]func(s *stage){
		"before it is looked at again": func(s *stage) {
			taken(s)
			s.edit("web", "1")
			s.tell(workqueue.LastRetry)
		},
		"only who was about to send it has seen that": func(s *stage) {
			taken(s)
			s.edit("web", "1")
			s.clock.Step(workqueue.LastRetry)
			keys := s.messages().Due(s.controller.atOnce())
			if len(keys) != 1 {
				s.Fatalf("%v wait to be sent", keys)
			}
			s.sendDue(keys)
		},
		"the receiver rolls it each time": func(s *stage) {
			taken(s)
			rolled := func() {
				s.change(func(d *appsv1.Deployment) {
					d.Spec.Template.Annotations = map[string]string{"rolled": s.clock.Now().String()}
				})
			}
			rolled()
			s.tell(workqueue.LastRetry)
			s.edit("web", "1")
			rolled()
			s.tell(workqueue.LastRetry)
		},
	} {
		t.Run(about, func(t *testing.T) {
			s, l := newToldStage(t)
			happens(s)
			if len(l.taken) != 1 {
				t.Fatalf("%d were taken, want the first", len(l.taken))
			}
			s.edit("web", "2")
			s.tell(workqueue.LastRetry)
			if len(l.taken) != 2 || s.messages().Depth() != 0 || s.controller.taken() != 0 {
				t.Errorf("%d were taken, %d wait, %d are kept", len(l.taken), s.messages().Depth(), s.controller.taken())
			}
		})
	}
}

// A receiver that makes the Job of a CronJob changes its status by that, so that the ledger meets
// another version.
func TestAJobOfTheReceiverCausesNoNotification(t *testing.T) {
	s, l := newJobStage(t), &listener{}
	s.opts().Receiver, s.opts().NotifyOnly = l, true
	s.cronJob("report", func(o *batchv1.CronJob) { o.Spec.ConcurrencyPolicy = batchv1.ForbidConcurrent })
	running := func(jobs ...corev1.ObjectReference) {
		changed, err := s.server.Edit("cronjobs", inShop("report"), "kube-controller-manager", func(o simapi.Object) {
			o.(*batchv1.CronJob).Status.Active = jobs
		})
		if err != nil {
			t.Fatal(err)
		}
		s.workloadsOf("CronJob").arrives(changed)
	}
	s.edit("load", "2")
	s.refuses = apierrors.NewConflict(schema.GroupResource{Resource: "cronjobs"}, "report", errors.New("its status has changed"))
	s.tell(3 * time.Second)
	running(corev1.ObjectReference{Name: "report-of-the-receiver"})
	s.refuses = nil
	s.tell(workqueue.LastRetry)
	running()
	s.tell(workqueue.LastRetry)
	if l.asked != 1 || s.messages().Depth() != 0 || s.controller.taken() != 0 {
		t.Errorf("it was sent %d times, %d wait, %d are kept", l.asked, s.messages().Depth(), s.controller.taken())
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
	if l.asked != asked+1 || s.messages().Depth() != 0 {
		t.Errorf("it was sent %d times, %d wait", l.asked-asked, s.messages().Depth())
	}
}

func TestARevertedChangeIsNotSent(t *testing.T) {
	s, l := newToldStage(t)
	l.refuses = errors.New("it answered 500")
	s.edit("web", "2")
	s.tell(time.Minute)
	s.edit("web", "1")
	l.refuses = nil
	s.tell(workqueue.LastRetry)
	if len(l.taken) != 0 || s.messages().Depth() != 0 {
		t.Errorf("%d were told, %d wait", len(l.taken), s.messages().Depth())
	}
}

func TestNoNotificationAboutADeletedWorkload(t *testing.T) {
	s, l := newToldStage(t)
	l.refuses = errors.New("it answered 500")
	s.edit("web", "2")
	s.tell(time.Minute)
	s.deployments().departs(inShop("web"), "")
	l.refuses = nil
	s.tell(workqueue.LastRetry)
	if len(l.taken) != 0 || s.messages().Depth() != 0 || s.messages().TriesOf(named("web")) != 0 || s.controller.taken() != 0 {
		t.Errorf("%d were told, %d wait, %d tries are kept", len(l.taken), s.messages().Depth(), s.messages().TriesOf(named("web")))
	}
}

// The webhook is enabled between the creation of the Job of a CronJob and the ledger that records
// it. That Job runs, for the earlier change, and the receiver is notified of the later one.
func TestNoNotificationAboutAnEarlierRun(t *testing.T) {
	for about, tc := range map[string]struct {
		edit string
		told int
	}{
		"nothing has changed since": {"2", 0},
		"something has":             {"3", 1},
	} {
		t.Run(about, func(t *testing.T) {
			s, l := newJobStage(t), &listener{}
			s.cronJob("report", func(*batchv1.CronJob) {})
			s.refuses = errors.New("etcd is away")
			s.edit("load", "2")
			s.play(time.Minute)
			if len(s.jobNames()) != 1 {
				t.Fatalf("made: %v", s.jobNames())
			}
			s.refuses, s.opts().Receiver, s.opts().NotifyOnly = nil, l, true
			s.edit("load", tc.edit)
			s.tell(workqueue.LastRetry)
			if len(l.taken) != tc.told {
				t.Errorf("it was told %d times", len(l.taken))
			}
			run, err := s.server.Get("jobs", inShop(s.jobNames()[0]))
			if err != nil || len(s.jobNames()) != 1 || kinds.IsHeld(run.(*batchv1.Job)) || *run.(*batchv1.Job).Spec.Suspend {
				t.Errorf("the Job is %+v, %v", run, err)
			}
			if s.messages().Depth() != 0 || s.controller.taken() != 0 {
				t.Errorf("%d wait, %d are kept", s.messages().Depth(), s.controller.taken())
			}
		})
	}
}
