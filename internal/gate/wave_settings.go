package gate

import (
	"time"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/source"
)

// Settings are how the workloads of a source are rolled one after the other, each with what sets
// it.
type Settings struct {
	MaxRolling  annotations.Share
	Soak        time.Duration
	MaxFailures int
	// RollingBy, SoakBy and FailuresBy are phrases for users.
	RollingBy, SoakBy, FailuresBy string
	// Urgent reports whether workloads wait for no other, and Resumed whether failures no longer
	// count for the present data.
	Urgent, Resumed bool
}

// SettingsOf returns the settings of a source. The most specific one counts: of the source itself,
// of its namespace, or of the flags.
func SettingsOf(src *source.Source, namespace, flags annotations.Waves) Settings {
	own := src.Annotations.Waves.Waves()
	s := Settings{Urgent: own.Urgent, Resumed: own.Resumed != "" && own.Resumed == src.Digest.String()}
	for _, from := range []struct {
		set   annotations.Waves
		by    func(key, flag string) string
		isAll bool
	}{
		{own, func(key, _ string) string { return key + " on " + src.Key.Kind.String() + " " + src.Key.Name }, false},
		{namespace, func(key, _ string) string { return key + " on the namespace" }, false},
		{flags, func(_, flag string) string { return "--" + flag }, true},
	} {
		if s.RollingBy == "" && (from.set.MaxRolling != annotations.Share{}) {
			s.MaxRolling, s.RollingBy = from.set.MaxRolling, from.by(annotations.MaxRolling, "max-rolling")
		}
		if s.SoakBy == "" && (from.set.HasSoak || from.isAll) {
			s.Soak, s.SoakBy = from.set.Soak, from.by(annotations.Soak, "soak")
		}
		if s.FailuresBy == "" && (from.set.HasMaxFailures || from.isAll) {
			s.MaxFailures, s.FailuresBy = int(from.set.MaxFailures), from.by(annotations.MaxFailures, "max-failures")
		}
	}
	return s
}
