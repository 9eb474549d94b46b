package config

import (
	"slices"
	"strings"
	"testing"

	"github.com/reroll-dev/reroll/internal/source"
)

func TestIgnoredKinds(t *testing.T) {
	configMaps, secrets := []source.Kind{source.ConfigMap}, []source.Kind{source.Secret}
	const (
		both    = "--resources-to-ignore has both configmaps and secrets, so no change could roll a workload"
		unknown = "--resources-to-ignore=pods: must be configmaps or secrets"
		strange = "--ignored-workload-types=deployments is unknown and has no effect"
	)
	for args, tc := range map[string]struct {
		sources         []source.Kind
		refused, warned []string
	}{
		"":                                 {},
		"--resources-to-ignore=":           {},
		"--resources-to-ignore=secrets":    {sources: secrets},
		"--resources-to-ignore=configMaps": {sources: configMaps},
		"--resources-to-ignore=Secrets --resources-to-ignore=SECRETS,secrets": {sources: secrets},
		"--resources-to-ignore=configmaps,secrets":                            {refused: []string{both}},
		"--resources-to-ignore=secrets --resources-to-ignore=configMaps":      {refused: []string{both}},
		"--resources-to-ignore=secrets,pods":                                  {refused: []string{unknown}},
		"--ignored-workload-types=jobs,CronJobs":                              {},
		"--ignored-workload-types=jobs,deployments,cronjobs":                  {warned: []string{strange}},
	} {
		t.Run(args, func(t *testing.T) {
			cfg, err := parse(t, nil, strings.Fields(args)...)
			var refused []string
			if err != nil {
				refused = strings.Split(err.Error(), "\n")
			}
			prefixed := strings.HasPrefix
			if !slices.EqualFunc(refused, tc.refused, prefixed) {
				t.Errorf("refused: %q, want %q", refused, tc.refused)
			}
			if !slices.EqualFunc(cfg.Warnings, tc.warned, prefixed) {
				t.Errorf("warned: %q, want %q", cfg.Warnings, tc.warned)
			}
			if err == nil && !slices.Equal(cfg.Ignored.Sources, tc.sources) {
				t.Errorf("sources: %v, want %v", cfg.Ignored.Sources, tc.sources)
			}
		})
	}
}
