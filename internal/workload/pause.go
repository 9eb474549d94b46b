package workload

import (
	"encoding/json"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/internal/annotations"
)

// Pause holds the fields of a workload about its being paused.
type Pause struct {
	// Paused is the field itself.
	Paused bool
	// Since is the text of the annotation PausedAt, and Noted reports whether it exists.
	Since string
	Noted bool
	// Own reports whether we set the field, and Others whether another client set it without
	// recording since when.
	Own, Others bool
}

// ReadPause returns what an object says of its pause.
func ReadPause(meta *metav1.ObjectMeta, paused bool, names annotations.Names) Pause {
	p := Pause{Paused: paused}
	p.Since, p.Noted = meta.Annotations[names.PausedAt]
	if !paused {
		return p
	}
	for i := range meta.ManagedFields {
		f := &meta.ManagedFields[i]
		if f.FieldsV1 == nil {
			continue
		}
		var owned struct {
			Metadata struct {
				Annotations map[string]json.RawMessage `json:"f:annotations"`
			} `json:"f:metadata"`
			Spec struct {
				Paused json.RawMessage `json:"f:paused"`
			} `json:"f:spec"`
		}
		if err := json.Unmarshal([]byte(f.FieldsV1.GetRawString()), &owned); err != nil || owned.Spec.Paused == nil {
			continue
		}
		_, notes := owned.Metadata.Annotations["f:"+names.PausedAt]
		switch {
		case f.Manager == FieldManager:
			p.Own = true
		case !notes: // Reloader does, and so does a client that restores the whole object
			p.Others = true
		}
	}
	return p
}

// Ours reports whether Reroll paused the workload until its period is over, and not
// because a user wants it to be.
func (p *Pause) Ours() bool { return p.Paused && !p.Others && (p.Noted || p.Own) }

// Leftover reports whether the annotation is there and says nothing: somebody else has
// ended the pause, or has made it his.
func (p *Pause) Leftover() bool { return p.Noted && !p.Ours() }

// Pauses reports whether a reload is to hold the workload still from now on. One that
// is paused already stays so as long as it would.
func (w *Workload) Pauses() bool {
	_, set := w.Policy.PausePeriod()
	return set && w.Pausable && !w.Pause.Paused
}

// PauseUntil is when a pause of ours ends, and false if it has to end at once.
func (w *Workload) PauseUntil() (time.Time, bool) {
	since, err := time.Parse(time.RFC3339, w.Pause.Since)
	period, set := w.Policy.PausePeriod()
	return since.Add(period), err == nil && set
}

// clockSkew is by how much the clock of an instance may be ahead of that of the
// next one.
const clockSkew = time.Minute

// PauseEnd is why a pause of ours ends.
type PauseEnd struct {
	// Why is a clause.
	Why string
	// Spoilt reports whether what was noted about it was changed by somebody.
	Spoilt bool
}

// PauseLeft is how much of a pause of ours is left. Once that is nothing, the end
// says why.
func (w *Workload) PauseLeft(now time.Time, names annotations.Names) (time.Duration, PauseEnd) {
	since, err := time.Parse(time.RFC3339, w.Pause.Since)
	period, set := w.Policy.PausePeriod()
	end := PauseEnd{Spoilt: true}
	switch left := since.Add(period).Sub(now); {
	case !w.Pause.Noted:
		end.Why = fmt.Sprintf("its annotation %s was removed", names.PausedAt)
	case err != nil:
		end.Why = fmt.Sprintf("its annotation %s has %q, which is not a time such as %s", names.PausedAt, annotations.Shortened(w.Pause.Since), now.UTC().Format(time.RFC3339))
	case since.After(now.Add(clockSkew)):
		end.Why = fmt.Sprintf("its annotation %s has %s, which is in the future", names.PausedAt, w.Pause.Since)
	case !set:
		end = PauseEnd{Why: fmt.Sprintf("its annotation %s is unset or invalid", names.PausePeriod)}
	case left > 0:
		return left, PauseEnd{}
	default:
		end = PauseEnd{Why: fmt.Sprintf("its pause-period of %s is over", period)}
	}
	return 0, end
}
