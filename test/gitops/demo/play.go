package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/reroll-dev/reroll/test/argocd"
	"github.com/reroll-dev/reroll/test/cluster"
	"github.com/reroll-dev/reroll/test/harness"
	"github.com/reroll-dev/reroll/test/story"
)

// demo is one performance. It has many fields because its acts share the cluster and the tools.
type demo struct {
	story   *story.Story
	example string // the folder that is played
	binary  string
	end     context.CancelFunc

	cluster    *cluster.Cluster
	harness    *harness.Harness
	controller *harness.Controller
	// The namespaces of Reroll and of the web server, and the one that comes last.
	own, shop, staging *harness.Namespace
	// What Argo CD says of Reroll all the while.
	record *argocd.Record

	repository *argocd.Repository // of the web server
	reroll     *argocd.Application
	web        *argocd.Application
	revision   string // the last one
	second     string // the one before a revert
	until      counts // what was expected until now, of the web server
	pruned     bool   // the page was deleted while web needs it, so Reroll is right to warn of that
}

// play goes through the steps. The context living bounds what outlives them, when it is to be kept
// running.
func (d *demo) play(ctx, living context.Context, giveUp context.CancelCauseFunc) error {
	for _, step := range []func(context.Context) error{
		func(ctx context.Context) error { return d.openCluster(ctx, living) },
		func(ctx context.Context) error { return d.install(ctx, giveUp) },
		d.pruneOwn,
		d.deploy,
		d.scaleByHand,
		d.withoutAutomation,
		d.commitReplicas,
		d.commitPage,
		d.revertCommit,
		d.rollback,
		d.editByHand,
		d.pruneSource,
		d.deleteApplication,
		d.newNamespace,
	} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return d.stayed(ctx)
}

func (d *demo) openCluster(ctx, living context.Context) error {
	living, d.end = context.WithCancel(living)
	d.story.Expect("a throwaway cluster to be ready")
	started, err := cluster.Start(ctx, cluster.Options{Progress: os.Stderr})
	if err != nil {
		return err
	}
	d.cluster = started
	if d.harness, err = harness.New(started); err != nil {
		return err
	}
	for name, ns := range map[string]**harness.Namespace{"reroll": &d.own, "shop": &d.shop, "staging": &d.staging} {
		if *ns, err = d.harness.ComingNamespace(living, name); err != nil {
			return err
		}
	}
	d.story.Tell("cluster", "Kubernetes on loopback; its pods run no containers")
	d.story.Expect("Argo CD to be ready")
	if err := started.StartArgoCD(ctx, os.Stderr); err != nil {
		return err
	}
	d.story.Tell("argo cd", "the real one, beside the cluster; it is notified of each commit, as by a webhook")
	return nil
}

// applicationOf makes the Application of a manifest of the example, with a repository of this
// machine in the place of the one that it names.
func (d *demo) applicationOf(ctx context.Context, name string, repository *argocd.Repository, change func(*unstructured.Unstructured)) (*argocd.Application, error) {
	text, err := os.ReadFile(filepath.Join(d.example, name+".yaml"))
	if err != nil {
		return nil, fmt.Errorf("read the example (run this from the root of the repository): %w", err)
	}
	manifest := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(text, &manifest.Object); err != nil {
		return nil, fmt.Errorf("%s.yaml: %w", name, err)
	}
	if err := unstructured.SetNestedField(manifest.Object, repository.URL(), "spec", "source", "repoURL"); err != nil {
		return nil, fmt.Errorf("%s.yaml: %w", name, err)
	}
	change(manifest)
	return argocd.Create(ctx, d.cluster.Config(), manifest)
}

// install lets Argo CD install Reroll, and starts it as its Deployment says: no kubelet does that
// here.
func (d *demo) install(ctx context.Context, giveUp context.CancelCauseFunc) error {
	repository, err := argocd.NewRepository(ctx, filepath.Join(d.cluster.Dir(), "git-reroll"))
	if err != nil {
		return err
	}
	chart := filepath.Join("charts", "reroll")
	if err := repository.Copy(chart, filepath.ToSlash(chart)); err != nil {
		return err
	}
	revision, err := repository.Commit(ctx, "Reroll")
	if err != nil {
		return err
	}
	if d.reroll, err = d.applicationOf(ctx, "reroll", repository, func(*unstructured.Unstructured) {}); err != nil {
		return err
	}
	d.story.Expect("Argo CD to install Reroll")
	if err := d.reroll.AwaitHealthy(ctx, revision); err != nil {
		return err
	}
	if d.record, err = d.reroll.Record(ctx); err != nil {
		return err
	}
	d.story.Tell("reroll", "Application reroll, the chart from Git, auto-sync with prune and self-heal: Synced, Healthy")
	if err := d.start(ctx, giveUp); err != nil {
		return err
	}
	if err := d.own.MarkWithRollouts(ctx); err != nil {
		return err
	}
	for _, marker := range []string{"marker-configmap", "marker-secret"} {
		// The quiet period is longer for what a tool manages, so the markers look as if one did.
		if err := d.own.Label(ctx, harness.Ref{Kind: "statefulset", Name: marker}, "app.kubernetes.io/managed-by=Helm"); err != nil {
			return err
		}
	}
	d.story.Tell("", "started as the Deployment in the cluster specifies, with the permissions of its ServiceAccount")
	return nil
}

func (d *demo) start(ctx context.Context, giveUp context.CancelCauseFunc) error {
	d.story.Expect("Reroll to be ready")
	installed, err := d.own.Get(ctx, deployment("reroll"))
	if err != nil {
		return err
	}
	text, err := installed.MarshalJSON()
	if err != nil {
		return err
	}
	manifest, err := harness.ParseRendered(string(text))
	if err != nil {
		return err
	}
	installation, err := d.own.Install(ctx, manifest, d.binary)
	if err != nil {
		return err
	}
	if d.controller, err = installation.Start(ctx, nil, nil); err != nil {
		return err
	}
	d.controller.WhenEnded(ctx, giveUp)
	return nil
}

// pruneOwn shows that what Reroll makes in its own namespace is not in Git and is not pruned for
// that.
func (d *demo) pruneOwn(ctx context.Context) error {
	made := []harness.Ref{{Kind: "secret", Name: "reroll-digest-key"}, {Kind: "configmap", Name: "reloader-meta-info"}}
	before, err := d.identities(ctx, made)
	if err != nil {
		return err
	}
	d.story.Expect("Argo CD to compare and to sync Reroll")
	state, err := d.reroll.Refresh(ctx)
	if err != nil {
		return err
	}
	for _, r := range state.Status.Resources {
		if ref := (harness.Ref{Kind: strings.ToLower(r.Kind), Name: r.Name}); slices.Contains(made, ref) {
			return fmt.Errorf("what Argo CD has deployed holds %s, as %s; expected was that it does not know it", ref, r.Status)
		}
	}
	if err := d.reroll.Sync(ctx, state.Status.Sync.Revision); err != nil {
		return err
	}
	after, err := d.identities(ctx, made)
	if err != nil {
		return fmt.Errorf("expected was that a sync with prune leaves alone what Reroll has made: %w", err)
	}
	if !slices.Equal(before, after) {
		return fmt.Errorf("what Reroll has made was %q before a sync with prune and is %q; expected was no difference", before, after)
	}
	d.story.Tell("sync", "of Reroll, by hand, after a hard refresh, with prune: its Secret %s and ConfigMap %s stay", made[0].Name, made[1].Name)
	return nil
}

// identities are the uids of objects that nothing tracks.
func (d *demo) identities(ctx context.Context, refs []harness.Ref) ([]string, error) {
	var uids []string
	for _, ref := range refs {
		var obj *unstructured.Unstructured
		if err := harness.Await(ctx, ref.String(), func(ctx context.Context) error {
			var err error
			obj, err = d.own.Get(ctx, ref)
			return err
		}); err != nil {
			return nil, err
		}
		if id, tracked := obj.GetAnnotations()["argocd.argoproj.io/tracking-id"]; tracked {
			return nil, fmt.Errorf("%s carries the tracking id %q; expected was none", ref, id)
		}
		uids = append(uids, string(obj.GetUID()))
	}
	return uids, nil
}

// stayed checks what Argo CD has said of Reroll since it was installed.
func (d *demo) stayed(ctx context.Context) error {
	last, err := d.reroll.Refresh(ctx)
	if err != nil {
		return err
	}
	d.story.Expect("all that Argo CD has said of Reroll")
	states, err := d.record.UpTo(ctx, last)
	if err != nil {
		return err
	}
	for _, s := range states {
		if s.Is() != "Synced, Healthy" {
			return fmt.Errorf("the Application reroll was %s for a while, because of %q; expected was Synced, Healthy throughout", s.Is(), s.OutOfSync())
		}
	}
	if said := d.warnings(); len(said) > 0 {
		return fmt.Errorf("expected was no warning in Reroll's log, and there are %d:\n%s", len(said), strings.Join(said, "\n"))
	}
	d.story.Tell("done", "Reroll was Synced and Healthy throughout, and its log has no other warning")
	return nil
}

func deployment(name string) harness.Ref { return harness.Ref{Kind: "deployment", Name: name} }
