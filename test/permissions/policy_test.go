package permissions

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"github.com/reroll-dev/reroll/test/harness"
	"github.com/reroll-dev/reroll/test/stage"
)

// policed is a place where the shipped admission policy holds.
func policed(t *testing.T, on *stage.Stage) *place {
	t.Helper()
	return policedBy(t, on, harness.ShippedPolicy)
}

func policedBy(t *testing.T, on *stage.Stage, policy func() (string, error)) *place {
	t.Helper()
	return newPlaceOn(t, on, func(m *harness.Manifest) error {
		path, err := policy()
		err = errors.Join(err, m.Guard(path))
		m.UnguardJobs() // what is tried here has to be refused to the controller alone
		return err
	})
}

// everything is the permission to do anything in a namespace.
func everything() grants {
	return grants{here: []rbacv1.PolicyRule{{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"*"}}}}
}

// try asks for a write that leaves no trace, because it is a dry run or is refused. So what an API
// server had no time for is tried again.
func (p *place) try(client dynamic.Interface, a attempt) error {
	p.Helper()
	for {
		if err := p.tryOnce(client, a); !apierrors.IsTimeout(err) || p.ctx.Err() != nil {
			return err
		}
	}
}

func (p *place) tryOnce(client dynamic.Interface, a attempt) error {
	p.Helper()
	version := "v1"
	if a.group == "argoproj.io" || a.group == "apps.kruise.io" {
		version = "v1alpha1"
	}
	resource := client.Resource(schema.GroupVersionResource{Group: a.group, Version: version, Resource: a.resource}).Namespace(p.ns.Name)
	name, dry := cmp.Or(a.name, "web"), []string{metav1.DryRunAll}
	if a.stored {
		dry = nil
	}
	var err error
	switch a.verb() {
	case "patch":
		_, err = resource.Patch(p.ctx, name, types.JSONPatchType, []byte(a.patch), metav1.PatchOptions{DryRun: dry}, a.of...)
	case "create":
		obj := &unstructured.Unstructured{}
		p.must(yaml.Unmarshal([]byte(a.object), &obj.Object))
		_, err = resource.Create(p.ctx, obj, metav1.CreateOptions{DryRun: dry})
	default:
		err = resource.Delete(p.ctx, name, metav1.DeleteOptions{DryRun: dry})
	}
	return err
}

// allowed asks what the permissions of the account say to it.
func (p *place) allowed(a attempt) bool {
	p.Helper()
	review, err := p.on.Admin.AuthorizationV1().SubjectAccessReviews().Create(p.ctx, &authorizationv1.SubjectAccessReview{
		Spec: authorizationv1.SubjectAccessReviewSpec{
			User: "system:serviceaccount:" + p.ns.Name + ":" + account,
			ResourceAttributes: &authorizationv1.ResourceAttributes{
				Namespace: p.ns.Name, Verb: a.verb(), Group: a.group, Resource: a.resource, Name: cmp.Or(a.name, "web"),
			},
		},
	}, metav1.CreateOptions{})
	p.must(err)
	return review.Status.Allowed
}

// A controller of another test that watches all namespaces would reload what is reloaded here.
func TestTheAdmissionPolicy(t *testing.T) {
	t.Parallel()
	on := stage.OfTest(t, shared.Binary)
	t.Run("lets nothing pass but marks", func(t *testing.T) { letsNothingPassButMarks(t, on) })
	t.Run("lets nothing pass but marks on custom kinds", func(t *testing.T) { letsNothingPassOnCustomKinds(t, on) })
	t.Run("lets nobody else write what Reroll writes on Jobs", func(t *testing.T) { letsNobodyElseWriteOnJobs(t, on) })
	t.Run("lets only approvers approve", func(t *testing.T) { letsOnlyApproversApprove(t, on) })
	t.Run("lets the mark of a large workload pass", func(t *testing.T) { letsTheMarkOfALargeWorkloadPass(t, on) })
	for _, strategy := range []string{"env-vars", "annotations"} {
		t.Run("the controller lives with it/"+strategy, func(t *testing.T) { controllerLivesWithIt(t, on, strategy) })
	}
}

// No permission can lead past the policy: the account is given all of them, so that nothing else
// refuses.
func letsNothingPassButMarks(t *testing.T, on *stage.Stage) {
	t.Helper()
	p := policed(t, on)
	p.must(p.on.Cluster.InstallRolloutCRDs(p.ctx))
	p.must(p.on.Harness.AwaitKind(p.ctx, "rollouts"))
	p.must(p.ns.Apply(p.ctx, manyfold(p.ns.Name, true)))
	cronJob, err := p.ns.Get(p.ctx, harness.Ref{Kind: "cronjob", Name: "web"})
	p.must(err)
	p.must(p.ns.Apply(p.ctx, strings.Replace(jobOf("web-0123456789", ""), "35576b68", string(cronJob.GetUID()), 1)))
	tried := attempts(p.ns.Name)

	p.grant(rulesOf(t, "reroll-argo-rollouts-namespaced.yaml"))
	for about, a := range tried {
		if p.allowed(a) == a.beyond {
			t.Errorf("%s: the shipped permissions alone allow it: %v", about, !a.beyond)
		}
	}
	p.grant(everything())
	p.tryAll(tried)
}

// tryAll does what is tried as somebody who may do everything, and as the controller's account.
func (p *place) tryAll(tried map[string]attempt) {
	p.Helper()
	admin, err := dynamic.NewForConfig(p.on.Cluster.Config())
	p.must(err)
	controller, err := dynamic.NewForConfig(p.ns.As(account))
	p.must(err)
	for about, a := range tried {
		p.Run(about, func(t *testing.T) {
			asked := a
			asked.stored = false
			if err := p.try(admin, asked); err != nil {
				t.Fatalf("nobody could do it: %v", err)
			}
			err := p.try(controller, a)
			switch {
			case a.refused == "":
				if err != nil {
					t.Error(err)
				}
			case err == nil:
				t.Error("it was let pass")
			case !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "ValidatingAdmissionPolicy 'reroll-marks-only."+p.ns.Name+"'") || !strings.Contains(err.Error(), a.refused):
				t.Errorf("it was refused by %v; want the policy to say: %s", err, a.refused)
			}
		})
	}
}

// Whatever their permissions are: who may do everything is tried.
func letsNobodyElseWriteOnJobs(t *testing.T, on *stage.Stage) {
	t.Helper()
	p := newPlaceOn(t, on, func(m *harness.Manifest) error {
		path, err := harness.ShippedPolicy()
		return errors.Join(err, m.Guard(path))
	})
	p.grant(everything())
	admin, err := dynamic.NewForConfig(p.on.Cluster.Config())
	p.must(err)
	controller, err := dynamic.NewForConfig(p.ns.As(account))
	p.must(err)
	create := func(name, metadata string) attempt {
		return attempt{group: "batch", resource: "jobs", name: name, object: jobOf(name, metadata)}
	}
	p.must(harness.Await(p.ctx, "the policy to hold", func(context.Context) error {
		if err := p.try(admin, create("load-0123456789", copied)); !apierrors.IsForbidden(err) {
			return fmt.Errorf("a copy that somebody else creates meets %w", cmp.Or(err, errors.New("nothing")))
		}
		return nil
	}))
	// One of the controller's, as it stands for a moment, and one of a user's.
	jobs := controller.Resource(schema.GroupVersionResource{Group: "batch", Version: "v1", Resource: "jobs"}).Namespace(p.ns.Name)
	own := &unstructured.Unstructured{}
	p.must(yaml.Unmarshal([]byte(jobOf("own-0123456789", `{annotations: {reroll.dev/replaces: "{}", reroll.dev/signed: "0123"}}`)), &own.Object))
	_, err = jobs.Create(p.ctx, own, metav1.CreateOptions{})
	p.must(err)
	p.must(p.ns.Apply(p.ctx, jobOf("theirs", "{annotations: {note: theirs}}")))
	patch := func(name, patch string) attempt {
		return attempt{group: "batch", resource: "jobs", name: name, patch: patch}
	}
	status := func(a attempt) attempt {
		a.of = []string{"status"}
		return a
	}
	const annotation, run = "/metadata/annotations/reroll.dev~1", "/metadata/labels/reroll.dev~1run"
	for about, a := range map[string]attempt{
		"a copy":                   create("load-0123456789", copied),
		"a held one":               create("load", held),
		"a run":                    create("load-0123456789", ""),
		"a note of a deletion":     patch("theirs", op("add", annotation+"deletes", `"u-1"`)),
		"what holds one":           patch("theirs", op("add", annotation+"held", `"true"`)),
		"the same, in its status":  status(patch("theirs", op("add", annotation+"held", `"true"`))),
		"what makes one a copy":    patch("theirs", op("add", annotation+"replaces", `"{}"`)),
		"what makes one a run":     patch("theirs", `[{"op": "add", "path": "/metadata/labels", "value": {}}, `+op("add", run, `"1"`)[1:]),
		"another copy":             patch("own-0123456789", op("replace", annotation+"replaces", `"[]"`)),
		"another signature":        patch("own-0123456789", op("replace", annotation+"signed", `"4567"`)),
		"a note on one of its own": patch("own-0123456789", op("add", annotation+"deletes", `"u-1"`)),
	} {
		if err := p.try(admin, a); !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "Only Reroll may write reroll.dev/") {
			t.Errorf("%s: it meets %v", about, err)
		}
	}
	for about, a := range map[string]attempt{
		"a Job":                     create("more", "{annotations: {note: theirs}}"),
		"a Job with a ledger":       create("more", `{annotations: {reroll.dev/ledger: "{}", reroll.dev/settle: 1s}}`),
		"a label":                   patch("own-0123456789", op("add", "/metadata/labels", `{"team": "a"}`)),
		"a finalizer":               patch("own-0123456789", op("add", "/metadata/finalizers", `["example.org/keep"]`)),
		"suspend":                   patch("own-0123456789", op("replace", "/spec/suspend", "false")),
		"what was there, taken":     patch("own-0123456789", op("remove", annotation+"replaces", "")),
		"an annotation of a Job":    patch("theirs", op("add", "/metadata/annotations/more", `"x"`)),
		"its status":                status(patch("own-0123456789", op("add", "/status/ready", "0"))),
		"a Job of the controller's": {group: "batch", resource: "jobs", name: "own-0123456789"},
	} {
		if err := p.try(admin, a); err != nil {
			t.Errorf("%s: it meets %v", about, err)
		}
	}
	for about, a := range map[string]attempt{
		"a copy":           create("load-0123456789", copied),
		"a held one":       create("load", held),
		"a signature":      patch("own-0123456789", op("replace", annotation+"signed", `"4567"`)),
		"a deletion noted": patch("own-0123456789", op("add", annotation+"deletes", `"u-1"`)),
	} {
		if err := p.try(controller, a); err != nil {
			t.Errorf("the controller itself, %s: it meets %v", about, err)
		}
	}
}

// What it costs to look at the mark of a large workload is less than what the API server allows.
func letsTheMarkOfALargeWorkloadPass(t *testing.T, on *stage.Stage) {
	t.Helper()
	p := policed(t, on)
	p.grant(everything())
	var containers, env strings.Builder
	for i := range 100 {
		fmt.Fprintf(&env, ", {name: A_VARIABLE_WITH_A_LONG_NAME_%d, value: and a value}", i)
	}
	for i := range 50 {
		fmt.Fprintf(&containers, ", {name: container-%d, image: web, env: [{name: A, value: b}%s]}", i, env.String())
	}
	p.must(p.ns.Apply(p.ctx, strings.Replace(manifest, "containers: [", "containers: ["+containers.String()[2:]+", ", 1)))
	controller, err := dynamic.NewForConfig(p.ns.As(account))
	p.must(err)
	mark := attempt{group: "apps", resource: "deployments", patch: op("add", "/spec/template/spec/containers/49/env/-", variable("STAKATER_A_CONFIGMAP", digest))}
	p.must(p.try(controller, mark))
	mark.patch = op("add", "/spec/template/spec/containers/49/env/-", variable("A_CONFIGMAP", digest))
	if err := p.try(controller, mark); err == nil || !strings.Contains(err.Error(), notTheVariable) {
		t.Errorf("another variable: %v", err)
	}
}

func controllerLivesWithIt(t *testing.T, on *stage.Stage, strategy string) {
	t.Helper()
	p := policed(t, on)
	p.grant(asShipped(t, false))
	p.must(p.ns.Apply(p.ctx, manyfold(p.ns.Name, false)))
	kinds := []harness.Ref{web, {Kind: "statefulset", Name: "web"}, {Kind: "daemonset", Name: "web"}}
	for _, ref := range kinds {
		p.must(p.ns.AwaitReady(p.ctx, ref))
	}
	c := p.launch("--reload-strategy=" + strategy)
	p.must(c.AwaitReady(p.ctx))
	for _, ref := range kinds {
		p.must(p.ns.AwaitAdopted(p.ctx, ref))
	}
	for i, source := range []harness.Ref{webConfig, {Kind: "secret", Name: "web"}} {
		p.must(p.ns.Edit(p.ctx, source, "colour=red"))
		for _, ref := range kinds {
			p.must(p.ns.AwaitRolls(p.ctx, ref, i+1))
			p.must(p.ns.AwaitFresh(p.ctx, ref, source))
		}
	}
	for _, ref := range kinds {
		p.must(harness.Await(p.ctx, "two events about "+ref.String(), func(ctx context.Context) error {
			events, err := p.ns.Events(ctx, ref)
			reloaded := 0
			for i := range events {
				if events[i].Reason == "Reloaded" {
					reloaded++
				}
			}
			if err == nil && reloaded != 2 {
				return fmt.Errorf("there are %d", reloaded)
			}
			return err
		}))
	}
	for _, ref := range []harness.Ref{
		{Kind: "lease", Name: "stakater-reloader-lock"}, {Kind: "configmap", Name: "reloader-meta-info"}, {Kind: "secret", Name: "reroll-digest-key"},
	} {
		_, err := p.ns.Get(p.ctx, ref)
		p.must(err)
	}
	p.must(c.Stop(p.ctx))
	if said := c.Log.Holding("ValidatingAdmissionPolicy"); len(said) > 0 {
		t.Errorf("something was refused: %q", said)
	}
}
