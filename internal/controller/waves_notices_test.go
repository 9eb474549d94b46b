package controller

import (
	"testing"
	"time"

	"github.com/reroll-dev/reroll/internal/annotations"
)

func TestAnEditOfAnAnnotationRepeatsNoNoticeOfAStop(t *testing.T) {
	s := failed(t)
	alerts := s.alerts
	s.source(annotations.Soak, "1m")
	s.play(time.Minute)
	s.heard("another soak time")
	if s.alerts != alerts {
		t.Errorf("%d more alerts", s.alerts-alerts)
	}
	s.change("3")
	s.roll("w0", false)
	s.play(12 * time.Minute)
	s.heard("the next data fails, too", "ca WavesStopped: wave -1 stopped", "w1 ReloadHeld")
}
