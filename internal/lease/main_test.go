package lease_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	testclock "k8s.io/utils/clock/testing"

	"github.com/reroll-dev/reroll/internal/clientset"
	"github.com/reroll-dev/reroll/internal/lease"
	"github.com/reroll-dev/reroll/test/cluster"
)

// The API server is a real one, and the clocks are fake. A replica with a stopped clock has crashed
// or is frozen, and no test has to wait.

var shared *cluster.Cluster

func TestMain(m *testing.M) { os.Exit(withCluster(m)) }

func withCluster(m *testing.M) int {
	c, err := cluster.Borrow(context.Background(), cluster.Options{Nodes: cluster.NoNodes, Progress: os.Stderr})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = c.Stop() }()
	shared = c
	return m.Run()
}

const (
	duration = 15 * time.Second
	deadline = 10 * time.Second
	retry    = 2 * time.Second
)

// patience limits the time of a test that would hang otherwise.
const patience = 2 * time.Minute

// place is a namespace of its own for one test.
type place struct {
	*testing.T
	ctx       context.Context
	admin     kubernetes.Interface
	namespace string
}

func newPlace(t *testing.T) *place {
	t.Helper()
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	admin, err := kubernetes.NewForConfig(shared.Config())
	if err != nil {
		t.Fatal(err)
	}
	return (&place{T: t, ctx: ctx, admin: admin}).another()
}

// another is a second namespace for the same test.
func (p *place) another() *place {
	p.Helper()
	ns, err := p.admin.CoreV1().Namespaces().Create(p.ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "lease-"}}, metav1.CreateOptions{})
	if err != nil {
		p.Fatal(err)
	}
	other := *p
	other.namespace = ns.Name
	return &other
}

// await repeats look until it returns an empty string.
func (p *place) await(what string, look func() string) {
	p.Helper()
	for {
		left := look()
		if left == "" {
			return
		}
		select {
		case <-p.ctx.Done():
			p.Fatalf("awaiting %s: %s", what, left)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// lease returns the Lease, or nil if it does not exist.
func (p *place) lease() *coordinationv1.Lease {
	p.Helper()
	l, err := p.admin.CoordinationV1().Leases(p.namespace).Get(p.ctx, lease.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		p.Fatal(err)
	}
	return l
}

func (p *place) heldBy() string {
	p.Helper()
	l := p.lease()
	if l == nil {
		return ""
	}
	return *l.Spec.HolderIdentity
}

// change edits the Lease as an administrator would.
func (p *place) change(edit func(*coordinationv1.Lease)) {
	p.Helper()
	l := p.lease()
	edit(l)
	if _, err := p.admin.CoordinationV1().Leases(p.namespace).Update(p.ctx, l, metav1.UpdateOptions{}); err != nil {
		p.Fatal(err)
	}
}

func (p *place) delete() {
	p.Helper()
	if err := p.admin.CoordinationV1().Leases(p.namespace).Delete(p.ctx, lease.Name, metav1.DeleteOptions{}); err != nil {
		p.Fatal(err)
	}
}

// instance is a replica that wants the lease, with its own clock, wire and log.
type instance struct {
	*lease.Holder
	name     string
	place    *place
	clock    *testclock.FakeClock
	wire     *wire
	log      *lines
	acquired chan error
}

// as describes how a replica differs from the others.
type as struct {
	user  string // the user with its permissions; empty for an administrator
	skew  time.Duration
	alone bool
	lasts time.Duration
}

func (p *place) instance(name string, how as) *instance {
	p.Helper()
	i := &instance{name: name, place: p, clock: testclock.NewFakeClock(time.Now().Add(how.skew)), wire: &wire{}, log: &lines{}}
	config := shared.Config()
	if how.user != "" {
		config.Impersonate = rest.ImpersonationConfig{UserName: how.user, Groups: []string{"system:authenticated"}}
	}
	config.Wrap(i.wire.over)
	client, err := clientset.NewForConfig(config)
	if err != nil {
		p.Fatal(err)
	}
	if how.lasts == 0 {
		how.lasts = duration
	}
	i.Holder = lease.New(lease.Options{
		Namespace: p.namespace, Identity: name, Alone: how.alone,
		Duration: how.lasts, RenewDeadline: deadline, RetryPeriod: retry,
	}, client, i.clock, slog.New(slog.NewTextHandler(i.log, &slog.HandlerOptions{Level: slog.LevelInfo})))
	// Ends the renewals if the test has not released the lease.
	p.Cleanup(func() { i.Release(context.Background()) })
	return i
}

// acquires takes a lease that is free.
func (i *instance) acquires() *instance {
	i.place.Helper()
	if err := i.acquire(i.place.ctx); err != nil {
		i.place.Fatal(err)
	}
	if !i.Held() {
		i.place.Fatal("acquired and not held")
	}
	i.rests()
	return i
}

// acquire also returns if the first request fails, as on a busy machine: the next one comes by the
// clock.
func (i *instance) acquire(ctx context.Context) error {
	acquired := make(chan error, 1)
	go func() { acquired <- i.Acquire(ctx) }()
	for {
		select {
		case err := <-acquired:
			return err
		case <-time.After(10 * time.Second):
			if !i.Held() {
				i.clock.Step(retry)
			}
		}
	}
}

// waits starts to wait, and returns after the first check.
func (i *instance) waits(ctx context.Context) *instance {
	i.place.Helper()
	i.acquired = make(chan error, 1)
	go func() { i.acquired <- i.Acquire(ctx) }()
	i.rests()
	return i
}

// rests returns when the instance waits for its clock.
func (i *instance) rests() {
	i.place.Helper()
	i.place.await("an instance to wait for its clock", func() string {
		if i.clock.HasWaiters() {
			return ""
		}
		return "it is busy"
	})
}

// tick advances the clock, and returns when the replica has done what was due.
func (i *instance) tick(d time.Duration) {
	i.place.Helper()
	i.clock.Step(d)
	i.place.await("an instance to do what is due", func() string {
		select {
		case <-i.Lost():
			return ""
		default:
		}
		if i.clock.HasWaiters() {
			return ""
		}
		return "it is busy"
	})
}

// awaitAnswered returns when the API server has answered a request whose response is held back.
func (i *instance) awaitAnswered(h *hold) {
	i.place.Helper()
	select {
	case <-h.answered:
	case <-i.place.ctx.Done():
		i.place.Fatalf("no %s about a lease was made", h.method)
	}
}

func (i *instance) hasAcquired() bool {
	i.place.Helper()
	select {
	case err := <-i.acquired:
		if err != nil {
			i.place.Fatal(err)
		}
		return true
	default:
		return false
	}
}

func (i *instance) awaitLost() error {
	i.place.Helper()
	select {
	case <-i.Lost():
	case <-i.place.ctx.Done():
		i.place.Fatal("the lease is not lost")
	}
	if i.Held() {
		i.place.Error("lost and held")
	}
	return i.Err()
}

func (i *instance) isLost() bool {
	select {
	case <-i.Lost():
		return true
	default:
		return false
	}
}

// lines has the lines of a log.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

// with returns the lines that contain all of the words.
func (l *lines) with(words ...string) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var found []string
	for line := range strings.Lines(l.text.String()) {
		if !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(line, w) }) {
			found = append(found, line)
		}
	}
	return found
}

var errAway = errors.New("connection refused")
