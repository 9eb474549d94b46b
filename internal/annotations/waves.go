package annotations

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"time"
	"unique"
)

// The annotations about waves.
const (
	// Wave is on the workload: workloads of a lower wave are rolled first.
	Wave = "reroll.dev/wave"
	// MaxRolling, Soak and MaxFailures are on the source or its namespace.
	MaxRolling  = "reroll.dev/max-rolling"
	Soak        = "reroll.dev/soak"
	MaxFailures = "reroll.dev/max-failures"
	// Urgent and Resumed are on the source. Resumed contains the digest of the data for which
	// failures no longer count. On the ConfigMap reloader-meta-info, it contains the time of the
	// newest reload whose failure no longer counts.
	Urgent  = "reroll.dev/urgent"
	Resumed = "reroll.dev/resumed"
)

// Share is a number of workloads, or a percentage of them. The zero Share limits nothing.
type Share struct {
	Number  int32
	Percent bool
}

var (
	errShare    = errors.New(`write a number above zero such as "5", or a percentage such as "10%"`)
	errSoak     = errors.New("write a duration of zero or more such as 5m")
	errFailures = errors.New(`write a number of zero or more such as "1"`)
	errWave     = errors.New(`write an integer such as "1" or "-1"`)
)

// ParseShare reads a number such as 5, or a percentage such as 10%.
func ParseShare(text string) (Share, error) {
	digits, percent := strings.CutSuffix(text, "%")
	n, err := strconv.ParseInt(digits, 10, 32)
	if err != nil || n < 1 || percent && n > 100 {
		return Share{}, errShare
	}
	return Share{Number: int32(n), Percent: percent}, nil
}

// Of returns how many of all workloads the share is: a percentage is rounded down, and is at least
// one workload.
func (s Share) Of(all int) int {
	switch {
	case s == Share{}:
		return math.MaxInt
	case s.Percent:
		return max(all*int(s.Number)/100, 1)
	default:
		return int(s.Number)
	}
}

// String returns the text that ParseShare reads, and nothing for the zero Share.
func (s Share) String() string {
	switch {
	case s == Share{}:
		return ""
	case s.Percent:
		return strconv.Itoa(int(s.Number)) + "%"
	default:
		return strconv.Itoa(int(s.Number))
	}
}

// ParseWave reads the wave of a workload.
func ParseWave(text string) (int32, error) {
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		return 0, errWave
	}
	return int32(n), nil
}

// Waves are the annotations of a source, or of a namespace, that set how workloads are rolled one
// after the other.
type Waves struct {
	// MaxRolling is how many workloads may roll at the same time, and the zero Share if it is
	// unset.
	MaxRolling Share
	// Soak is how long a workload has to stay available before it counts as done.
	Soak    time.Duration
	HasSoak bool
	// MaxFailures is how many workloads may fail before no further one is rolled.
	MaxFailures    int32
	HasMaxFailures bool
	// Urgent reports whether changes wait for no other workload. Resumed is the text of the digest
	// for which failures no longer count. A namespace has neither.
	Urgent  bool
	Resumed string
	// Window is the text of the windows of a source, valid or not, and BadWindow reports that it is
	// not. A namespace has its own in its policy, because they are a default there.
	Window    string
	BadWindow bool
	// Freeze is the text of the freeze of a namespace, valid or not. A source has none.
	Freeze string
	// Approval reports whether the data of a source has to be approved, and Consent is the text of
	// the digest that is. A namespace has the former in its policy.
	Approval bool
	Consent  string
}

// ReadWaves reads the annotations of a namespace, or those of a source if ofSource is true. An
// invalid value has no effect.
func ReadWaves(own map[string]string, ofSource bool) (Waves, []Mistake) {
	var w Waves
	var mistakes []Mistake
	read := func(key string, parse func(text string) error) {
		if text, ok := own[key]; ok {
			if err := parse(text); err != nil {
				mistakes = append(mistakes, Written{Values: own}.Mistake(key, "has no effect; "+err.Error()))
			}
		}
	}
	read(MaxRolling, func(text string) (err error) {
		w.MaxRolling, err = ParseShare(text)
		return err
	})
	read(Soak, func(text string) error {
		soak, err := time.ParseDuration(text)
		if err != nil || soak < 0 {
			return errSoak
		}
		w.Soak, w.HasSoak = soak, true
		return nil
	})
	read(MaxFailures, func(text string) error {
		n, err := strconv.ParseInt(text, 10, 32)
		if err != nil || n < 0 {
			return errFailures
		}
		w.MaxFailures, w.HasMaxFailures = int32(n), true
		return nil
	})
	if ofSource {
		read(Urgent, func(text string) error {
			if text != "true" && text != "false" {
				return errors.New(`write "true" or "false"`)
			}
			w.Urgent = text == "true"
			return nil
		})
		w.Resumed = strings.Clone(Shortened(own[Resumed]))
		w.Window = ReadWindow(Written{Values: own}, func(mistake Mistake) {
			w.BadWindow = own[Window] != ""
			mistakes = append(mistakes, mistake)
		})
		w.Approval = RequiresApproval(Written{Values: own}, func(mistake Mistake) { mistakes = append(mistakes, mistake) })
		w.Consent = Consent(own)
	} else {
		w.Freeze = readFreeze(own, func(mistake Mistake) { mistakes = append(mistakes, mistake) })
	}
	return w, mistakes
}

// Kept is Waves in the room of a pointer, because few of many sources have any. Equal ones are
// equal.
type Kept struct{ waves unique.Handle[Waves] }

// Keep returns the kept form.
func (w Waves) Keep() Kept {
	if w == (Waves{}) {
		return Kept{}
	}
	return Kept{unique.Make(w)}
}

// Waves returns what was kept.
func (k Kept) Waves() Waves {
	if k == (Kept{}) {
		return Waves{}
	}
	return k.waves.Value()
}
