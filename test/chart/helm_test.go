// Package chart renders the Helm chart with many values and checks what comes out, as typed
// Kubernetes objects. One of them it runs as rendered.
package chart

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

const (
	root  = "../.."
	chart = root + "/charts/reroll"
	// release and namespace differ from every name in the chart, so that a wrong one shows.
	release   = "prod"
	namespace = "ops"
	// oldestCluster is the first version that Chart.yaml allows.
	oldestCluster = "1.25.0"
)

// program is the path in an environment variable.
func program(t *testing.T, variable, name string) string {
	t.Helper()
	path := os.Getenv(variable)
	if path == "" {
		t.Fatalf("%s is not set: run make bin/%s and set %s to the path of a %s program", variable, name, variable, name)
	}
	if strings.ContainsRune(path, filepath.Separator) && !filepath.IsAbs(path) {
		path = filepath.Join(root, path)
	}
	return path
}

// helm gives the values on standard input: it would split the name of a file at a comma.
func helm(t *testing.T, values string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program(t, "HELM", "helm"), append(args, "--values", "-")...)
	cmd.Stdin = strings.NewReader(values)
	// Nobody's own plugins, repositories or cluster may change what is rendered.
	home := t.TempDir()
	cmd.Env = append(os.Environ(), "HELM_CACHE_HOME="+home, "HELM_CONFIG_HOME="+home, "HELM_DATA_HOME="+home, "KUBECONFIG="+os.DevNull)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("helm %s: %w\n%s", args[0], err, stderr.String())
	}
	return stdout.String(), nil
}

// chartVersions reads Chart.yaml, so that a release needs no edit here.
func chartVersions(t *testing.T) (version, appVersion string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(chart, "Chart.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var meta struct {
		Version    string `json:"version"`
		AppVersion string `json:"appVersion"`
	}
	if err := yaml.Unmarshal(data, &meta); err != nil {
		t.Fatal(err)
	}
	return meta.Version, meta.AppVersion
}

func template(t *testing.T, release, values string) (string, error) {
	t.Helper()
	return helm(t, values, "template", release, chart, "--namespace", namespace, "--kube-version", oldestCluster)
}

type objects struct {
	deployment          appsv1.Deployment
	serviceAccounts     []corev1.ServiceAccount
	secrets             []corev1.Secret
	clusterRoles        []rbacv1.ClusterRole
	clusterRoleBindings []rbacv1.ClusterRoleBinding
	roles               []rbacv1.Role
	roleBindings        []rbacv1.RoleBinding
	services            []corev1.Service
	policies            []networkingv1.NetworkPolicy
	ingresses           []networkingv1.Ingress
	budgets             []policyv1.PodDisruptionBudget
	configMaps          []corev1.ConfigMap
	// tests are the Pods that helm test creates.
	tests []corev1.Pod
	// admission are the policy and its binding, as they are written.
	admission []string
	// custom are those of kinds that Kubernetes does not have by itself.
	custom map[string]map[string]any
}

func render(t *testing.T, values string) objects {
	t.Helper()
	return renderAs(t, release, values)
}

func renderAs(t *testing.T, release, values string) objects {
	t.Helper()
	text, err := template(t, release, values)
	if err != nil {
		t.Fatal(err)
	}
	return parsed(t, text)
}

func parsed(t *testing.T, text string) objects {
	t.Helper()
	var o objects
	deployments := 0
	for _, doc := range documents(text) {
		var kind metav1.TypeMeta
		if err := yaml.Unmarshal([]byte(doc), &kind); err != nil {
			t.Fatalf("%v in:\n%s", err, doc)
		}
		switch kind.APIVersion + " " + kind.Kind {
		case "apps/v1 Deployment":
			deployments++
			o.deployment = parse[appsv1.Deployment](t, doc)
		case "v1 ServiceAccount":
			o.serviceAccounts = append(o.serviceAccounts, parse[corev1.ServiceAccount](t, doc))
		case "v1 Secret":
			o.secrets = append(o.secrets, parse[corev1.Secret](t, doc))
		case "rbac.authorization.k8s.io/v1 ClusterRole":
			o.clusterRoles = append(o.clusterRoles, parse[rbacv1.ClusterRole](t, doc))
		case "rbac.authorization.k8s.io/v1 ClusterRoleBinding":
			o.clusterRoleBindings = append(o.clusterRoleBindings, parse[rbacv1.ClusterRoleBinding](t, doc))
		case "rbac.authorization.k8s.io/v1 Role":
			o.roles = append(o.roles, parse[rbacv1.Role](t, doc))
		case "rbac.authorization.k8s.io/v1 RoleBinding":
			o.roleBindings = append(o.roleBindings, parse[rbacv1.RoleBinding](t, doc))
		case "v1 Service":
			o.services = append(o.services, parse[corev1.Service](t, doc))
		case "networking.k8s.io/v1 NetworkPolicy":
			o.policies = append(o.policies, parse[networkingv1.NetworkPolicy](t, doc))
		case "networking.k8s.io/v1 Ingress":
			o.ingresses = append(o.ingresses, parse[networkingv1.Ingress](t, doc))
		case "policy/v1 PodDisruptionBudget":
			o.budgets = append(o.budgets, parse[policyv1.PodDisruptionBudget](t, doc))
		case "monitoring.coreos.com/v1 ServiceMonitor", "monitoring.coreos.com/v1 PodMonitor", "monitoring.coreos.com/v1 PrometheusRule", "autoscaling.k8s.io/v1 VerticalPodAutoscaler":
			if o.custom == nil {
				o.custom = map[string]map[string]any{}
			}
			o.custom[kind.Kind] = parse[map[string]any](t, doc)
		case "v1 Pod":
			o.tests = append(o.tests, parse[corev1.Pod](t, doc))
		case "v1 ConfigMap":
			o.configMaps = append(o.configMaps, parse[corev1.ConfigMap](t, doc))
		case "admissionregistration.k8s.io/v1 ValidatingAdmissionPolicy", "admissionregistration.k8s.io/v1 ValidatingAdmissionPolicyBinding":
			o.admission = append(o.admission, doc)
		default:
			t.Fatalf("unexpected %+v in:\n%s", kind, doc)
		}
	}
	if deployments != 1 {
		t.Fatalf("%d Deployments in:\n%s", deployments, text)
	}
	return o
}

func documents(text string) []string {
	var docs []string
	for doc := range strings.SplitSeq("\n"+text, "\n---\n") {
		if strings.TrimSpace(doc) != "" {
			docs = append(docs, doc)
		}
	}
	return docs
}

// parse refuses fields that the kind does not have, and keys that stand twice.
func parse[T any](t *testing.T, doc string) T {
	t.Helper()
	var v T
	if err := yaml.UnmarshalStrict([]byte(doc), &v); err != nil {
		t.Fatalf("%v in:\n%s", err, doc)
	}
	return v
}

func (o objects) pod() corev1.PodTemplateSpec { return o.deployment.Spec.Template }

func (o objects) container(t *testing.T) corev1.Container {
	t.Helper()
	if n := len(o.pod().Spec.Containers); n != 1 {
		t.Fatalf("%d containers", n)
	}
	return o.pod().Spec.Containers[0]
}

func TestLint(t *testing.T) {
	for about, values := range map[string]string{
		"defaults":        "",
		"own namespace":   "reloader: {watchGlobally: false}",
		"two namespaces":  "reloader: {namespaces: [a, b]}",
		"nothing bound":   "reloader: {rbac: {enabled: false}, serviceAccount: {create: false}}",
		"empty by null":   "reloader: {logLevel: null, namespaces: null, settle: null, serviceAccount: {name: null}, deployment: {nodeSelector: null, resources: null}}",
		"condition":       "enabled: true",
		"somebody else's": "global: {storageClass: fast}",
	} {
		t.Run(about, func(t *testing.T) {
			t.Parallel()
			if _, err := helm(t, values, "lint", "--strict", chart, "--kube-version", oldestCluster); err != nil {
				t.Error(err)
			}
			render(t, values)
		})
	}
}
