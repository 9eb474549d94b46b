package permissions

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/test/harness"
)

// metaInfo returns the ConfigMap once it is as wanted.
func (p *place) metaInfo(what string, wanted func(*corev1.ConfigMap) bool) *corev1.ConfigMap {
	p.Helper()
	var found *corev1.ConfigMap
	p.must(harness.Await(p.ctx, "the ConfigMap reloader-meta-info "+what, func(ctx context.Context) error {
		var err error
		found, err = p.on.Admin.CoreV1().ConfigMaps(p.ns.Name).Get(ctx, "reloader-meta-info", metav1.GetOptions{})
		if err == nil && !wanted(found) {
			return errors.New("it is not yet")
		}
		return err
	}))
	return found
}

// usesIt would be rolled by every change of the ConfigMap, if that was a source.
const usesIt = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, annotations: {configmap.reloader.stakater.com/reload: reloader-meta-info}}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: app, image: web, envFrom: [{configMapRef: {name: reloader-meta-info}}]}]}
`

func TestWhatRunsIsWrittenDown(t *testing.T) {
	p := newPlace(t)
	p.grant(asShipped(t, false))
	c := p.launch("--auto-reload-all")
	there := func(cm *corev1.ConfigMap) bool { return cm.Data["deploymentInfo"] != "" }
	first := p.metaInfo("to be made", there)
	if first.Labels["reloader.stakater.com/meta-info"] != "reloader" {
		t.Errorf("labels: %v", first.Labels)
	}
	var build struct{ GoVersion, ReleaseVersion, CommitHash, CommitTime string }
	p.must(json.Unmarshal([]byte(first.Data["buildInfo"]), &build))
	if !strings.HasPrefix(build.GoVersion, "go1.") || build.ReleaseVersion == "" || build.CommitTime == "" {
		t.Errorf("buildInfo: %s", first.Data["buildInfo"])
	}
	var options map[string]any
	p.must(json.Unmarshal([]byte(first.Data["reloaderOptions"]), &options))
	if options["autoReloadAll"] != true || options["logFormat"] != "json" || options["reloaderAutoAnnotation"] != "reloader.stakater.com/auto" || options["enableHA"] != false {
		t.Errorf("reloaderOptions: %s", first.Data["reloaderOptions"])
	}
	if want := `{"name":"reroll","namespace":"` + p.ns.Name + `"}`; first.Data["deploymentInfo"] != want {
		t.Errorf("deploymentInfo: %s, want %s", first.Data["deploymentInfo"], want)
	}

	// It is no source: when it changes, a workload that names it stays. Another that changes later
	// has been acted upon then.
	p.must(p.ns.Apply(p.ctx, usesIt))
	p.must(p.ns.AwaitReady(p.ctx, web))
	p.must(c.Stop(p.ctx))
	c = p.launch("--auto-reload-all")
	p.must(c.AwaitReady(p.ctx))
	p.says(c, "holding the lease")
	p.must(p.ns.Apply(p.ctx, marker))
	p.must(p.ns.AwaitReady(p.ctx, markerRef))
	p.must(c.Stop(p.ctx))

	// Started again as it was, it wrote nothing. Told something else, it writes that, and leaves
	// what others have added.
	second := p.metaInfo("to be there", there)
	// The API server takes a write that changes nothing without making a new version of it.
	writes, err := p.ns.Writes(p.on.Cluster.AuditLog(), harness.Ref{Kind: "configmap", Name: "reloader-meta-info"})
	p.must(err)
	// Three writes of the first start: since when its settings hold takes two, and what runs one.
	if writes != 3 || second.ResourceVersion != first.ResourceVersion {
		t.Errorf("written %d times: %v, then %v", writes, first.Data, second.Data)
	}
	second.Data["note"] = "of somebody else"
	_, err = p.on.Admin.CoreV1().ConfigMaps(p.ns.Name).Update(p.ctx, second, metav1.UpdateOptions{})
	p.must(err)
	c = p.launch("--auto-reload-all", "--log-level=debug")
	third := p.metaInfo("to have another level", func(cm *corev1.ConfigMap) bool {
		return strings.Contains(cm.Data["reloaderOptions"], `"logLevel":"debug"`)
	})
	if third.Data["note"] != "of somebody else" {
		t.Errorf("what somebody has added is gone: %v", third.Data)
	}
	p.must(c.AwaitReady(p.ctx))
	p.must(p.ns.Edit(p.ctx, harness.Ref{Kind: "configmap", Name: "marker"}, "colour=red"))
	p.must(p.ns.AwaitRolls(p.ctx, markerRef, 1))
	rolled, err := p.ns.Rolls(p.ctx, web)
	p.must(err)
	if rolled != 0 {
		t.Errorf("a workload that names it rolled %d times", rolled)
	}
}

var markerRef = harness.Ref{Kind: "deployment", Name: "marker"}

var marker = strings.NewReplacer("name: web", "name: marker", "app: web", "app: marker").Replace(manifest)

func TestADryRunWritesNothingDown(t *testing.T) {
	p := newPlace(t)
	p.grant(asShipped(t, false))
	c := p.launch("--dry-run")
	p.must(c.AwaitReady(p.ctx))
	p.must(c.Stop(p.ctx))
	_, err := p.on.Admin.CoreV1().ConfigMaps(p.ns.Name).Get(p.ctx, "reloader-meta-info", metav1.GetOptions{})
	if !apierrors.IsNotFound(err) {
		t.Errorf("got %v", err)
	}
}
