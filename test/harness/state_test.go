package harness

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

const settings = `
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {colour: green}
---
apiVersion: v1
kind: Secret
metadata: {name: login}
stringData: {password: hunter2, user: ann}
`

func TestPodsAreFreshWhenNoneIsOlderThanTheContent(t *testing.T) {
	t.Parallel()
	eachWorkload(t, func(t *testing.T, ctx context.Context, n *Namespace, workload Ref) {
		fresh := func(ctx context.Context, source string) error { return n.AwaitFresh(ctx, workload, ref(t, source)) }
		must(t, n.Apply(ctx, settings))
		for source, edit := range map[string]string{"configmap/settings": "colour=red", "secret/login": "password=hunter3"} {
			must(t, n.Edit(ctx, ref(t, source), edit))
			short, cancel := context.WithTimeoutCause(ctx, time.Second/2, errors.New("long enough"))
			defer cancel()
			wantError(t, fresh(short, source), "was made in version", "the content is of version", "long enough")
		}
		must(t, n.Apply(ctx, strings.ReplaceAll(workloads, "app:1", "app:2")))
		must(t, fresh(ctx, "configmap/settings"))
		must(t, fresh(ctx, "secret/login"))
		// What is not content makes no pod older.
		must(t, n.Annotate(ctx, ref(t, "configmap/settings"), "reviewed-by=ann"))
		must(t, n.Edit(ctx, ref(t, "secret/login"), "password=hunter3"))
		must(t, fresh(ctx, "configmap/settings"))
		must(t, fresh(ctx, "secret/login"))
	})
}

func TestFreshOfWhatHasNoPodsOrContent(t *testing.T) {
	t.Parallel()
	ctx, n := newNamespace(t)
	must(t, n.Apply(ctx, settings))
	must(t, n.Apply(ctx, strings.Replace(workloads, "replicas: 2", "replicas: 0", 1)))
	short, cancel := context.WithTimeoutCause(ctx, time.Second/2, errors.New("long enough"))
	defer cancel()
	wantError(t, n.AwaitFresh(short, ref(t, "deployment/web"), ref(t, "configmap/settings")), "there is no pod")
	wantError(t, n.AwaitFresh(ctx, ref(t, "deployment/web"), ref(t, "deployment/web")), "name a configmap or a secret")
}

func TestEveryObjectButSecretsIsShown(t *testing.T) {
	t.Parallel()
	ctx, n := newNamespace(t)
	must(t, n.Apply(ctx, settings))
	must(t, n.Apply(ctx, workloads))
	must(t, n.AwaitReady(ctx, ref(t, "statefulset/db")))
	shown, err := n.Shown(ctx)
	must(t, err)
	for _, want := range []string{"configmaps/settings", "deployments/web", "pods/db-0", "serviceaccounts/default"} {
		if shown[want] == "" {
			t.Errorf("%s is not shown", want)
		}
	}
	if !strings.Contains(shown["configmaps/settings"], "green") {
		t.Error("the ConfigMap is shown without its content")
	}
	for place, text := range shown {
		if strings.Contains(text, "aHVudGVyMg") || strings.Contains(text, "hunter2") {
			t.Errorf("the Secret is shown in %s", place)
		}
	}
}

func TestAReportShowsWhatWasSeen(t *testing.T) {
	t.Parallel()
	ctx, n := newNamespace(t)
	must(t, n.Apply(ctx, settings))
	must(t, n.Apply(ctx, workloads))
	must(t, n.Annotate(ctx, ref(t, "deployment/web"), "team=shop"))
	must(t, n.AwaitReady(ctx, ref(t, "deployment/web")))
	must(t, n.Apply(ctx, strings.ReplaceAll(workloads, "app:1", "app:2")))
	must(t, n.AwaitRolls(ctx, ref(t, "deployment/web"), 1))
	var report string
	must(t, Await(ctx, "the event of the rollout", func(ctx context.Context) error {
		report = n.Report(ctx)
		if !strings.Contains(report, "deployment/web: Normal ScalingReplicaSet") {
			return errors.New("it is not reported")
		}
		return nil
	}))
	for _, want := range []string{
		"namespace " + n.Name,
		"deployment/web                 first revision: ReplicaSet web-",
		"* deployment/web                 rollout 1: revision 2, ReplicaSet web-",
		"configmap/settings             created",
		"annotation team: shop",
	} {
		if !strings.Contains(report, want) {
			t.Errorf("the report does not say %q", want)
		}
	}
	if strings.Contains(report, "hunter2") || strings.Contains(report, "green") {
		t.Error("the report shows content")
	}
	if t.Failed() {
		t.Log(report)
	}
}
