package main

import (
	"context"
	"fmt"
	"time"
)

// perRollout is how many Events a reload of a workload with pods is: Reloaded, and Rolled when the
// last old one is gone.
const perRollout = 2

// followed edits the ConfigMaps of workloads with a pod each, and waits until the controller has
// told of all that no old pod is left. To see that it reads the pods of each, once.
func tracked(ctx context.Context, s *stage) ([]section, error) {
	names := numbered("owner", s.opts.followed)
	if err := s.makeRunning(ctx, names); err != nil {
		return nil, err
	}
	if err := s.ready(ctx, "--settle=0"); err != nil {
		return nil, err
	}
	sh := newSheet()
	for n := range s.opts.runs {
		w, err := s.begin()
		if err != nil {
			return nil, err
		}
		began := time.Now()
		answered, err := s.editEach(ctx, names, func(string) string { return work }, n)
		if err != nil {
			return nil, err
		}
		used, err := s.finish(ctx, w, len(names), perRollout*len(names))
		if err != nil {
			return nil, err
		}
		if err := s.addOnce(sh, used, followedReloads(len(names)), len(names), began, answered); err != nil {
			return nil, err
		}
	}
	sec := section{Title: fmt.Sprintf("followed: %d workloads with a pod each, their ConfigMaps edited at once, until the event Rolled of each", s.opts.followed)}
	sec.Rows = append(sh.figures(), sh.kindRows()...)
	return []section{sec}, nil
}

// followedReloads are the requests of reloads, and of looking at the pods of each.
func followedReloads(n int) requests {
	least := reloads(n)
	least[podLists] = n
	return least
}

// makeRunning makes ConfigMaps, and for each a Deployment with one pod.
func (s *stage) makeRunning(ctx context.Context, names []string) error {
	if err := s.makeConfigMaps(ctx, work, names, 0); err != nil {
		return err
	}
	return s.makeDeployments(ctx, s.eyes, names, func(name string) deployment {
		return deployment{namespace: work, name: name, sources: []string{name}, part: work, pods: 1}
	})
}
