package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/reroll-dev/reroll/test/harness"
)

// helmRelease is the type of the Secrets in which Helm keeps what it has installed.
const helmRelease = "helm.sh/release.v1"

// startUp starts the controller when there is much, and one that has nothing to look after, and
// watches both doing nothing.
func startUp(ctx context.Context, s *stage) ([]section, error) {
	if err := s.makeMuch(ctx); err != nil {
		return nil, err
	}
	if err := s.ready(ctx); err != nil {
		return nil, err
	}
	empty, err := s.addEmpty(ctx)
	if err != nil {
		return nil, err
	}
	sh, idle := newSheet(), newSheet()
	for range s.opts.runs {
		if err := s.controller.Stop(ctx); err != nil {
			return nil, err
		}
		if empty != nil {
			if err := empty.restart(ctx, sh); err != nil {
				return nil, err
			}
			took, err := s.bareRead(ctx)
			if err != nil {
				return nil, err
			}
			sh.beside(readyRow, "bytes, thrown away", took.Seconds())
		}
		if err := s.startOnce(ctx, sh); err != nil {
			return nil, err
		}
		if err := s.idleOnce(ctx, idle, empty); err != nil {
			return nil, err
		}
	}
	if empty != nil {
		if err := s.addSizes(ctx, idle); err != nil {
			return nil, err
		}
	}
	o := s.opts
	start := section{Title: fmt.Sprintf("start: %d Secrets of %d KiB, %d ConfigMaps of %d KiB, %d workloads, %d Helm releases of %d KiB",
		o.secrets, o.secretSize>>10, o.configMaps, o.configSize>>10, o.workloads, o.releases, o.releaseSize>>10)}
	start.Rows = append(sh.figures(), sh.kindRows()...)
	return []section{start, {Title: fmt.Sprintf("idle: %s after that start", o.idle), Rows: idle.rows()}}, nil
}

func (s *stage) makeMuch(ctx context.Context) error {
	o := s.opts
	s.tell("start: making the objects")
	if err := s.makeSecrets(ctx, numbered("secret", o.secrets), corev1.SecretTypeOpaque, o.secretSize); err != nil {
		return err
	}
	if err := s.makeSecrets(ctx, numbered("release", o.releases), helmRelease, o.releaseSize); err != nil {
		return err
	}
	if err := s.makeConfigMaps(ctx, work, numbered("owner", o.configMaps), o.configSize); err != nil {
		return err
	}
	names := numbered("owner", o.workloads)
	return s.makeDeployments(ctx, s.eyes, names, own(true))
}

const (
	readyRow  = "until it is ready"
	actsRow   = "until it acts on a change"
	peakRow   = "memory, peak"
	steadyRow = "memory, steady"
	emptyRow  = "memory, empty controller"
	binaryRow = "binary"
	imageRow  = "image"
	// smallReadyRow is of a controller that has nothing to look after.
	smallReadyRow = "until the empty one is ready"
)

// startOnce starts the controller. Of a peer nothing tells that it is ready but that it acts.
func (s *stage) startOnce(ctx context.Context, sh *sheet) error {
	s.prober.begin()
	s.eyes.begin()
	counted, err := s.audit.begin()
	if err != nil {
		return err
	}
	began := time.Now()
	if err := s.launch(); err != nil {
		return err
	}
	if s.ours != nil {
		if err := s.ours.AwaitReady(ctx); err != nil {
			return err
		}
		sh.add(readyRow, "s", time.Since(began).Seconds())
	}
	if err := s.awaitActs(ctx); err != nil {
		return err
	}
	sh.add(actsRow, "s", time.Since(began).Seconds())
	if s.ours != nil {
		if err := awaitIdle(ctx, s.ours); err != nil {
			return err
		}
	}
	rolled := s.eyes.seen().rollouts
	sh.add(rolloutsRow, "", float64(rolled))
	sh.beside(rolloutsRow, "none", 0)
	if rolled > 0 {
		if err := s.right(fmt.Errorf("the work was not done right: nothing was edited, and workloads rolled %d times at a start", rolled)); err != nil {
			return err
		}
	}
	used, err := usageOf(s.controller.PID())
	if err != nil {
		return err
	}
	sh.add(cpuTimeRow, "s", used.cpu.Seconds())
	sh.add(peakRow, "MiB", used.peak)
	asked, err := counted.read()
	if err != nil {
		return err
	}
	sh.asked = append(sh.asked, asked)
	return nil
}

// empty is a controller that has nothing to look after.
type empty struct {
	installed *harness.Installation
	running   *harness.Controller
	audit     auditLog
	stage     *stage
	// watch is a program that holds one watch and does nothing else.
	watch *peer
}

func (s *stage) addEmpty(ctx context.Context) (*empty, error) {
	if s.ours == nil {
		return nil, nil
	}
	const name = "empty"
	if err := s.makeNamespace(ctx, name); err != nil {
		return nil, err
	}
	path, err := harness.ShippedManifest()
	if err != nil {
		return nil, err
	}
	manifest, err := harness.ReadManifest(path)
	if err != nil {
		return nil, err
	}
	e := &empty{stage: s, audit: auditLog{path: s.cluster.AuditLog(), user: "system:serviceaccount:" + name + ":" + account}}
	if e.installed, err = s.installIn(ctx, name, manifest); err != nil {
		return nil, err
	}
	e.watch, err = s.addOneWatch(ctx)
	return e, err
}

// restart starts it, and notes what that takes beside what the other takes.
func (e *empty) restart(ctx context.Context, sh *sheet) error {
	if e.running != nil {
		if err := e.running.Stop(ctx); err != nil {
			return err
		}
	}
	var err error
	began := time.Now()
	if e.running, err = e.installed.Start(ctx, nil, nil); err != nil {
		return err
	}
	sh.add(smallReadyRow, "s", time.Since(began).Seconds())
	e.stage.others = append(e.stage.others, e.running)
	used, err := usageOf(e.running.PID())
	sh.beside(cpuTimeRow, "empty controller", used.cpu.Seconds())
	sh.beside(peakRow, "empty controller", used.peak)
	return err
}

// bareRead takes all that the controller takes at its start off the wire, all kinds at once, and
// looks at none of it.
func (s *stage) bareRead(ctx context.Context) (time.Duration, error) {
	core, apps, batch := s.admin.CoreV1().RESTClient(), s.admin.AppsV1().RESTClient(), s.admin.BatchV1().RESTClient()
	type streamed struct {
		client             rest.Interface
		resource, selector string
	}
	all := []streamed{
		{core, "configmaps", ""},
		{core, "secrets", fields.OneTermNotEqualSelector("type", helmRelease).String()},
		{apps, "deployments", ""}, {apps, "statefulsets", ""}, {apps, "daemonsets", ""}, {batch, "cronjobs", ""}, {batch, "jobs", ""},
	}
	began := time.Now()
	err := eachWith(ctx, len(all), all, func(ctx context.Context, of streamed) error {
		stream, err := of.client.Get().Resource(of.resource).VersionedParams(&metav1.ListOptions{
			Watch: true, SendInitialEvents: new(true), AllowWatchBookmarks: true, FieldSelector: of.selector,
			ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan,
		}, scheme.ParameterCodec).Stream(ctx)
		if err != nil {
			return fmt.Errorf("read all %s: %w", of.resource, err)
		}
		defer stream.Close()
		if err := readUntil(stream, []byte(metav1.InitialEventsAnnotationKey)); err != nil {
			return fmt.Errorf("read all %s: %w", of.resource, err)
		}
		return nil
	})
	return time.Since(began), err
}

// readUntil reads until something has come that is the last of what is wanted.
func readUntil(stream io.Reader, end []byte) error {
	buffer := make([]byte, 64<<10)
	kept := 0 // what may be the beginning of the end
	for {
		n, err := stream.Read(buffer[kept:])
		have := buffer[:kept+n]
		if bytes.Contains(have, end) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("it ended before its end: %w", err)
		}
		kept = copy(buffer, have[max(0, len(have)-len(end)+1):])
	}
}
