package rollout

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/internal/digest"
	"github.com/reroll-dev/reroll/internal/ledger"
	"github.com/reroll-dev/reroll/internal/workload"
)

const content = "0979016f4f2cf61bc2934fde48d0fc1e00000000"

func TestEachCauseIsReported(t *testing.T) {
	for about, tc := range map[string]struct {
		kind     string
		progress func(*workload.Progress)
		pods     []Pod
		cause    Cause
		old      int
		pod      string
		trouble  Trouble
	}{
		"it is paused": {progress: func(p *workload.Progress) { p.Paused = true }, pods: newPod()[:2], cause: CausePaused, old: 2},
		"a pause explains more than the pods": {
			progress: func(p *workload.Progress) { p.Paused = true }, pods: newPod(waits("ImagePullBackOff", "")), cause: CausePaused, old: 2},
		"the steps of a rollout pause":         {progress: func(p *workload.Progress) { p.Pausing = true }, pods: newPod(), cause: CausePausing, old: 2},
		"a rollout was aborted":                {progress: func(p *workload.Progress) { p.Aborted = true }, pods: newPod()[:2], cause: CauseAborted, old: 2},
		"pods are replaced when deleted alone": {progress: func(p *workload.Progress) { p.OnDelete = true }, pods: newPod(), cause: CauseOnDelete, old: 2},
		"a quota is full": {
			progress: func(p *workload.Progress) { p.Refused = `pods "web-7" is forbidden: exceeded quota: two` }, pods: newPod()[:2],
			cause: CauseQuota, old: 2, trouble: Trouble{Cause: CauseQuota, Message: `pods "web-7" is forbidden: exceeded quota: two`}},
		"an admission rule refuses pods": {
			progress: func(p *workload.Progress) { p.Refused = `pods "web-7" is forbidden: violates PodSecurity` }, pods: newPod()[:2],
			cause: CauseRefused, old: 2, trouble: Trouble{Cause: CauseRefused, Message: `pods "web-7" is forbidden: violates PodSecurity`}},
		"a quota is full, and every old pod is gone": {
			progress: func(p *workload.Progress) { p.Refused, p.Updated, p.Total = "exceeded quota", 0, 0 },
			cause:    CauseQuota, trouble: Trouble{Cause: CauseQuota, Message: "exceeded quota"}},
		"an image cannot be pulled": {
			pods: newPod(waits("ImagePullBackOff", "Back-off pulling image")), cause: CauseImagePull, old: 2, pod: "web-new",
			trouble: Trouble{Cause: CauseImagePull, Container: "app", Image: "web:1.0", Reason: "ImagePullBackOff"}},
		"a container crashes": {
			pods: newPod(waits("CrashLoopBackOff", ""), ended(137)), cause: CauseCrashLoop, old: 2, pod: "web-new",
			trouble: Trouble{Cause: CauseCrashLoop, Container: "app", Image: "web:1.0", Reason: "CrashLoopBackOff", Exited: true, ExitCode: 137}},
		"a container that crashes runs at the moment": {
			pods: newPod(notReady, ended(1)), cause: CauseCrashLoop, old: 2, pod: "web-new",
			trouble: Trouble{Cause: CauseCrashLoop, Container: "app", Image: "web:1.0", Reason: "started 4 times", Exited: true, ExitCode: 1}},
		"a container runs out of memory": {
			pods: newPod(waits("CrashLoopBackOff", ""), outOfMemoryOnce), cause: CauseOutOfMemory, old: 2, pod: "web-new",
			trouble: Trouble{Cause: CauseOutOfMemory, Container: "app", Image: "web:1.0", Reason: "OOMKilled", Exited: true, ExitCode: 137}},
		"a container that ran out of memory runs at the moment": {
			pods: newPod(notReady, outOfMemoryOnce), cause: CauseOutOfMemory, old: 2, pod: "web-new",
			trouble: Trouble{Cause: CauseOutOfMemory, Container: "app", Image: "web:1.0", Reason: "OOMKilled", Exited: true, ExitCode: 137}},
		"a container has run out of memory just now": {
			pods: newPod(notReady, func(pod *corev1.Pod) {
				pod.Status.ContainerStatuses[0].State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 137, Reason: "OOMKilled"}}
			}), cause: CauseOutOfMemory, old: 2, pod: "web-new",
			trouble: Trouble{Cause: CauseOutOfMemory, Container: "app", Image: "web:1.0", Reason: "OOMKilled", Exited: true, ExitCode: 137}},
		"out of memory once, and an image that is missing now": {
			pods: newPod(waits("ImagePullBackOff", ""), outOfMemoryOnce), cause: CauseImagePull, old: 2, pod: "web-new",
			trouble: Trouble{Cause: CauseImagePull, Container: "app", Image: "web:1.0", Reason: "ImagePullBackOff", Exited: true, ExitCode: 137}},
		"a key is missing": {
			pods: newPod(waits("CreateContainerConfigError", "couldn't find key a in ConfigMap shop/cfg")), cause: CauseCannotStart, old: 2, pod: "web-new",
			trouble: Trouble{Cause: CauseCannotStart, Container: "app", Image: "web:1.0", Reason: "CreateContainerConfigError", Message: "couldn't find key a in ConfigMap shop/cfg"}},
		"what a runtime says is not repeated": {
			pods: newPod(waits("CreateContainerError", "exec: --password=hunter2")), cause: CauseCannotStart, old: 2, pod: "web-new",
			trouble: Trouble{Cause: CauseCannotStart, Container: "app", Image: "web:1.0", Reason: "CreateContainerError"}},
		"no node has room": {
			pods: newPod(unscheduled), cause: CauseUnschedulable, old: 2, pod: "web-new",
			trouble: Trouble{Cause: CauseUnschedulable, Reason: "Unschedulable", Message: "0/2 nodes are available: 2 Insufficient cpu."}},
		"it does not become ready": {
			pods: newPod(notReady), cause: CauseReadiness, old: 2, pod: "web-new",
			trouble: Trouble{Cause: CauseReadiness, Container: "app", Image: "web:1.0"}},
		"a readiness gate is shut": {
			pods: newPod(func(pod *corev1.Pod) { pod.Status.Conditions = nil }), cause: CauseReadiness, old: 2, pod: "web-new",
			trouble: Trouble{Cause: CauseReadiness}},
		"the worst of several pods tells": {
			pods: append(newPod(notReady), podOf("web-z", true, waits("ErrImagePull", ""))), cause: CauseImagePull, old: 2, pod: "web-z",
			trouble: Trouble{Cause: CauseImagePull, Container: "app", Image: "web:1.0", Reason: "ErrImagePull"}},
		"an old pod that fails is about to go": {
			pods: []Pod{podOf("web-old", false, waits("ImagePullBackOff", "")), podOf("web-new", true, notReady)}, cause: CauseReadiness, old: 1, pod: "web-new",
			trouble: Trouble{Cause: CauseReadiness, Container: "app", Image: "web:1.0"}},
		"an old pod that fails blocks an ordered StatefulSet": {
			kind: "StatefulSet", progress: func(p *workload.Progress) { p.Ordered, p.Revision = true, "web-2" },
			pods:  []Pod{podOf("web-0", false, waits("CrashLoopBackOff", "")), podOf("web-1", false)},
			cause: CauseOrdered, old: 2, pod: "web-0",
			trouble: Trouble{Cause: CauseCrashLoop, Container: "app", Image: "web:1.0", Reason: "CrashLoopBackOff"}},
		"a pod of a template in between blocks it": {
			kind: "StatefulSet", progress: func(p *workload.Progress) { p.Ordered, p.Revision = true, "web-3" },
			pods:  []Pod{podOf("web-0", false), podOf("web-1", true, waits("ImagePullBackOff", ""))},
			cause: CauseOrdered, old: 1, pod: "web-1",
			trouble: Trouble{Cause: CauseImagePull, Container: "app", Image: "web:1.0", Reason: "ImagePullBackOff"}},
		"it does not block one that is not ordered": {
			kind: "StatefulSet", progress: func(p *workload.Progress) { p.Revision, p.Wanted = "web-3", 2 },
			pods:  []Pod{podOf("web-0", false), podOf("web-1", true, waits("ImagePullBackOff", ""))},
			cause: CauseUnknown, old: 1},
		"a partition keeps them": {progress: func(p *workload.Progress) { p.Partition = 2 }, pods: newPod(), cause: CausePartition, old: 2},
		"a pod beyond the partition fails": {
			progress: func(p *workload.Progress) { p.Partition = 1 }, pods: newPod(notReady), cause: CauseReadiness, old: 2, pod: "web-new",
			trouble: Trouble{Cause: CauseReadiness, Container: "app", Image: "web:1.0"}},
		"pods are not there":     {pods: newPod()[:2], cause: CauseMissing, old: 2},
		"nothing shows a reason": {pods: newPod(), cause: CauseUnknown, old: 2},
		"none is found":          {cause: CauseNotFound},
		"no pods are made": {
			progress: func(p *workload.Progress) { p.Total, p.Updated, p.Available = 0, 0, 0 }, cause: CauseMissing},
		"none is to be there": {
			progress: func(p *workload.Progress) { p.Wanted, p.Total, p.Updated, p.Available = 0, 0, 0, 0 }, cause: ""},
		"all of them are younger":                {progress: func(p *workload.Progress) { p.Wanted = 1 }, pods: newPod()[2:], cause: ""},
		"all are younger, and not all are there": {pods: newPod()[2:], cause: CauseMissing},
		"all are younger, and a quota leaves no room": {
			progress: func(p *workload.Progress) { p.Refused = `pods "web-7" is forbidden: exceeded quota: two` }, pods: newPod()[2:],
			cause: CauseQuota, trouble: Trouble{Cause: CauseQuota, Message: `pods "web-7" is forbidden: exceeded quota: two`}},
	} {
		t.Run(about, func(t *testing.T) {
			w := afterReload(tc.kind)
			if tc.progress != nil {
				tc.progress(&w.Progress)
			}
			p, ok := LatestReload(w)
			if !ok {
				t.Fatal("the reload is not followed")
			}
			o := p.PodsOutcome(w, tc.pods)
			if o.Cause != tc.cause || o.Old != tc.old || o.All != len(tc.pods) || o.Pod != tc.pod || o.Trouble != tc.trouble {
				t.Errorf("got %+v", o)
			}
		})
	}
}

func TestACauseInTheObjectIsReportedAtOnce(t *testing.T) {
	for about, tc := range map[string]struct {
		progress workload.Progress
		cause    Cause
		old      int
		allKept  bool
	}{
		"paused for a while":                {workload.Progress{Observed: true, Total: 3, Updated: 1, Paused: true, PausedByReroll: true}, CausePausePeriod, 2, true},
		"paused":                            {workload.Progress{Observed: true, Total: 3, Updated: 1, Paused: true}, CausePaused, 2, true},
		"not until the status is about it":  {workload.Progress{Total: 3, Paused: true}, "", 0, false},
		"not when all pods are new":         {workload.Progress{Observed: true, Total: 3, Updated: 3, Paused: true}, "", 0, false},
		"by deletion alone":                 {workload.Progress{Observed: true, Total: 3, OnDelete: true}, CauseOnDelete, 3, true},
		"a partition, others are under way": {workload.Progress{Observed: true, Total: 3, Updated: 1, Partition: 1}, CausePartition, 1, false},
		"a partition, others have rolled":   {workload.Progress{Observed: true, Total: 3, Updated: 2, Partition: 1}, CausePartition, 1, true},
		"a partition beyond all pods":       {workload.Progress{Observed: true, Total: 3, Partition: 7}, CausePartition, 3, true},
		"nothing":                           {workload.Progress{Observed: true, Total: 3, Updated: 1, Pausing: true, Refused: "quota"}, "", 0, false},
	} {
		t.Run(about, func(t *testing.T) {
			if cause, old := Purpose(&tc.progress); cause != tc.cause || old != tc.old || AllKeptOnPurpose(&tc.progress) != tc.allKept {
				t.Errorf("cause %q, %d old, allKept %t", cause, old, AllKeptOnPurpose(&tc.progress))
			}
		})
	}
}

func TestARestartIsProvedByTheAgeOfPods(t *testing.T) {
	w := afterReload("Rollout")
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	w.Marks.RestartAt = at.Format(time.RFC3339)
	w.LedgerText = ledger.Ledger{UID: w.UID, Counter: 1, Step: ledger.StepRestartFirst, Marks: w.Marks.DigestAfter(ledger.StepRestartFirst)}.String()
	p, ok := LatestReload(w)
	if !ok {
		t.Fatal("the reload is not followed")
	}
	born := func(after time.Duration) Pod {
		return podOf("web", true, func(pod *corev1.Pod) { pod.CreationTimestamp = metav1.NewTime(at.Add(after)) })
	}
	if o := p.PodsOutcome(w, []Pod{born(-time.Second), born(0), born(time.Second)}); o.Old != 1 {
		t.Errorf("%d are older than the restart", o.Old)
	}
}

func TestWhichReloadsAreTracked(t *testing.T) {
	for about, tc := range map[string]struct {
		change func(*workload.Workload)
		ledger func(*ledger.Ledger)
		want   bool
	}{
		"a reload":                                           {want: true},
		"also under another image":                           {change: func(w *workload.Workload) { w.Template = digest.Digest{7} }, want: true},
		"not one whose mark was taken away":                  {change: func(w *workload.Workload) { w.Marks.Env = nil }},
		"not one of another object":                          {change: func(w *workload.Workload) { w.UID = "u-2" }},
		"not one without a ledger":                           {change: func(w *workload.Workload) { w.LedgerText = "" }},
		"not what was only noted":                            {ledger: func(l *ledger.Ledger) { l.Counter = 0 }},
		"not one that others have overtaken under its marks": {ledger: func(l *ledger.Ledger) { l.Marks = digest.Digest{} }},
	} {
		t.Run(about, func(t *testing.T) {
			w := afterReload("Deployment")
			if tc.ledger != nil {
				l, err := ledger.Parse(w.LedgerText)
				if err != nil {
					t.Fatal(err)
				}
				tc.ledger(&l)
				w.LedgerText = l.String()
			}
			if tc.change != nil {
				tc.change(w)
			}
			if _, got := LatestReload(w); got != tc.want {
				t.Errorf("followed: %t", got)
			}
		})
	}
}

func TestAReloadHasConverged(t *testing.T) {
	for about, tc := range map[string]struct {
		change func(*workload.Workload)
		old    int
		want   bool
	}{
		"all pods are new": {want: true},
		"it may have pods, and none is found": {change: func(w *workload.Workload) {
			w.Progress, w.SelectorGuessed = workload.Progress{Observed: true, NoCounts: true}, true
		}},
		"the status says more is to come":                       {change: func(w *workload.Workload) { w.RolledOut = false }},
		"an old one runs, whatever the status":                  {old: 1},
		"all old ones are gone, and no new one is there":        {change: func(w *workload.Workload) { w.Progress.Updated, w.Progress.Total = 0, 0 }},
		"the last old one is gone, and no new one is there yet": {change: func(w *workload.Workload) { w.Progress.Updated, w.Progress.Total = 2, 2 }},
		"it is to have none":                                    {change: func(w *workload.Workload) { w.Progress = workload.Progress{Observed: true} }, want: true},
	} {
		t.Run(about, func(t *testing.T) {
			w := afterReload("Deployment")
			w.RolledOut, w.Progress.Updated = true, 3
			if tc.change != nil {
				tc.change(w)
			}
			pods := newPod()[2-tc.old:]
			if w.Progress.Total == 0 {
				pods = nil
			}
			p, _ := LatestReload(w)
			if o := p.PodsOutcome(w, pods); o.Converged(w) != tc.want {
				t.Errorf("converged: %t", !tc.want)
			}
		})
	}
}

func TestStepsForwardComeToAnEnd(t *testing.T) {
	var b Best
	reach := func(updated, available, total int32) bool {
		return b.Reach(&workload.Progress{Observed: true, Updated: updated, Available: available, Total: total})
	}
	if b.Reach(&workload.Progress{Updated: 3}) {
		t.Error("a status of before counts")
	}
	if !reach(0, 3, 3) || !reach(1, 3, 4) || !reach(1, 4, 4) || !reach(1, 3, 3) {
		t.Error("a step forward does not count")
	}
	for range 10 { // a pod that is ready for a moment, and one that is made again and again
		if reach(1, 4, 4) || reach(1, 3, 4) || reach(0, 3, 3) {
			t.Fatal("going back and forth counts")
		}
	}
	if !reach(2, 3, 3) {
		t.Error("a later step does not count")
	}
}

func TestPodsOfOthersDoNotCount(t *testing.T) {
	owned := func(kind string) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{{Kind: kind, UID: "rs", Name: "web-7d", Controller: new(true)}}}}
	}
	for about, tc := range map[string]struct {
		kind string
		pod  *corev1.Pod
		want bool
	}{
		"made by hand":                   {"Deployment", &corev1.Pod{}, false},
		"of a Job":                       {"Deployment", owned("Job"), false},
		"of a ReplicaSet":                {"Deployment", owned("ReplicaSet"), true},
		"a StatefulSet has none of them": {"StatefulSet", owned("ReplicaSet"), false},
	} {
		t.Run(about, func(t *testing.T) {
			if got := afterReload(tc.kind).MadeBy(tc.pod); got != tc.want {
				t.Errorf("counted: %t", got)
			}
		})
	}
	own := owned("DaemonSet")
	own.OwnerReferences[0].UID = "u-1"
	if !afterReload("DaemonSet").MadeBy(own) {
		t.Error("its own does not count")
	}
}
