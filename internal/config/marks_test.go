package config

import (
	"testing"

	"github.com/reroll-dev/reroll/internal/digest"
	"github.com/reroll-dev/reroll/internal/reload"
)

func TestHowReloadsAreMarked(t *testing.T) {
	for about, tc := range map[string]struct {
		args     []string
		strategy reload.StrategyChoice
		secrets  digest.SecretMarks
	}{
		"nothing given": {nil, reload.StrategyAuto, digest.SecretMarksKeyed},
		"empty":         {[]string{"--reload-strategy="}, reload.StrategyAuto, digest.SecretMarksKeyed},
		"default":       {[]string{"--reload-strategy=default"}, reload.StrategyAuto, digest.SecretMarksKeyed},
		"auto":          {[]string{"--reload-strategy=auto"}, reload.StrategyAuto, digest.SecretMarksKeyed},
		"env-vars":      {[]string{"--reload-strategy", "env-vars"}, reload.StrategyEnvVars, digest.SecretMarksKeyed},
		"annotations":   {[]string{"--reload-strategy=annotations", "--secret-marks=keyed"}, reload.StrategyAnnotations, digest.SecretMarksKeyed},
		"sha1":          {[]string{"--secret-marks=sha1"}, reload.StrategyAuto, digest.SecretMarksSHA1},
	} {
		t.Run(about, func(t *testing.T) {
			cfg, err := parse(t, nil, tc.args...)
			if err != nil {
				t.Fatal(err)
			}
			if cfg.Marks.Strategy != tc.strategy || cfg.Marks.Secrets != tc.secrets {
				t.Errorf("got %+v", cfg.Marks)
			}
		})
	}
}

func TestWhatFollowsWhenEveryMarkWasRemoved(t *testing.T) {
	for arg, want := range map[string]reload.OnRevert{"--on-revert=stop": reload.OnRevertStop, "--on-revert=restart": reload.OnRevertRestart, "--dry-run": reload.OnRevertStop} {
		if cfg, err := parse(t, nil, arg); err != nil || cfg.Marks.OnRevert != want {
			t.Errorf("%s: got %v, %v", arg, cfg.Marks.OnRevert, err)
		}
	}
}

func TestUnknownMarksAreRefused(t *testing.T) {
	for arg, want := range map[string]string{
		"--reload-strategy=annotation": "--reload-strategy=annotation: must be auto, env-vars or annotations; default means auto",
		"--reload-strategy=Auto":       "--reload-strategy=Auto: must be auto, env-vars or annotations; default means auto",
		"--on-revert=annotation":       "--on-revert=annotation: must be stop or restart",
		"--secret-marks=md5":           "--secret-marks=md5: must be keyed or sha1",
		"--secret-marks=":              "--secret-marks=: must be keyed or sha1",
	} {
		_, err := parse(t, nil, arg)
		if err == nil || err.Error() != want {
			t.Errorf("%s: got %v", arg, err)
		}
	}
}
