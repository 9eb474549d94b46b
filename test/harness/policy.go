package harness

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

const (
	policyKind  = "ValidatingAdmissionPolicy"
	bindingKind = "ValidatingAdmissionPolicyBinding"
)

// Guard adds the admission policy of a file, which what is installed then has to live with.
func (m *Manifest) Guard(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("read the admission policy: %w", err)
	}
	objects, err := parseObjects(string(text))
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	for _, kind := range []string{policyKind, bindingKind} {
		if !slices.ContainsFunc(objects, func(obj *unstructured.Unstructured) bool { return obj.GetKind() == kind }) {
			return fmt.Errorf("%s holds no %s", path, kind)
		}
	}
	m.objects = append(m.objects, slices.DeleteFunc(objects, func(obj *unstructured.Unstructured) bool { return !isPolicy(obj) })...)
	m.guarded = true
	return nil
}

// Guarded reports whether there is an admission policy.
func (m *Manifest) Guarded() bool { return m.guarded }

// Unguard takes the admission policy out, for a Kubernetes that knows none.
func (m *Manifest) Unguard() {
	m.objects = slices.DeleteFunc(m.objects, isPolicy)
	m.guarded = false
}

func isPolicy(obj *unstructured.Unstructured) bool {
	return obj.GetKind() == policyKind || obj.GetKind() == bindingKind
}

// movePolicy makes a policy, or its binding, one about the account of the same name in another
// namespace. If the account has permissions in that one alone, the API server is spared to ask the
// policy about all other namespaces.
func movePolicy(obj *unstructured.Unstructured, from, to string, alone bool) {
	rename(obj, from, to)
	// Of Jobs and approvals it is about all accounts, and other installations create such Jobs in other
	// namespaces.
	if obj.GetKind() == bindingKind && (alone || strings.Contains(obj.GetName(), OwnJobs) || strings.Contains(obj.GetName(), Approvals)) {
		bindTo(obj, corev1.LabelMetadataName, to)
	}
	replaceInConditions(obj, "system:serviceaccount:"+from+":", "system:serviceaccount:"+to+":")
}

// rename puts something else in the place of the namespace at the end of a name.
func rename(obj *unstructured.Unstructured, from, to string) {
	move := func(name string) string { return strings.TrimSuffix(name, "."+from) + "." + to }
	obj.SetName(move(obj.GetName()))
	if policy, found, _ := unstructured.NestedString(obj.Object, "spec", "policyName"); found {
		obj.Object["spec"].(map[string]any)["policyName"] = move(policy)
	}
}

// replaceInConditions reports whether there was something to replace.
func replaceInConditions(obj *unstructured.Unstructured, from, to string) (replaced bool) {
	conditions, _, _ := unstructured.NestedSlice(obj.Object, "spec", "matchConditions")
	for _, c := range conditions {
		if condition, ok := c.(map[string]any); ok {
			expression, _ := condition["expression"].(string)
			replaced = replaced || strings.Contains(expression, from)
			condition["expression"] = strings.ReplaceAll(expression, from, to)
		}
	}
	if len(conditions) > 0 {
		obj.Object["spec"].(map[string]any)["matchConditions"] = conditions
	}
	return replaced
}

// bindTo restricts a binding to namespaces with this label.
func bindTo(binding *unstructured.Unstructured, label, value string) {
	binding.Object["spec"].(map[string]any)["matchResources"] = map[string]any{
		"namespaceSelector": map[string]any{"matchLabels": map[string]any{label: value}},
	}
}

// OwnJobs is in the name of the policy about what only the controller writes on Jobs.
const OwnJobs = "-own-jobs."

// Approvals is in the name of the policy about who may approve reloads.
const Approvals = "-approvals."

// UnguardJobs takes the policy about the Jobs of others out, for tests that do what a controller
// does under another name.
func (m *Manifest) UnguardJobs() {
	m.objects = slices.DeleteFunc(m.objects, func(obj *unstructured.Unstructured) bool {
		return isPolicy(obj) && strings.Contains(obj.GetName(), OwnJobs)
	})
}

// As is how to ask the API server under the name of a ServiceAccount of the namespace, and with its
// permissions.
func (n *Namespace) As(account string) *rest.Config {
	config := rest.CopyConfig(n.cluster.Config())
	config.Impersonate = rest.ImpersonationConfig{UserName: "system:serviceaccount:" + n.Name + ":" + account}
	return config
}

// awaitGuard returns when the admission policy holds: some time after it was applied. What is tried
// is a dry run.
func (n *Namespace) awaitGuard(ctx context.Context, account string) error {
	client, err := kubernetes.NewForConfig(n.As(account))
	if err != nil {
		return fmt.Errorf("make a client for the account %s: %w", account, err)
	}
	return Await(ctx, "the admission policy to hold", func(ctx context.Context) error {
		tried := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "tried-by-the-harness"}}
		_, err := client.CoreV1().ConfigMaps(n.Name).Create(ctx, tried, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		switch {
		case err == nil:
			return errors.New("the account may make any ConfigMap still")
		case apierrors.IsForbidden(err) && strings.Contains(err.Error(), policyKind):
			return nil
		default:
			return err // such as that the permission is not there yet
		}
	})
}
