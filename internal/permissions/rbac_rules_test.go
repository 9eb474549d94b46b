package permissions

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	authorizationv1 "k8s.io/api/authorization/v1"
)

func TestMissingPermissionsAreListedOncePerRole(t *testing.T) {
	watched := slices.Concat(To("apps", "deployments", "list", "watch"), To("apps", "daemonsets", "watch", "list"), To("apps", "statefulsets", "patch"))
	key := Permission{Namespace: "ops", Resource: "secrets", Verb: "get", Name: "key"}
	for about, tc := range map[string]struct {
		missing []Permission
		want    []string
	}{
		"nothing": {nil, nil},
		"everywhere, and in one namespace": {append(In(nil, To("", "pods", "list")...), key), []string{
			"In all namespaces the controller may not list pods. Add to the rules of a ClusterRole that is bound to its ServiceAccount: [{apiGroups: [''], resources: [pods], verbs: [list]}]",
			"In namespace ops the controller may not get secrets/key. Add to the rules of a Role of that namespace that is bound to its ServiceAccount: [{apiGroups: [''], resources: [secrets], resourceNames: [key], verbs: [get]}]",
		}},
		"the same in two namespaces, more in another": {append(In([]string{"a", "b", "ops"}, To("", "pods", "list")...), key), []string{
			"In the namespaces a, b the controller may not list pods. Add to the rules of a Role of each of them that is bound to its ServiceAccount: [{apiGroups: [''], resources: [pods], verbs: [list]}]",
			"In namespace ops the controller may not list pods, get secrets/key. Add to the rules of a Role of that namespace that is bound to its ServiceAccount: [{apiGroups: [''], resources: [pods], verbs: [list]}, {apiGroups: [''], resources: [secrets], resourceNames: [key], verbs: [get]}]",
		}},
		"one rule for what has the same verbs": {watched, []string{
			"In all namespaces the controller may not list or watch deployments.apps, watch or list daemonsets.apps, patch statefulsets.apps. Add to the rules of a ClusterRole that is bound to its ServiceAccount: " +
				"[{apiGroups: [apps], resources: [deployments], verbs: [list, watch]}, {apiGroups: [apps], resources: [daemonsets], verbs: [watch, list]}, {apiGroups: [apps], resources: [statefulsets], verbs: [patch]}]",
		}},
	} {
		t.Run(about, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, sentences(tc.missing)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestWhatARuleGives(t *testing.T) {
	rule := func(verb, group, resource string, names ...string) authorizationv1.ResourceRule {
		return authorizationv1.ResourceRule{Verbs: []string{"get", verb}, APIGroups: []string{group}, Resources: []string{resource}, ResourceNames: names}
	}
	list := Permission{Group: "apps", Resource: "deployments", Verb: "list"}
	one := Permission{Resource: "secrets", Verb: "get", Name: "key"}
	for about, tc := range map[string]struct {
		permission Permission
		rule       authorizationv1.ResourceRule
		want       bool
	}{
		"the same":                           {list, rule("list", "apps", "deployments"), true},
		"all verbs":                          {list, rule("*", "apps", "deployments"), true},
		"all groups and resources":           {list, rule("list", "*", "*"), true},
		"another verb":                       {list, rule("watch", "apps", "deployments"), false},
		"another group":                      {list, rule("list", "extensions", "deployments"), false},
		"another resource":                   {list, rule("list", "apps", "deployments/status"), false},
		"certain objects, and all are meant": {list, rule("list", "apps", "deployments", "web"), false},
		"all objects, and one is meant":      {one, rule("get", "", "secrets"), true},
		"that object":                        {one, rule("get", "", "secrets", "other", "key"), true},
		"another object":                     {one, rule("get", "", "secrets", "other"), false},
	} {
		t.Run(about, func(t *testing.T) {
			if got := tc.permission.givenBy(tc.rule); got != tc.want {
				t.Errorf("got %t", got)
			}
		})
	}
}
