package node_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/test/harness"
)

// The kubelets of the shared cluster get ConfigMaps and Secrets in two ways.
func strategies() []string { return []string{"Watch", "Cache"} }

const (
	lagPods     = "REROLL_NODE_LAG_PODS" // how many Pods the next test starts; see make lag
	fewLagPods  = 48
	lagLanes    = 8 // sources, each with one Pod at a time; half of them on each node; make lag has as many late ones
	longestGap  = time.Second
	shortestGap = 5 * time.Millisecond
)

// TestNewPodsHaveTheDataOfEditsLongEnoughBeforeThem edits sources all the time, starts Pods at
// random moments, and compares what their processes have read with the edits before each Pod. The
// evidence rules rely on the result: a Pod that was created more than source.StartLag after a
// change has it.
func TestNewPodsHaveTheDataOfEditsLongEnoughBeforeThem(t *testing.T) {
	pods := fewLagPods
	if text := os.Getenv(lagPods); text != "" {
		var err error
		if pods, err = strconv.Atoi(text); err != nil {
			t.Fatalf("%s: %v", lagPods, err)
		}
	}
	if pods == fewLagPods {
		t.Parallel()
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience+time.Duration(pods)*5*time.Second)
	defer cancel()
	n := emptyNamespace(ctx, t, shared.harness, "lag")
	m := &measurement{Namespace: n, ctx: ctx, long: pods > fewLagPods, perLane: pods / lagLanes}
	for i := range lagLanes {
		l := lane{name: "source-" + strconv.Itoa(i), node: i % len(strategies()), secret: i/len(strategies())%2 == 1}
		m.lanes = append(m.lanes, &l)
		// A few Pods are measured before the kubelet ends a watch.
		if m.long {
			m.lanes = append(m.lanes, &lane{name: "late-" + strconv.Itoa(i), node: l.node, secret: l.secret, late: true})
		}
	}
	if err := m.run(); err != nil {
		t.Fatal(err)
	}
	if len(m.samples) < pods*9/10 {
		t.Errorf("%d of %d Pods were measured; the kubelet reported no log for %d", len(m.samples), pods, m.silent)
	}
	t.Logf("%d edits, %d Pods, and %d left out because the kubelet reported no log, in %s\n%s", m.edits(), len(m.samples), m.silent, m.took.Round(time.Second), table(m.samples))
	for _, s := range m.samples {
		for how, r := range s.readings {
			if r.edit != nil && s.created.After(r.edit.dataTime.Add(source.StartLag)) {
				t.Errorf("%s of %s was created %s after edit %d, and does not have it", how, s.pod, r.atLeast, r.edit.value)
			}
		}
	}
}

// measurement starts Pods while their sources are edited.
type measurement struct {
	*harness.Namespace
	ctx     context.Context
	long    bool
	lanes   []*lane
	perLane int
	took    time.Duration

	mu      sync.Mutex
	samples []sample
	silent  int // Pods whose kubelet reported no log
}

func (m *measurement) run() error {
	began := time.Now()
	failed := make(chan error, 2*len(m.lanes))
	ctx, stop := context.WithCancel(m.ctx)
	defer stop()
	var writers sync.WaitGroup
	for _, l := range m.lanes {
		if err := m.makeSource(l); err != nil {
			return err
		}
		if _, err := shared.admin.CoreV1().Pods(m.Name).Create(m.ctx, l.holder(), metav1.CreateOptions{}); err != nil {
			return err
		}
		writers.Go(func() {
			if err := m.edit(ctx, l); err != nil && ctx.Err() == nil {
				failed <- fmt.Errorf("edit %s: %w", l.name, err)
				stop()
			}
		})
	}
	start := func(ctx context.Context, late bool, pods int) {
		var starters sync.WaitGroup
		for _, l := range m.lanes {
			if l.late != late {
				continue
			}
			starters.Go(func() {
				if err := m.startPods(ctx, l, pods); err != nil && ctx.Err() == nil {
					failed <- fmt.Errorf("start Pods with %s: %w", l.name, err)
					stop()
				}
			})
		}
		starters.Wait()
	}
	first, end := ctx, func() {}
	if m.long {
		// An interrupt ends it early, with the figures so far.
		first, end = signal.NotifyContext(ctx, os.Interrupt)
	}
	start(first, false, m.perLane)
	end()
	start(ctx, true, 1)
	stop()
	writers.Wait()
	m.took = time.Since(began)
	select {
	case err := <-failed:
		return err
	default:
	}
	return errors.Join(m.judge(), m.ctx.Err())
}

// judge compares all Pods with the edits before them.
func (m *measurement) judge() error {
	var judged []sample
	for _, s := range m.samples {
		// A busy kubelet sometimes reports a container without the end of its log.
		if s.printed == "" {
			m.silent++
			continue
		}
		if err := s.judge(); err != nil {
			return err
		}
		judged = append(judged, s)
	}
	m.samples = judged
	return nil
}

func (m *measurement) edits() int {
	n := 0
	for _, l := range m.lanes {
		n += len(l.edits)
	}
	return n
}

func (m *measurement) makeSource(l *lane) error {
	meta := metav1.ObjectMeta{Name: l.name, Namespace: m.Name}
	var err error
	if l.secret {
		_, err = shared.admin.CoreV1().Secrets(m.Name).Create(m.ctx, &corev1.Secret{ObjectMeta: meta, StringData: map[string]string{"value": "0"}}, metav1.CreateOptions{})
	} else {
		_, err = shared.admin.CoreV1().ConfigMaps(m.Name).Create(m.ctx, &corev1.ConfigMap{ObjectMeta: meta, Data: map[string]string{"value": "0"}}, metav1.CreateOptions{})
	}
	return err
}

// edit writes 1, 2, 3 and so on, at random distances.
func (m *measurement) edit(ctx context.Context, l *lane) error {
	for value := 1; ; value++ {
		if !pause(ctx, longestGap) {
			return nil
		}
		e := edit{value: value, sent: time.Now()}
		var written metav1.ObjectMeta
		if l.secret {
			patch := fmt.Sprintf(`{"stringData":{"value":"%d"}}`, value)
			s, err := shared.admin.CoreV1().Secrets(m.Name).Patch(ctx, l.name, types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{})
			if err != nil {
				return err
			}
			written = s.ObjectMeta
		} else {
			patch := fmt.Sprintf(`{"data":{"value":"%d"}}`, value)
			c, err := shared.admin.CoreV1().ConfigMaps(m.Name).Patch(ctx, l.name, types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{})
			if err != nil {
				return err
			}
			written = c.ObjectMeta
		}
		e.answered = time.Now()
		var err error
		if e.version, err = strconv.ParseInt(written.ResourceVersion, 10, 64); err != nil {
			return err
		}
		for _, manager := range written.ManagedFields {
			if manager.Time != nil && manager.Time.After(e.dataTime) {
				e.dataTime = manager.Time.Time
			}
		}
		l.add(e)
	}
}

// pause waits for a random time, short ones more often than long ones. It returns false when the
// context ends.
func pause(ctx context.Context, longest time.Duration) bool {
	r := rand.Float64()
	select {
	case <-ctx.Done():
		return false
	case <-time.After(shortestGap + time.Duration(r*r*r*float64(longest))):
		return true
	}
}

// startPods keeps the node busy during every second Pod: that is the load beside the Pods
// themselves.
func (m *measurement) startPods(ctx context.Context, l *lane, pods int) error {
	if err := harness.Await(ctx, "the Pod that runs all the time", func(ctx context.Context) error {
		pod, err := shared.admin.CoreV1().Pods(m.Name).Get(ctx, l.name+"-holder", metav1.GetOptions{})
		if err == nil && pod.Status.Phase != corev1.PodRunning {
			err = fmt.Errorf("phase %s", pod.Status.Phase)
		}
		return err
	}); err != nil {
		return err
	}
	for i := range pods {
		if !pause(ctx, longestGap) {
			return nil
		}
		loaded := i%2 == 1
		idle := func() {}
		if loaded {
			idle = burn()
		}
		s, err := m.startPod(ctx, l, i)
		idle()
		if err != nil {
			return err
		}
		s.loaded = loaded
		m.mu.Lock()
		m.samples = append(m.samples, s)
		m.mu.Unlock()
	}
	return nil
}

// burn uses as much of the processors as it gets until it is called off.
func burn() (stop func()) {
	done := make(chan struct{})
	for range runtime.NumCPU() {
		go func() {
			for n := 0; ; n++ {
				if n%(1<<20) == 0 {
					select {
					case <-done:
						return
					default:
					}
				}
			}
		}()
	}
	return sync.OnceFunc(func() { close(done) })
}

func (m *measurement) startPod(ctx context.Context, l *lane, i int) (sample, error) {
	pods := shared.admin.CoreV1().Pods(m.Name)
	s := sample{lane: l, pod: fmt.Sprintf("%s-%d", l.name, i), sent: time.Now()}
	made, err := pods.Create(ctx, l.pod(s.pod, "--exit=3"), metav1.CreateOptions{})
	if err != nil {
		return s, err
	}
	s.answered, s.created = time.Now(), made.CreationTimestamp.Time
	if s.version, err = strconv.ParseInt(made.ResourceVersion, 10, 64); err != nil {
		return s, err
	}
	err = harness.Await(ctx, "the end of "+s.pod, func(ctx context.Context) error {
		pod, err := pods.Get(ctx, s.pod, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if len(pod.Status.ContainerStatuses) == 0 || pod.Status.ContainerStatuses[0].State.Terminated == nil {
			return fmt.Errorf("phase %s", pod.Status.Phase)
		}
		// The end of the log, because the container has failed.
		s.printed = pod.Status.ContainerStatuses[0].State.Terminated.Message
		return nil
	})
	if err != nil {
		return s, err
	}
	return s, pods.Delete(ctx, s.pod, metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))})
}
