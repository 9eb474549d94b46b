package intake

import (
	"context"
	"crypto/rand"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/clock"

	"github.com/reroll-dev/reroll/test/cluster"
)

// limit bounds what would hang, and nothing else.
const limit = 2 * time.Minute

func start(t *testing.T, flags ...string) *cluster.Cluster {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	c, err := cluster.Start(ctx, cluster.Options{APIServerFlags: flags, Nodes: cluster.NoNodes, Progress: os.Stderr})
	must(t, err)
	t.Cleanup(func() { _ = c.Stop() })
	return c
}

// borrow returns a cluster whose API server has no flags of a test.
func borrow(t *testing.T) *cluster.Cluster {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	c, err := cluster.Borrow(ctx, cluster.Options{Nodes: cluster.NoNodes, Progress: os.Stderr})
	must(t, err)
	t.Cleanup(func() { _ = c.Stop() })
	return c
}

// secrets are those of a namespace of a test.
type secrets struct {
	client    kubernetes.Interface
	namespace string
}

func newSecrets(t *testing.T, c *cluster.Cluster) *secrets {
	t.Helper()
	return newSecretsIn(t, c, "intake-"+rand.Text()[:8])
}

func newSecretsIn(t *testing.T, c *cluster.Cluster, namespace string) *secrets {
	t.Helper()
	namespace = strings.ToLower(namespace)
	config := c.Config()
	config.ContentConfig = protobuf()
	client, err := kubernetes.NewForConfig(config)
	must(t, err)
	_, err = client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{})
	must(t, err)
	return &secrets{client, namespace}
}

// put makes a Secret or gives it another value.
func (s *secrets) put(t *testing.T, name, value string, kind corev1.SecretType) {
	t.Helper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}, Type: kind, Data: map[string][]byte{"value": []byte(value)}}
	if kind == corev1.SecretTypeDockerConfigJson {
		secret.Data[corev1.DockerConfigJsonKey] = []byte(`{}`)
	}
	api := s.client.CoreV1().Secrets(s.namespace)
	_, err := api.Update(t.Context(), secret, metav1.UpdateOptions{})
	if err != nil {
		_, err = api.Create(t.Context(), secret, metav1.CreateOptions{})
	}
	must(t, err)
}

func (s *secrets) remove(t *testing.T, name string) {
	t.Helper()
	must(t, s.client.CoreV1().Secrets(s.namespace).Delete(t.Context(), name, metav1.DeleteOptions{}))
}

// fill makes many Secrets.
func (s *secrets) fill(t *testing.T, n int, value []byte) {
	t.Helper()
	names := make(chan string)
	errs := make(chan error, 16)
	for range cap(errs) {
		go func() {
			var first error
			for name := range names {
				_, err := s.client.CoreV1().Secrets(s.namespace).Create(t.Context(), &corev1.Secret{
					ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string][]byte{"value": value},
				}, metav1.CreateOptions{})
				if first == nil {
					first = err
				}
			}
			errs <- first
		}()
	}
	for i := range n {
		names <- fmt.Sprintf("s%05d", i)
	}
	close(names)
	for range cap(errs) {
		must(t, <-errs)
	}
}

// version is the newest one of the server.
func (s *secrets) version(t *testing.T) int {
	t.Helper()
	list, err := s.client.CoreV1().Secrets(s.namespace).List(t.Context(), metav1.ListOptions{Limit: 1})
	must(t, err)
	version, err := strconv.Atoi(list.ResourceVersion)
	must(t, err)
	return version
}

// forgotten reports whether a watch from a version is refused.
func (s *secrets) forgotten(t *testing.T, version int) bool {
	t.Helper()
	w, err := s.client.CoreV1().Secrets(s.namespace).Watch(t.Context(), metav1.ListOptions{ResourceVersion: strconv.Itoa(version)})
	must(t, err)
	defer w.Stop()
	return (<-w.ResultChan()).Type == watch.Error
}

// sight is what a feed handed over, in the order it did.
type sight struct {
	mu    sync.Mutex
	news  chan struct{} // closed, and made anew, with each line
	lines []string
	told  []string
	from  int // up to here it was awaited
}

// watchBy starts a feed. It ends with the test, or the test hangs.
func watchBy(t *testing.T, open Opener) *sight {
	t.Helper()
	s := &sight{news: make(chan struct{})}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		(&Feed{Open: open, Handler: s, Clock: clock.RealClock{}, Failed: s.fail}).Run(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
	})
	return s
}

func (s *sight) note(line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lines = append(s.lines, line)
	close(s.news)
	s.news = make(chan struct{})
}

func (s *sight) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.told = append(s.told, err.Error())
}

func (s *sight) Put(_ watch.EventType, obj runtime.Object, live bool) {
	secret := obj.(*corev1.Secret)
	line := "put "
	if live {
		line = "live "
	}
	s.note(line + secret.Name + "=" + string(secret.Data["value"]))
}

func (s *sight) Delete(obj runtime.Object) { s.note("gone " + obj.(*corev1.Secret).Name) }

func (s *sight) SnapshotComplete(names map[types.NamespacedName]struct{}, _ string) {
	line := "whole"
	for _, name := range slices.SortedFunc(maps.Keys(names), func(a, b types.NamespacedName) int { return strings.Compare(a.Name, b.Name) }) {
		line += " " + name.Name
	}
	s.note(line)
}

// await waits for a line after the one awaited before.
func (s *sight) await(t *testing.T, line string) { t.Helper(); s.awaitAny(t, line) }

func (s *sight) awaitAny(t *testing.T, lines ...string) {
	t.Helper()
	late := time.After(limit)
	for {
		s.mu.Lock()
		news := s.news
		for s.from < len(s.lines) {
			s.from++
			if slices.Contains(lines, s.lines[s.from-1]) {
				s.mu.Unlock()
				return
			}
		}
		s.mu.Unlock()
		select {
		case <-news:
		case <-late:
			got, told := s.all()
			t.Fatalf("%q did not come; what came: %q; failures: %q", lines, got[max(0, len(got)-50):], told)
		}
	}
}

// all is what came and what failed until now.
func (s *sight) all() (lines, told []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.lines), slices.Clone(s.told)
}

func (s *sight) expect(t *testing.T, lines ...string) {
	t.Helper()
	came, told := s.all()
	if diff := cmp.Diff(lines, came); diff != "" {
		t.Errorf("- should come, + came:\n%s\nfailures: %q", diff, told)
	}
}

func (s *sight) expectTold(t *testing.T, part string) {
	t.Helper()
	if _, told := s.all(); !slices.ContainsFunc(told, func(text string) bool { return strings.Contains(text, part) }) {
		t.Errorf("%q was not told, but %q", part, told)
	}
}
