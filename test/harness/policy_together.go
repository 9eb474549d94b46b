package harness

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
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
	if err := t.generalize(m.namespace, m.account); err != nil {
		return err
	}
	m.together = t
	return nil
}

// generalize makes the policies about the account of that name in each namespace with the label.
// What has no namespace may be asked for by the account of any.
func (t *together) generalize(namespace, account string) error {
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
		if obj.GetKind() == bindingKind {
			bindTo(obj, policyLabel, t.name)
		}
	}
	return nil
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
