package report

import (
	"os"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/internal/buildinfo"
	"github.com/reroll-dev/reroll/internal/reload"
	"github.com/reroll-dev/reroll/internal/rollout"
	"github.com/reroll-dev/reroll/internal/source"
)

func cfg(more ...string) []source.Key {
	var keys []source.Key
	for _, name := range append(more, "cfg") {
		keys = append(keys, source.Key{Kind: source.ConfigMap, Namespace: "shop", Name: name})
	}
	return keys
}

// A user who reads the event knows how many pods are old, why, and where to read on.
func TestNotRolledIsReportedWithItsCause(t *testing.T) {
	in := func(cause rollout.Cause, container, image, reason, message string) rollout.Trouble {
		return rollout.Trouble{Cause: cause, Container: container, Image: image, Reason: reason, Message: message}
	}
	quota := `pods "web-7d" is forbidden: exceeded quota: two, requested: pods=1, used: pods=2, limited: pods=2`
	for _, tc := range []struct {
		outcome rollout.Outcome
		want    string
	}{
		{rollout.Outcome{Cause: rollout.CausePaused}, "this Deployment is paused (spec.paused)"},
		{rollout.Outcome{Cause: rollout.CausePausePeriod}, "paused by Reroll, which is resuming it"},
		{rollout.Outcome{Cause: rollout.CausePausing}, "its rollout is paused"},
		{rollout.Outcome{Cause: rollout.CauseAborted}, "its rollout was aborted"},
		{rollout.Outcome{Cause: rollout.CauseOnDelete}, "its updateStrategy is OnDelete, so a Pod is only replaced when it is deleted"},
		{rollout.Outcome{Cause: rollout.CausePartition}, "its updateStrategy has the partition 2, which keeps that many Pods unchanged"},
		{rollout.Outcome{Cause: rollout.CauseQuota, Trouble: in("", "", "", "", quota)}, "a quota leaves no room for a new Pod (" + quota + ")"},
		{rollout.Outcome{Cause: rollout.CauseRefused, Trouble: in("", "", "", "", "violates PodSecurity")}, "new Pods are rejected (violates PodSecurity)"},
		{rollout.Outcome{Cause: rollout.CauseImagePull, New: true, Trouble: in("", "app", "web:1.0", "ImagePullBackOff", "")},
			`the new Pod web-7d cannot pull image "web:1.0" (ImagePullBackOff)`},
		{rollout.Outcome{Cause: rollout.CauseCrashLoop, New: true, Trouble: rollout.Trouble{Container: "app", Reason: "CrashLoopBackOff", Exited: true, ExitCode: 137}},
			"container app of the new Pod web-7d keeps crashing (CrashLoopBackOff, exit code 137)"},
		{rollout.Outcome{Cause: rollout.CauseOutOfMemory, New: true, Trouble: rollout.Trouble{Container: "app", Reason: "OOMKilled", Exited: true, ExitCode: 137}},
			"container app of the new Pod web-7d runs out of memory (OOMKilled, exit code 137)"},
		{rollout.Outcome{Cause: rollout.CauseCannotStart, New: true, Trouble: in("", "app", "", "CreateContainerConfigError", "couldn't find key a in ConfigMap shop/cfg")},
			"container app of the new Pod web-7d does not start (CreateContainerConfigError: couldn't find key a in ConfigMap shop/cfg)"},
		{rollout.Outcome{Cause: rollout.CauseCannotStart, New: true, Trouble: in("", "", "", "Pending", "")}, "the new Pod web-7d has not started yet (Pending)"},
		{rollout.Outcome{Cause: rollout.CauseUnschedulable, New: true, Trouble: in("", "", "", "Unschedulable", "0/2 nodes are available: 2 Insufficient cpu.")},
			"the new Pod web-7d cannot be scheduled (Unschedulable: 0/2 nodes are available: 2 Insufficient cpu)"},
		{rollout.Outcome{Cause: rollout.CauseReadiness, New: true, Trouble: in("", "app", "", "", "")}, "container app of the new Pod web-7d is running but not ready"},
		{rollout.Outcome{Cause: rollout.CauseOrdered, Trouble: in("", "app", "", "CrashLoopBackOff", "")},
			"container app of the Pod web-7d is not ready (CrashLoopBackOff), and an OrderedReady StatefulSet waits for it before it replaces any Pod"},
		{rollout.Outcome{Cause: rollout.CauseOrdered}, "the Pod web-7d is not ready (running), and an OrderedReady StatefulSet waits for it before it replaces any Pod"},
		{rollout.Outcome{Cause: rollout.CauseMissing}, "the other Pods do not exist; see the events of this Deployment"},
		{rollout.Outcome{Cause: rollout.CauseNotFound}, "no Pod has the labels app=web"},
		{rollout.Outcome{Cause: rollout.CauseUnknown}, "no Pod shows the reason"},
	} {
		t.Run(string(tc.outcome.Cause), func(t *testing.T) {
			d := newDesk(t, false)
			w := web()
			w.Progress.Partition, w.Selector = 2, &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
			o := tc.outcome
			o.Changed, o.Old, o.All, o.Wanted, o.Pod = cfg(), 2, 3, 3, "web-7d"
			d.NotRolled(w, o)
			want := "2 of 3 Pods still use the previous ConfigMap 'cfg': " + tc.want + ". See https://github.com/reroll-dev/reroll/blob/main/docs/how-to/stuck-rollouts.md#" + string(o.Cause)
			events := d.published()
			if len(events) != 1 || events[0].Type != "Warning" || events[0].Reason != "NotRolled" || events[0].Note != want {
				t.Errorf("got %+v\nwant %s", events, want)
			}
			if got := d.counted(`reloader_not_rolled_total{cause="` + string(o.Cause) + `"}`); got != 1 {
				t.Errorf("counted %v times", got)
			}
			if log := d.log.String(); !strings.Contains(log, "level=WARN") || !strings.Contains(log, "cause="+string(o.Cause)) {
				t.Errorf("the log says %s", log)
			}
		})
	}
}

func TestWhatOthersHaveWrittenLeavesRoomForTheEnd(t *testing.T) {
	text := notRolledText(web(), rollout.Outcome{
		Cause: rollout.CauseQuota, Changed: cfg("a", "b"), All: 0, Wanted: 3, Trouble: rollout.Trouble{Message: strings.Repeat("é", 5000)},
	}).String()
	if !strings.HasPrefix(text, "0 of 3 Pods use the current ConfigMap 'cfg' (and 2 more): a quota") || len(text) > maxNote-100 || !strings.HasSuffix(text, "é…). See https://github.com/reroll-dev/reroll/blob/main/docs/how-to/stuck-rollouts.md#quota") {
		t.Errorf("got %s", text)
	}
}

// An image may have a name of any length.
func TestTheAddressOfACauseIsNeverCut(t *testing.T) {
	name := strings.Repeat("n", 253)
	for about, o := range map[string]rollout.Outcome{
		"a container": {Cause: rollout.CauseCannotStart, Pod: name, Trouble: rollout.Trouble{Container: "app", Reason: "CreateContainerConfigError", Message: strings.Repeat("m", 5000)}},
		"an image":    {Cause: rollout.CauseImagePull, Pod: name, Trouble: rollout.Trouble{Image: strings.Repeat("é", 5000), Reason: "ErrImagePull"}},
		"a quota":     {Cause: rollout.CauseQuota, Trouble: rollout.Trouble{Message: strings.Repeat("é", 5000)}},
	} {
		d := newDesk(t, false)
		o.Changed, o.Old, o.All, o.Wanted = cfg(name), 1000, 1000, 1000
		d.NotRolled(web(), o)
		events := d.published()
		if want := ". See " + buildinfo.Doc("how-to/stuck-rollouts.md#"+string(o.Cause)); len(events) != 1 || !strings.HasSuffix(events[0].Note, want) || len(events[0].Note) > maxNote {
			t.Errorf("%s: got %+v", about, events)
		}
	}
}

func TestNothingIsClaimedAboutMissingPods(t *testing.T) {
	text := notRolledText(web(), rollout.Outcome{Cause: rollout.CauseNotFound, Changed: cfg(), NotFound: true, Wanted: 3}).String()
	want := "it is unknown whether its Pods use the current ConfigMap 'cfg': neither its selector nor its pod template has the labels of its Pods. " +
		"See https://github.com/reroll-dev/reroll/blob/main/docs/how-to/stuck-rollouts.md#pods-not-found"
	if text != want {
		t.Errorf("got %s", text)
	}
}

func TestTheEndOfARolloutIsReported(t *testing.T) {
	for about, tc := range map[string]struct {
		outcome rollout.Outcome
		want    string
	}{
		"all":               {rollout.Outcome{Changed: cfg(), All: 3}, "All 3 Pods use the current ConfigMap 'cfg', 42s after the reload"},
		"one":               {rollout.Outcome{Changed: cfg(), All: 1}, "The Pod uses the current ConfigMap 'cfg', 42s after the reload"},
		"none any more":     {rollout.Outcome{Changed: cfg(), AlreadyReported: true}, "There are no Pods; new Pods start with the current ConfigMap 'cfg'"},
		"nobody knows what": {rollout.Outcome{All: 3}, "All 3 Pods use the current data of its sources, 42s after the reload"},
	} {
		t.Run(about, func(t *testing.T) {
			d := newDesk(t, false)
			d.Rolled(web(), tc.outcome, 42*time.Second)
			events := d.published()
			if len(events) != 1 || events[0].Type != "Normal" || events[0].Reason != "Rolled" || events[0].Note != tc.want {
				t.Errorf("got %+v\nwant %s", events, tc.want)
			}
			if d.log.Len() > 0 {
				t.Errorf("the log says %s", d.log)
			}
		})
	}
}

func TestNoEndIsReportedForAWorkloadWithoutPods(t *testing.T) {
	d := newDesk(t, false)
	d.Rolled(web(), rollout.Outcome{Changed: cfg()}, time.Second)
	if events := d.published(); len(events) > 0 {
		t.Errorf("told %+v", events)
	}
}

func TestARevertThatIsFinalCountsAsNotRolled(t *testing.T) {
	d := newDesk(t, false)
	for _, action := range []reload.Action{reload.Reload, reload.Record, reload.Nothing} {
		d.Reverted(web(), reload.Decision{Action: action, Reverted: &reload.Revert{}})
	}
	if got := d.counted(`reloader_not_rolled_total{cause="reverted"}`); got != 1 {
		t.Errorf("counted %v times", got)
	}
}

func TestEachCauseHasItsSection(t *testing.T) {
	page, err := os.ReadFile("../../docs/how-to/stuck-rollouts.md")
	if err != nil {
		t.Fatal(err)
	}
	sections := 0
	for line := range strings.Lines(string(page)) {
		if strings.HasPrefix(line, "### ") {
			sections++
		}
	}
	if causes := rollout.Causes(); sections != len(causes) {
		t.Errorf("there are %d sections for %d causes", sections, len(causes))
	}
	for _, cause := range rollout.Causes() {
		if !strings.Contains(string(page), "\n### "+string(cause)+"\n") {
			t.Errorf("%q has no section", cause)
		}
	}
}
