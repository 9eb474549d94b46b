package controller

import (
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/internal/workload"
)

// All of it is within one second, so that the times of the API do not show what came first.
func TestARunOfTheScheduleThatBeginsWhileAReloadWaitsHasTheChange(t *testing.T) {
	for about, tc := range map[string]struct {
		before, meanwhile []string
		again             bool // the data changes again
		later             []string
		runs              bool
	}{
		"no run begins":                    {nil, nil, false, nil, true},
		"a run has begun before":           {[]string{"report-1"}, nil, false, nil, true},
		"a run begins meanwhile":           {nil, []string{"report-1"}, false, nil, false},
		"one has begun and another begins": {[]string{"report-1"}, []string{"report-2"}, false, nil, false},
		"the data changes after it":        {nil, []string{"report-1"}, true, nil, true},
		"one begins after both changes":    {nil, []string{"report-1"}, true, []string{"report-2"}, false},
	} {
		t.Run(about, func(t *testing.T) {
			s := newJobStage(t)
			s.lead()
			s.opts().Window = evening
			s.cronJob("report", func(*batchv1.CronJob) {})
			s.scheduled(tc.before...)
			s.edit("load", "2")
			s.play(time.Minute)
			s.scheduled(tc.meanwhile...)
			if tc.again {
				s.edit("load", "3")
			}
			s.play(time.Minute)
			s.scheduled(tc.later...)
			lists := s.lists
			s.play(8 * time.Hour)
			if s.lists != lists {
				t.Errorf("it listed the Jobs %d times while nothing changed", s.lists-lists)
			}
			s.play(2 * time.Hour)
			created := slices.ContainsFunc(s.writes, func(w string) bool { return strings.HasPrefix(w, "create ") })
			if created != tc.runs {
				t.Errorf("written: %v", s.writes)
			}
			if r := s.controller.recordOf(workload.Key{Kind: "CronJob", Namespace: namespace, Name: "report"}); r.begun != nil {
				t.Errorf("nothing waits, and it keeps %v", r.begun)
			}
		})
	}
}

// scheduled creates runs of the schedule.
func (s *jobStage) scheduled(names ...string) {
	s.Helper()
	of, err := s.server.Get("cronjobs", inShop("report"))
	if err != nil {
		s.Fatal(err)
	}
	isController := true
	for _, name := range names {
		if _, err := s.server.Create(&batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, OwnerReferences: []metav1.OwnerReference{
			{APIVersion: "batch/v1", Kind: "CronJob", Name: "report", UID: of.GetUID(), Controller: &isController},
		}}}, "kube-controller-manager"); err != nil {
			s.Fatal(err)
		}
	}
}
