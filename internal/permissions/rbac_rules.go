package permissions

import (
	"fmt"
	"slices"
	"strings"
)

// Rules returns the RBAC rules that grant these permissions, as YAML on one line. Users can copy it
// from a log in any format.
func Rules(all []Permission) string {
	var texts []string
	for _, r := range gather(all) {
		group := r.group
		if group == "" {
			group = "''" // a log would escape a double quote
		}
		names := ""
		if r.name != "" {
			names = ", resourceNames: [" + r.name + "]"
		}
		texts = append(texts, fmt.Sprintf("{apiGroups: [%s], resources: [%s]%s, verbs: [%s]}",
			group, strings.Join(r.resources, ", "), names, strings.Join(r.verbs, ", ")))
	}
	return "[" + strings.Join(texts, ", ") + "]"
}

// rule combines permissions that fit into one RBAC rule.
type rule struct {
	group, name      string
	resources, verbs []string
}

// gather returns as few rules as possible, in the order of the permissions.
func gather(all []Permission) []rule {
	var each []rule // permissions for one resource
	for _, r := range all {
		at := slices.IndexFunc(each, func(e rule) bool { return e.group == r.Group && e.name == r.Name && e.resources[0] == r.Resource })
		if at < 0 {
			at = len(each)
			each = append(each, rule{group: r.Group, name: r.Name, resources: []string{r.Resource}})
		}
		if !slices.Contains(each[at].verbs, r.Verb) {
			each[at].verbs = append(each[at].verbs, r.Verb)
		}
	}
	var merged []rule
	for _, e := range each {
		at := slices.IndexFunc(merged, func(m rule) bool {
			return m.group == e.group && m.name == e.name && slices.Equal(m.verbs, e.verbs)
		})
		if at < 0 {
			merged = append(merged, e)
			continue
		}
		merged[at].resources = append(merged[at].resources, e.resources...)
	}
	return merged
}

// sentences describe the missing permissions and the rules to add, in one sentence for all
// namespaces with the same rules.
func sentences(missing []Permission) []string {
	type said struct {
		words      string
		namespaces []string
	}
	var all []said
	var places []string
	for _, r := range missing {
		if !slices.Contains(places, r.Namespace) {
			places = append(places, r.Namespace)
		}
	}
	for _, ns := range places {
		here := slices.DeleteFunc(slices.Clone(missing), func(r Permission) bool { return r.Namespace != ns })
		// A cluster-wide permission needs a ClusterRole instead of a Role.
		words := fmt.Sprintf("may not %s. Add to the rules of %%s that is bound to its ServiceAccount: %s", verbs(here), Rules(here))
		at := slices.IndexFunc(all, func(s said) bool { return s.words == words && ns != "" && s.namespaces[0] != "" })
		if at < 0 {
			at = len(all)
			all = append(all, said{words: words})
		}
		all[at].namespaces = append(all[at].namespaces, ns)
	}
	var texts []string
	for _, s := range all {
		where, role := "In namespace "+s.namespaces[0], "a Role of that namespace"
		switch {
		case s.namespaces[0] == "":
			where, role = "In all namespaces", "a ClusterRole"
		case len(s.namespaces) > 1:
			where, role = "In the namespaces "+strings.Join(s.namespaces, ", "), "a Role of each of them"
		}
		texts = append(texts, where+" the controller "+fmt.Sprintf(s.words, role))
	}
	return texts
}

// verbs formats permissions as the arguments of kubectl auth can-i.
func verbs(all []Permission) string {
	var texts []string
	for _, r := range gather(all) {
		var names []string
		for _, resource := range r.resources {
			if r.group != "" {
				resource += "." + r.group
			}
			if r.name != "" {
				resource += "/" + r.name
			}
			names = append(names, resource)
		}
		texts = append(texts, listed(r.verbs, "or")+" "+listed(names, "and"))
	}
	return strings.Join(texts, ", ")
}

func listed(words []string, last string) string {
	n := len(words) - 1
	if n == 0 {
		return words[0]
	}
	return strings.Join(words[:n], ", ") + " " + last + " " + words[n]
}
