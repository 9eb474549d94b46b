package harness

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// together is an admission policy that many namespaces have together. Its name is the value of
// policyLabel on them; what differs has another name.
type together struct {
	name    string
	objects []*unstructured.Unstructured
}

const policyLabel = "harness/policy"

// Together lets all namespaces that this manifest is installed in have one admission policy. Of the
// account that it is about, only the namespace is another one in each of them. A policy of its own
// for each costs the API server and each test more than all else, because the API server asks all
// policies about each write. Where the account has permissions beyond its namespace, nothing
// changes.
func (m *Manifest) Together() error {
	if !m.guarded || slices.ContainsFunc(m.objects, beyondNamespaces) {
		return nil
	}
	t := &together{}
	sum := sha256.New()
	for _, obj := range m.objects {
		if !isPolicy(obj) {
			continue
		}
		text, err := obj.MarshalJSON()
		if err != nil {
			return err
		}
		sum.Write(text)
		t.objects = append(t.objects, obj.DeepCopy())
	}
	t.name = "together-" + hex.EncodeToString(sum.Sum(nil)[:6])
	grants, err := m.Grants()
	if err != nil {
		return err
	}
	if err := t.generalize(m.namespace, m.account, grants); err != nil {
		return err
	}
	m.together = t
	return nil
}

// generalize makes the policies about the account of that name in each namespace with the label.
// What has no namespace may be asked for by the account of any.
func (t *together) generalize(namespace, account string, grants []Grant) error {
	const of = "system:serviceaccount:"
	one := fmt.Sprintf("%q", of+namespace+":"+account)
	each := fmt.Sprintf(`(%q + (request.?namespace.orValue("") != "" ? request.namespace : request.userInfo.username.replace(%q, "").replace(%q, "")) + %q)`,
		of, of, ":"+account, ":"+account)
	for _, obj := range t.objects {
		about := replaceInConditions(obj, one, each)
		if obj.GetKind() == policyKind && !about && !strings.Contains(obj.GetName(), Approvals) {
			return fmt.Errorf("no condition of the policy %s is about %s", obj.GetName(), one)
		}
		rename(obj, namespace, t.name)
		if obj.GetKind() != bindingKind {
			continue
		}
		bindTo(obj, policyLabel, t.name)
		matched := obj.Object["spec"].(map[string]any)["matchResources"].(map[string]any)
		switch {
		case strings.Contains(obj.GetName(), Approvals):
			matched["excludeResourceRules"] = []any{rule("*", "*/status")} // nobody approves there here
		case !strings.Contains(obj.GetName(), OwnJobs):
			matched["resourceRules"] = writes(grants)
		}
	}
	return nil
}

// writes are rules for what an account has a permission to write, and for what everybody has. The
// API server refuses all else before it asks a policy about the account. It would ask about each
// write of Kubernetes itself, which are most, and has to convert the object for that.
func writes(grants []Grant) []any {
	resources := map[string][]any{"authorization.k8s.io": {"*"}, "authentication.k8s.io": {"*"}}
	for _, g := range grants {
		read := slices.Contains([]string{"get", "list", "watch"}, g.Verb)
		if !read && !slices.Contains(resources[g.Group], any(g.Resource)) {
			resources[g.Group] = append(resources[g.Group], g.Resource)
		}
	}
	var rules []any
	for _, group := range slices.Sorted(maps.Keys(resources)) {
		rules = append(rules, rule(group, resources[group]...))
	}
	return rules
}

func rule(group string, resources ...any) map[string]any {
	return map[string]any{"apiGroups": []any{group}, "apiVersions": []any{"*"}, "resources": resources, "operations": []any{"*"}, "scope": "*"}
}

// guardTogether puts the namespace under the policy, which the first of them applies.
func (n *Namespace) guardTogether(ctx context.Context, policy *together) error {
	if err := n.guards.once(policy.name, func() error {
		for _, obj := range policy.objects {
			if err := n.applyObject(ctx, obj); err != nil {
				return fmt.Errorf("%s %s: %w", obj.GetKind(), obj.GetName(), err)
			}
		}
		return nil
	}); err != nil {
		return err
	}
	label := fmt.Appendf(nil, `{"metadata":{"labels":{%q:%q}}}`, policyLabel, policy.name)
	_, err := n.clients.typed.CoreV1().Namespaces().Patch(ctx, n.Name, types.MergePatchType, label, metav1.PatchOptions{FieldManager: applier})
	return err
}

// guards are the names of the policies that a harness has applied.
type guards struct {
	mu      sync.Mutex
	applied map[string]bool
}

func (g *guards) once(name string, apply func() error) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.applied[name] {
		return nil
	}
	if err := apply(); err != nil {
		return err
	}
	g.applied[name] = true
	return nil
}
