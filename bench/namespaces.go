package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// namespaces changes one ConfigMap in each of many namespaces, all at once.
func namespaces(ctx context.Context, s *stage) ([]section, error) {
	const each = 5
	spaces := numbered("space", s.opts.spaces)
	var edited []string
	var all []string
	for _, space := range spaces {
		names := numbered(space, each)
		all = append(all, names...)
		edited = append(edited, names[0])
	}
	in := func(name string) string { return name[:strings.LastIndexByte(name, '-')] }
	if err := inParallel(ctx, spaces, func(ctx context.Context, name string) error {
		_, err := s.admin.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
		return err
	}); err != nil {
		return nil, fmt.Errorf("make a namespace: %w", err)
	}
	for names := range slices.Chunk(all, each) {
		if err := s.makeConfigMaps(ctx, in(names[0]), names, 0); err != nil {
			return nil, err
		}
	}
	if err := s.makeDeployments(ctx, s.eyes, all, func(name string) deployment {
		return deployment{namespace: in(name), name: name, sources: []string{name}, paused: true, part: work}
	}); err != nil {
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
		answered, err := s.editEach(ctx, edited, in, n)
		if err != nil {
			return nil, err
		}
		edits := time.Since(began)
		used, err := s.finish(ctx, w, len(edited), len(edited))
		if err != nil {
			return nil, err
		}
		sh.beside(lastRow, "the edits alone", edits.Seconds())
		if err := s.addOnce(sh, used, reloads(len(edited)), len(edited), began, answered); err != nil {
			return nil, err
		}
	}
	sec := section{Title: fmt.Sprintf("namespaces: %d with %d workloads each, a ConfigMap in each changed at once, from the first edit", s.opts.spaces, each)}
	sec.Rows = sh.rows()
	return []section{sec}, nil
}
