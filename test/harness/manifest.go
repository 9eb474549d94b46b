package harness

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// Manifest is what installs the controller for one namespace, as it is shipped: the permissions it
// has and the way it is run are those of users.
type Manifest struct {
	path    string
	objects []*unstructured.Unstructured // all but the Deployment
	account string
	// namespace is the one that it was written for.
	namespace string
	run       corev1.Container
	guarded   bool // by the admission policy
	together  *together
}

// ReadManifest reads a file of YAML documents with one Deployment among them.
func ReadManifest(path string) (*Manifest, error) { return readManifest(path, parseManifest) }

// ReadRendered reads one that may give permissions in all namespaces, for who has a cluster alone.
func ReadRendered(path string) (*Manifest, error) { return readManifest(path, ParseRendered) }

func readManifest(path string, parse func(string) (*Manifest, error)) (*Manifest, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read what installs the controller: %w", err)
	}
	m, err := parse(string(text))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	m.path = path
	return m, nil
}

func parseManifest(text string) (*Manifest, error) {
	m, err := ParseRendered(text)
	if err != nil {
		return nil, err
	}
	for _, obj := range m.objects {
		if beyondNamespaces(obj) {
			return nil, fmt.Errorf("it holds %s %s, which would give permissions beyond the namespace", obj.GetKind(), obj.GetName())
		}
	}
	return m, nil
}

func beyondNamespaces(obj *unstructured.Unstructured) bool {
	return obj.GetKind() == "ClusterRole" || obj.GetKind() == "ClusterRoleBinding"
}

// ParseRendered reads what Helm has rendered. Unlike the files for one namespace it may give
// permissions in all of them, so it is for who has a cluster alone.
func ParseRendered(text string) (*Manifest, error) {
	objects, err := parseObjects(text)
	if err != nil {
		return nil, err
	}
	m := &Manifest{}
	deployments := 0
	for _, obj := range objects {
		switch obj.GetKind() {
		case "Deployment":
			deployments++
			var d appsv1.Deployment
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, &d); err != nil {
				return nil, fmt.Errorf("read Deployment %s: %w", obj.GetName(), err)
			}
			pod := d.Spec.Template.Spec
			if len(pod.Containers) != 1 {
				return nil, fmt.Errorf("its Deployment %s has %d containers: the controller is one", obj.GetName(), len(pod.Containers))
			}
			m.account, m.namespace, m.run = pod.ServiceAccountName, d.Namespace, pod.Containers[0]
		case policyKind, bindingKind:
			m.objects, m.guarded = append(m.objects, obj), true
		case "Namespace":
			// Each test has its own.
		default:
			m.objects = append(m.objects, obj)
		}
	}
	if deployments != 1 {
		return nil, fmt.Errorf("it holds %d Deployments: there has to be one, to say how the controller is run", deployments)
	}
	if m.account == "" {
		return nil, errors.New("its Deployment names no ServiceAccount")
	}
	return m, nil
}

// ReadClusterRole reads the only ClusterRole of a file: the permissions of a controller that
// watches all namespaces.
func ReadClusterRole(path string) (*rbacv1.ClusterRole, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the permissions of the controller: %w", err)
	}
	objects, err := parseObjects(string(text))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	roles := slices.DeleteFunc(objects, func(o *unstructured.Unstructured) bool { return o.GetKind() != "ClusterRole" })
	if len(roles) != 1 {
		return nil, fmt.Errorf("%s holds %d ClusterRoles: there has to be one", path, len(roles))
	}
	role := &rbacv1.ClusterRole{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(roles[0].Object, role); err != nil {
		return nil, fmt.Errorf("%s: read ClusterRole %s: %w", path, roles[0].GetName(), err)
	}
	return role, nil
}

// objectsFor returns the objects for another namespace than the one they were written for.
func (m *Manifest) objectsFor(namespace string) []*unstructured.Unstructured {
	var moved []*unstructured.Unstructured
	alone := !slices.ContainsFunc(m.objects, beyondNamespaces)
	for _, obj := range m.objects {
		if m.together != nil && isPolicy(obj) {
			continue
		}
		obj = obj.DeepCopy()
		switch {
		case isPolicy(obj):
			movePolicy(obj, m.namespace, namespace, alone)
		case !beyondNamespaces(obj):
			obj.SetNamespace(namespace)
		}
		if subjects, found, _ := unstructured.NestedSlice(obj.Object, "subjects"); found {
			for _, s := range subjects {
				if subject, ok := s.(map[string]any); ok && subject["kind"] == "ServiceAccount" {
					subject["namespace"] = namespace
				}
			}
			obj.Object["subjects"] = subjects
		}
		moved = append(moved, obj)
	}
	return moved
}

// command returns arguments and environment as the kubelet would give them to the container of a
// pod.
func (m *Manifest) command(namespace, pod string) (args, env []string, err error) {
	if args, env, err = commandOf(&m.run, namespace, pod); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", m.path, err)
	}
	return args, env, nil
}

func commandOf(c *corev1.Container, namespace, pod string) (args, env []string, err error) {
	values := map[string]string{}
	for _, v := range c.Env {
		value := v.Value
		switch from := v.ValueFrom; {
		case from == nil:
		case from.FieldRef != nil && from.FieldRef.FieldPath == "metadata.namespace":
			value = namespace
		case from.FieldRef != nil && from.FieldRef.FieldPath == "metadata.name":
			value = pod
		case from.ResourceFieldRef != nil:
			continue // there is no limit, so the variable has nothing to tell
		default:
			return nil, nil, fmt.Errorf("variable %s takes its value from a place that the harness cannot look at", v.Name)
		}
		values[v.Name] = value
		env = append(env, v.Name+"="+value)
	}
	// The first word of a command is the program itself.
	words := c.Args
	if len(c.Command) > 1 {
		words = append(append([]string(nil), c.Command[1:]...), words...)
	}
	for _, word := range words {
		for name, value := range values {
			word = strings.ReplaceAll(word, "$("+name+")", value)
		}
		args = append(args, word)
	}
	return args, env, nil
}
