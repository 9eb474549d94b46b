package workload

import (
	"encoding/json"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/internal/annotations"
)

// Pause contains the fields that pause a workload.
type Pause struct {
	// Paused is the field in the spec.
	Paused bool
	// Since is the text of the annotation PausedAt, and Noted reports whether it exists.
	Since string
	Noted bool
	// Own reports whether Reroll set the field, and Others whether another client set it without
	// recording the time.
	Own, Others bool
}

// ReadPause reads the pause of an object.
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

// Ours reports whether Reroll paused the workload until its period is over.
func (p *Pause) Ours() bool { return p.Paused && !p.Others && (p.Noted || p.Own) }

// Leftover reports whether the annotation exists without a pause of ours: another client has
// resumed the workload, or paused it itself.
func (p *Pause) Leftover() bool { return p.Noted && !p.Ours() }

// Pauses reports whether a reload has to pause the workload from now on. A workload that is paused
// already stays paused for as long as before.
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

// clockSkew is how far the clock of one replica may be ahead of the clock of the next leader.
const clockSkew = time.Minute

// PauseEnd is why a pause of ours ends.
type PauseEnd struct {
	// Why is a clause.
	Why string
	// Spoilt reports whether another client changed the record of the pause.
	Spoilt bool
}

// PauseLeft is the remaining time of a pause of ours, and why the pause ends when it is zero.
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
