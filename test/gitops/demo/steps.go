package main

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/reroll-dev/reroll/test/argocd"
	"github.com/reroll-dev/reroll/test/harness"
)

const values = "web/values.yaml"

func (d *demo) deploy(ctx context.Context) error {
	var err error
	if d.repository, err = argocd.NewRepository(ctx, filepath.Join(d.cluster.Dir(), "git-shop")); err != nil {
		return err
	}
	if err := d.repository.Copy(filepath.Join(d.example, "web"), "web"); err != nil {
		return err
	}
	if d.revision, err = d.repository.Commit(ctx, "A web server"); err != nil {
		return err
	}
	if d.web, err = d.applicationOf(ctx, "web", d.repository, func(*unstructured.Unstructured) {}); err != nil {
		return err
	}
	if err := d.delivered(ctx); err != nil {
		return err
	}
	if err := d.expect(ctx, counts{writes: 1}, "the first deployment rolls nothing; Reroll records on the Deployment the data that its Pods started with"); err != nil {
		return err
	}
	d.story.Tell("deploy", "Application web: a Helm chart with a Deployment, 2 pods, and its ConfigMap")
	d.story.Tell("", "rolled nothing; Reroll recorded on web the data that its Pods started with")
	return nil
}

// delivered returns when Argo CD says that the last revision is in the cluster, and all pods are of
// its template.
func (d *demo) delivered(ctx context.Context) error {
	d.story.Expect("Argo CD to sync the last commit, and all pods to be ready")
	if _, err := d.web.Refresh(ctx); err != nil {
		return err
	}
	if err := d.web.AwaitHealthy(ctx, d.revision); err != nil {
		return err
	}
	return d.shop.AwaitReady(ctx, web())
}

func (d *demo) scaleByHand(ctx context.Context) error {
	if err := d.shop.Scale(ctx, web(), 5); err != nil {
		return err
	}
	d.story.Expect("self-heal to put the 2 replicas back")
	if err := d.replicas(ctx, 2); err != nil {
		return err
	}
	if err := d.delivered(ctx); err != nil {
		return err
	}
	if err := d.expect(ctx, counts{}, "another number of pods is no other content"); err != nil {
		return err
	}
	d.story.Tell("scale", "web to 5, by hand: self-heal put 2 back; no rollout, no write of Reroll")
	return nil
}

func (d *demo) replicas(ctx context.Context, wanted int64) error {
	return harness.Await(ctx, fmt.Sprintf("%d replicas of web", wanted), func(ctx context.Context) error {
		obj, err := d.shop.Get(ctx, web())
		if err != nil {
			return err
		}
		if n, _, _ := unstructured.NestedInt64(obj.Object, "spec", "replicas"); n != wanted {
			return fmt.Errorf("there are %d", n)
		}
		return nil
	})
}

// selfHeal is spec.syncPolicy.automated of the example.
func selfHeal() map[string]any { return map[string]any{"prune": true, "selfHeal": true} }

func (d *demo) withoutAutomation(ctx context.Context) error {
	if err := d.web.SetAutomated(ctx, nil); err != nil {
		return err
	}
	if err := d.shop.Scale(ctx, web(), 5); err != nil {
		return err
	}
	d.story.Expect("Argo CD to see 5 replicas")
	if err := d.differs(ctx, web(), "spec.replicas"); err != nil {
		return err
	}
	if err := d.expect(ctx, counts{}, "another number of pods is no other content"); err != nil {
		return err
	}
	d.story.Tell("manual", "auto-sync off, web to 5 by hand: OutOfSync; Argo CD's diff shows spec.replicas and nothing else")
	if err := d.web.SetAutomated(ctx, selfHeal()); err != nil {
		return err
	}
	if err := d.replicas(ctx, 2); err != nil {
		return err
	}
	d.story.Tell("", "auto-sync on again: 2 put back")
	return d.delivered(ctx)
}

// differs returns when Argo CD finds one object different from Git, by one field. Nothing that
// Reroll has written is to be among what differs.
func (d *demo) differs(ctx context.Context, object harness.Ref, field string) error {
	if _, err := d.web.Await(ctx, "OutOfSync", func(s *argocd.State) error {
		if s.Status.Sync.Status != "OutOfSync" {
			return fmt.Errorf("it is %s", s.Is())
		}
		return nil
	}); err != nil {
		return err
	}
	state, err := d.web.Refresh(ctx)
	if err != nil {
		return err
	}
	if found := state.OutOfSync(); !slices.Equal(found, []string{object.String()}) {
		return fmt.Errorf("OutOfSync are %q; expected was %s alone", found, object)
	}
	diff, err := d.web.Diff(ctx, d.cluster.ArgoCDRedis())
	if err != nil {
		return err
	}
	if want := object.String() + " " + field; !slices.Equal(diff, []string{want}) {
		return fmt.Errorf("the diff of Argo CD shows %q; expected was %q alone", diff, want)
	}
	return nil
}

// commit changes a line of the values and returns when that is delivered.
func (d *demo) commit(ctx context.Context, was, is string) error {
	if err := d.repository.Replace(values, was, is); err != nil {
		return err
	}
	var err error
	if d.revision, err = d.repository.Commit(ctx, is); err != nil {
		return err
	}
	return d.delivered(ctx)
}

func (d *demo) commitReplicas(ctx context.Context) error {
	if err := d.commit(ctx, "replicaCount: 2", "replicaCount: 3"); err != nil {
		return err
	}
	if err := d.replicas(ctx, 3); err != nil {
		return err
	}
	if err := d.expect(ctx, counts{}, "another number of pods is no other content"); err != nil {
		return err
	}
	d.story.Tell("commit", "replicaCount: 3: one more pod; no rollout, no write of Reroll")
	return nil
}

// rolledOnce is what follows a change of the page.
func (d *demo) rolledOnce(ctx context.Context, greeting, why string) error {
	d.story.Expect("web to roll once")
	if err := d.shop.AwaitRolls(ctx, web(), d.until.rollouts+1); err != nil {
		return err
	}
	if err := d.shop.AwaitFresh(ctx, web(), page()); err != nil {
		return err
	}
	if err := d.serves(ctx, greeting); err != nil {
		return err
	}
	return d.expect(ctx, counts{1, 1}, why)
}

func (d *demo) serves(ctx context.Context, greeting string) error {
	obj, err := d.shop.Get(ctx, page())
	if err != nil {
		return err
	}
	text, _, _ := unstructured.NestedString(obj.Object, "data", "index.html")
	if want := "<h1>" + greeting + "</h1>"; strings.TrimSpace(text) != want {
		return fmt.Errorf("the page is %q; expected was %s", text, want)
	}
	return nil
}

func (d *demo) commitPage(ctx context.Context) error {
	if err := d.commit(ctx, "greeting: hello", "greeting: good morning"); err != nil {
		return err
	}
	if err := d.rolledOnce(ctx, "good morning", "one commit is one rollout, by one write"); err != nil {
		return err
	}
	if err := d.delivered(ctx); err != nil {
		return err
	}
	d.second = d.revision
	d.story.Tell("commit", "greeting: good morning: one rollout, by one write; Synced, Healthy")
	return nil
}

func (d *demo) revertCommit(ctx context.Context) error {
	var err error
	if d.revision, err = d.repository.Revert(ctx); err != nil {
		return err
	}
	if err := d.delivered(ctx); err != nil {
		return err
	}
	if err := d.rolledOnce(ctx, "hello", "the revert of a commit is one rollout, by one write"); err != nil {
		return err
	}
	d.story.Tell("revert", "of that commit, hello again: one rollout back")
	return nil
}

func (d *demo) rollback(ctx context.Context) error {
	if err := d.web.SetAutomated(ctx, nil); err != nil {
		return err
	}
	d.story.Expect("Argo CD to roll back")
	if err := d.web.Rollback(ctx, d.second); err != nil {
		return err
	}
	if err := d.rolledOnce(ctx, "good morning", "a rollback by Argo CD is one rollout, by one write"); err != nil {
		return err
	}
	if err := d.differs(ctx, page(), "data.index.html"); err != nil {
		return err
	}
	d.story.Tell("rollback", "by Argo CD, auto-sync off, to good morning: one rollout back; its diff shows the page and nothing else")
	if err := d.web.SetAutomated(ctx, selfHeal()); err != nil {
		return err
	}
	if err := d.delivered(ctx); err != nil {
		return err
	}
	if err := d.rolledOnce(ctx, "hello", "auto-sync brings the last commit again"); err != nil {
		return err
	}
	d.story.Tell("", "auto-sync on again: hello, as in Git, by one rollout")
	return nil
}
