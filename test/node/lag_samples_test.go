package node_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/test/cluster"
)

// edit is one write of a source. The API server took it between sent and answered.
type edit struct {
	value          int
	version        int64 // of the source after the write
	sent, answered time.Time
	dataTime       time.Time // as the controller reads it, in whole seconds
}

// lane is a source, and what happens with it.
type lane struct {
	name   string
	node   int // from 0, as in strategies
	secret bool
	// late is for a source that no Pod starts with until all others are measured. A kubelet ends
	// the watch of a source that it has not read for five minutes.
	late bool

	mu    sync.Mutex
	edits []edit
}

func (l *lane) add(e edit) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.edits = append(l.edits, e)
}

// pod uses the source in all three ways. It gets its node without the scheduler, which leaves the
// kubelet least time.
func (l *lane) pod(name, arg string) *corev1.Pod {
	object := corev1.LocalObjectReference{Name: l.name}
	variable := &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{LocalObjectReference: object, Key: "value"}}
	volume := corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: object}}
	if l.secret {
		variable = &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: object, Key: "value"}}
		volume = corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: l.name}}
	}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PodSpec{
			NodeName: "node-" + strconv.Itoa(l.node+1), RestartPolicy: corev1.RestartPolicyNever,
			AutomountServiceAccountToken: new(false), EnableServiceLinks: new(false), TerminationGracePeriodSeconds: new(int64(0)),
			Containers: []corev1.Container{{
				Name: "app", Image: cluster.TestImage, Args: []string{"serve", arg},
				TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
				Env:                      []corev1.EnvVar{{Name: "VALUE", ValueFrom: variable}},
				VolumeMounts: []corev1.VolumeMount{
					{Name: "source", MountPath: "/etc/volume"}, {Name: "source", MountPath: "/etc/single", SubPath: "value"},
				},
			}},
			Volumes: []corev1.Volume{{Name: "source", VolumeSource: volume}},
		},
	}
}

// holder is a Pod that runs all the time: the kubelet knows the source already when the other Pods
// come. Volumes are read again and again, variables are not.
func (l *lane) holder() *corev1.Pod {
	pod := l.pod(l.name+"-holder", "--http-port=8080")
	if l.late {
		pod.Spec.Volumes, pod.Spec.Containers[0].VolumeMounts = nil, nil
	}
	return pod
}

// sample is one Pod. The API server created it between sent and answered.
type sample struct {
	lane           *lane
	pod, printed   string
	loaded         bool
	version        int64 // of the Pod when it was created
	sent, answered time.Time
	created        time.Time // as the controller reads it, in whole seconds
	readings       map[string]reading
}

// reading is what a Pod has read in one way. On a busy machine, an answer of the API server can
// take seconds. So versions decide whether an edit came before the Pod, and times bound how long
// before.
type reading struct {
	edit            *edit // the first that it lacks of those before it, nil if it lacks none
	atLeast, atMost time.Duration
}

// ways are the lines that a container prints.
var ways = map[string]string{"env": "env VALUE=", "volume": "file /etc/volume/value=", "subPath": "file /etc/single="}

// judge finds, for each way, the first edit that the Pod lacks.
func (s *sample) judge() error {
	s.readings = map[string]reading{}
	for line := range strings.Lines(s.printed) {
		for how, prefix := range ways {
			text, found := strings.CutPrefix(strings.TrimSpace(line), prefix)
			if !found {
				continue
			}
			value, err := strconv.Atoi(text)
			if err != nil {
				return err
			}
			s.readings[how] = s.compare(value)
		}
	}
	if len(s.readings) != len(ways) {
		return fmt.Errorf("the container of %s has printed:\n%s", s.pod, s.printed)
	}
	return nil
}

func (s *sample) compare(value int) reading {
	i := slices.IndexFunc(s.lane.edits, func(e edit) bool { return e.value == value+1 && e.version < s.version })
	if i < 0 {
		return reading{}
	}
	e := &s.lane.edits[i]
	return reading{edit: e, atLeast: max(0, s.sent.Sub(e.answered)), atMost: max(0, s.answered.Sub(e.sent))}
}

// table has a line for each strategy, way and load.
func table(samples []sample) string {
	groups := map[string][]reading{}
	for _, s := range samples {
		load := "quiet"
		if s.loaded {
			load = "busy"
		}
		if s.lane.late {
			load = "late"
		}
		for how, r := range s.readings {
			group := fmt.Sprintf("%-5s  %-7s  %-5s", strategies()[s.lane.node], how, load)
			groups[group] = append(groups[group], r)
		}
	}
	var lines []string
	for group, readings := range groups {
		lacking := 0
		var all []time.Duration
		for _, r := range readings {
			all = append(all, r.atMost)
			if r.edit != nil {
				lacking++
			}
		}
		slices.Sort(all)
		at := func(share float64) time.Duration { return all[int(share*float64(len(all)-1))].Round(time.Millisecond) }
		lines = append(lines, fmt.Sprintf("%s  %4d Pods, %3d lack an earlier edit; lag at most: 50%% %s, 90%% %s, 99%% %s, maximum %s",
			group, len(all), lacking, at(0.5), at(0.9), at(0.99), at(1)))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

func TestTheLagOfAPodIsTheDistanceToTheFirstEditThatItLacks(t *testing.T) {
	start := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	at := func(seconds float64) time.Time { return start.Add(time.Duration(seconds * float64(time.Second))) }
	l := &lane{}
	for i, seconds := range []float64{1, 2, 4, 8} {
		l.add(edit{value: i + 1, version: int64(10 * (i + 1)), sent: at(seconds), answered: at(seconds + 0.1)})
	}
	for name, c := range map[string]struct {
		value           int
		sent            float64
		version         int64
		atLeast, atMost time.Duration
	}{
		"a Pod with the last edit before it":             {value: 2, sent: 3, version: 21},
		"a Pod with an edit after it":                    {value: 3, sent: 3, version: 21},
		"a Pod with all edits":                           {value: 4, sent: 20, version: 41},
		"a Pod without the last edit before it":          {value: 1, sent: 3, version: 21, atLeast: 900 * time.Millisecond, atMost: 1100 * time.Millisecond},
		"a Pod without the last two edits before it":     {value: 1, sent: 5, version: 31, atLeast: 2900 * time.Millisecond, atMost: 3100 * time.Millisecond},
		"a Pod created during the edit, and after it":    {value: 1, sent: 2.05, version: 21, atMost: 150 * time.Millisecond},
		"a Pod created during the edit, and before it":   {value: 1, sent: 2.05, version: 19},
		"a Pod that was there before the edit was begun": {value: 1, sent: 1.85, version: 11},
	} {
		t.Run(name, func(t *testing.T) {
			s := sample{lane: l, version: c.version, sent: at(c.sent), answered: at(c.sent + 0.1), printed: fmt.Sprintf("started\nenv VALUE=%[1]d\nfile /etc/single=%[1]d\nfile /etc/volume/value=%[1]d\n", c.value)}
			if err := s.judge(); err != nil {
				t.Fatal(err)
			}
			for how, r := range s.readings {
				if r.atLeast != c.atLeast || r.atMost != c.atMost {
					t.Errorf("%s: between %s and %s, want %s and %s", how, r.atLeast, r.atMost, c.atLeast, c.atMost)
				}
			}
		})
	}
}
