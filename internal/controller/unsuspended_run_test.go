package controller

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/reroll-dev/reroll/internal/kinds"
	"github.com/reroll-dev/reroll/internal/workload"
	"github.com/reroll-dev/reroll/test/simapi"
)

// answerToJobLost is an API server whose answer to the first write of a Job is lost. The watch is late.
type answerToJobLost struct {
	*jobStage
	lost bool
	then func()
}

// Patch implements API.
func (l *answerToJobLost) Patch(ctx context.Context, kind kinds.Kind, key workload.Key, patch kinds.Patch) (runtime.Object, error) {
	if kind.Name != "Job" || l.lost {
		return l.jobStage.Patch(ctx, kind, key, patch)
	}
	l.lost = true
	if _, err := l.stage.Patch(ctx, kind, key, patch); err != nil {
		return nil, err
	}
	l.then()
	return nil, errors.New("connection reset by peer")
}

// The Job controller creates the Pods of a Job before its status shows that. They may have read data
// that changed between the two.
func TestAChangeIsNotLostWhileTheStatusOfARunLags(t *testing.T) {
	label := func(s *jobStage) (labeled simapi.Object) {
		for _, o := range s.server.List("jobs") {
			var err error
			if labeled, err = s.server.Edit("jobs", inShop(o.GetName()), "kubectl", func(o simapi.Object) { o.GetLabels()["team"] = "shop" }); err != nil {
				t.Fatal(err)
			}
		}
		return labeled
	}
	for about, tc := range map[string]struct {
		happens func(*jobStage)
		runs    int
	}{
		"nothing changes":                       {func(s *jobStage) { s.play(time.Minute) }, 1},
		"a client labels the Job":               {func(s *jobStage) { s.play(time.Minute); s.jobHandler().arrives(label(s)) }, 1},
		"a client labels it after another edit": {func(s *jobStage) { s.playUntilRun(); s.edit("load", "3"); s.jobHandler().arrives(label(s)) }, 2},
		"the first answer is lost before the same": {func(s *jobStage) {
			s.sends(&answerToJobLost{jobStage: s, then: func() { s.edit("load", "3"); label(s) }})
		}, 2},
	} {
		t.Run(about, func(t *testing.T) {
			s := newJobStage(t)
			s.cronJob("report", func(*batchv1.CronJob) {})
			s.writes = nil
			s.edit("load", "2")
			tc.happens(s)
			s.play(10 * time.Minute)
			runs := 0
			for _, what := range s.writes {
				if strings.HasPrefix(what, "create ") {
					runs++
				}
			}
			if runs != tc.runs {
				t.Errorf("%d runs, want %d: %v", runs, tc.runs, s.writes)
			}
		})
	}
}

// playUntilRun plays until a run is unsuspended.
func (s *jobStage) playUntilRun() {
	s.Helper()
	for range 100 {
		if len(s.writes) > 0 && strings.HasPrefix(s.writes[len(s.writes)-1], "patch report-") {
			return
		}
		s.play(100 * time.Millisecond)
	}
	s.Fatalf("nothing runs: %v", s.writes)
}
