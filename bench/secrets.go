package main

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
)

// secretsAlone starts the controller among Secrets that no workload uses, and watches it doing
// nothing. What it keeps of each is all that they cost.
func secretsAlone(ctx context.Context, s *stage) ([]section, error) {
	o := s.opts
	if err := s.makeSecrets(ctx, numbered("secret", o.unused), corev1.SecretTypeOpaque, o.secretSize); err != nil {
		return nil, err
	}
	if err := s.ready(ctx); err != nil {
		return nil, err
	}
	sh := newSheet()
	for range o.runs {
		if err := s.controller.Stop(ctx); err != nil {
			return nil, err
		}
		if err := s.startOnce(ctx, sh); err != nil {
			return nil, err
		}
		if err := s.idleOnce(ctx, sh, nil); err != nil {
			return nil, err
		}
	}
	return []section{{Title: fmt.Sprintf("secrets: %d Secrets of %d KiB that nothing uses", o.unused, o.secretSize>>10), Rows: sh.figures()}}, nil
}
