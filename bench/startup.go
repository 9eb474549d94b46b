package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/reroll-dev/reroll/test/harness"
)

// starting is what a start has taken, until the controller was ready.
type starting struct {
	ready time.Duration
	used  usage
}

// startUp starts the controller when there are many Secrets, and one that has nothing to look after. The last of each
// stays, and is watched doing nothing.
func (s *stage) startUp(ctx context.Context) ([]section, error) {
	sec := section{Title: fmt.Sprintf("start: %d Secrets of %d KiB, %d Deployments", s.opts.secrets, s.opts.secretSize>>10, len(s.names()))}
	if err := s.controller.Stop(ctx); err != nil {
		return nil, err
	}
	if err := s.makeSecrets(ctx); err != nil {
		return nil, err
	}
	nothing, installed, err := s.install(ctx, "empty")
	if err != nil {
		return nil, err
	}
	s.emptyAudit = s.auditOf(nothing.Name)
	s.eyes.begin()
	var ready, read, cpu, peak, emptyReady, emptyCPU, emptyPeak []float64
	for n := range s.opts.runs {
		s.tell("start, run %d of %d", n+1, s.opts.runs)
		if n > 0 {
			if err := s.controller.Stop(ctx); err != nil {
				return nil, err
			}
			if err := s.empty.Stop(ctx); err != nil {
				return nil, err
			}
		}
		took, err := s.bareRead(ctx)
		if err != nil {
			return nil, err
		}
		read = append(read, took.Seconds())
		var full, bare starting
		if s.empty, bare, err = start(ctx, installed); err != nil {
			return nil, err
		}
		if s.controller, full, err = start(ctx, s.installed); err != nil {
			return nil, err
		}
		ready, cpu, peak = append(ready, full.ready.Seconds()), append(cpu, full.used.cpu.Seconds()), append(peak, full.used.peak)
		emptyReady, emptyCPU, emptyPeak = append(emptyReady, bare.ready.Seconds()), append(emptyCPU, bare.used.cpu.Seconds()), append(emptyPeak, bare.used.peak)
	}
	const empty = "empty controller"
	sec.Rows = []row{
		figure("until /readyz", "s", ready).against(over(read), "bytes, thrown away"),
		figure("until /readyz", "s", ready).against(over(emptyReady), empty),
		figure("processor time", "s", cpu).against(over(emptyCPU), empty),
		figure("memory, peak", "MiB", peak).against(over(emptyPeak), empty),
	}
	idle, err := s.idle(ctx)
	return []section{sec, idle}, err
}

func start(ctx context.Context, installed *harness.Installation) (*harness.Controller, starting, error) {
	var st starting
	began := time.Now()
	c, err := installed.Start(ctx, flags(), nil)
	if err != nil {
		return c, st, err
	}
	st.ready = time.Since(began)
	st.used, err = usageOf(c.PID())
	return c, st, err
}

// bareRead takes all that the controller takes at its start off the wire, all kinds at once, and looks at none of it.
func (s *stage) bareRead(ctx context.Context) (time.Duration, error) {
	core, apps, batch := s.admin.CoreV1().RESTClient(), s.admin.AppsV1().RESTClient(), s.admin.BatchV1().RESTClient()
	kinds := []struct {
		client   rest.Interface
		resource string
	}{{core, "configmaps"}, {core, "secrets"}, {apps, "deployments"}, {apps, "statefulsets"}, {apps, "daemonsets"}, {batch, "cronjobs"}, {batch, "jobs"}}
	began := time.Now()
	err := eachWith(ctx, len(kinds), kinds, func(ctx context.Context, of struct {
		client   rest.Interface
		resource string
	},
	) error {
		stream, err := of.client.Get().Namespace(s.namespace.Name).Resource(of.resource).VersionedParams(&metav1.ListOptions{
			Watch: true, SendInitialEvents: new(true), AllowWatchBookmarks: true,
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
