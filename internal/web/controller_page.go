package web

import (
	"slices"
	"time"

	"github.com/reroll-dev/reroll/internal/inspect"
)

// controllerPage shows the controllers, and the permissions of the reader.
type controllerPage struct {
	Version, Commit string
	Controllers     []controller
	Own             bool
	Beyond          []beyond
}

func (*controllerPage) page() (name, title string) { return "controller", "Controller" }

// controller is one controller with its settings.
type controller struct {
	Cluster, Problem, Life, Presence, Namespace, Version, Holder string
	Heard                                                        time.Time
	Flags, Warnings                                              []string
	// HiddenFlags and HiddenHolder report that the reader may not read what has them.
	HiddenFlags, HiddenHolder bool
	Workloads, Sources        int
	Permissions               []permission
}

// permission is what a reader may read.
type permission struct {
	Resource string
	All      bool
}

// beyond is a place where the process reads more than a reader may.
type beyond struct{ Reads, For, Shown string }

// beyondReader returns each place where the process uses permissions that a reader may lack.
func beyondReader() []beyond {
	return []beyond{
		{"workloads of all kinds that it watches, in all of its namespaces", "states, lists, numbers and the map", "to readers who may list that kind in the namespace; of the others, only how many there are"},
		{"ConfigMaps, Secrets and SecretProviderClasses; it keeps digests and drops the data", "which source rolls which workload, and whether Pods have its data", "names to readers who may list that kind in the namespace; of the others, only how many there are. Digests and data to nobody"},
		{"Pods of workloads whose state depends on the age of their Pods", "states", "the state, to readers who may list that workload"},
		{"Pods of one workload", "the page of that workload", "to readers who may list Pods in the namespace"},
		{"events of Reroll about one workload", "the page of that workload", "to readers who may list events in the namespace"},
		{"annotations of namespaces", "freezes, windows and approvals", "freezes and their reasons to readers who may list namespaces, or all workloads of the namespace; windows to readers of a workload that has them"},
		{"the data times and field managers of ConfigMaps, Secrets and SecretProviderClasses", "the writer of the data of a source, and the time", "to readers who may list that kind in the namespace"},
		{"sources of other namespaces that a workload uses", "the page of that workload", "the name, whether it exists, and the time of its data, to readers who may list that kind in the namespace of the workload"},
		{"its version, and whether it runs", "this page", "to everybody with a token that the API server accepts"},
		{"its namespace, its settings, and the Pod that leads", "this page", "namespace and settings to readers who may list ConfigMaps in the namespace of the controller; the Pod to readers who may list Pods there"},
		{"the freeze of all namespaces", "Now, Gates, workloads and sources", "that there is one to everybody; its reason to readers who may list ConfigMaps in the namespace of the controller, or all workloads of any namespace"},
		{"the halt", "Now, Gates, workloads and sources", "that there is one to everybody; its reason to readers who may list all workloads of all namespaces"},
		{"TokenReviews and SubjectAccessReviews, which it creates", "the user of your token, and what you may list", "your name to you, and what you may list"},
	}
}

func (s *site) controller(r *request) (any, error) {
	p := &controllerPage{Version: s.Build.Version, Commit: s.Build.Commit, Own: s.Own, Beyond: beyondReader()}
	for _, c := range s.clusters {
		one := controller{Cluster: c.Name(), Problem: c.Problem()}
		if f, err := c.Facts(); err == nil {
			one.fill(r, &f)
		}
		p.Controllers = append(p.Controllers, one)
	}
	return p, nil
}

func (c *controller) fill(r *request, f *inspect.Facts) {
	settings := f.Settings
	c.Life, c.Presence, c.Version, c.Heard = settings.Life(f.Now), settings.Presence(f.Now), settings.Version, settings.Heard
	if c.HiddenFlags = !r.sight.may(settings.Controller, "configmaps"); !c.HiddenFlags {
		c.Namespace, c.Flags = settings.Controller, settings.Beyond // flags name namespaces
	}
	if c.HiddenHolder = settings.Holder != "" && !r.sight.may(settings.Controller, "pods"); !c.HiddenHolder {
		c.Holder = settings.Holder
	}
	seen := map[string]bool{}
	add := func(resource string) {
		if !seen[resource] {
			seen[resource] = true
			c.Permissions = append(c.Permissions, permission{resource, r.sight.may("", resource)})
		}
	}
	scopes, _ := r.sight.scopes(f)
	for _, scope := range scopes {
		c.Workloads += scope.OptedIn()
	}
	for _, kind := range settings.Rules.Kinds {
		used := slices.ContainsFunc(f.Board.Scopes, func(s inspect.Scope) bool { return s.Kind == kind.Name })
		if kind.IsWatched() && (used || !kind.Custom) {
			add(resourceOf(f, kind.Name))
		}
	}
	for _, resource := range []string{"configmaps", "secrets", "pods", "events", "namespaces"} {
		add(resource)
	}
	c.Warnings = warnings(r, f)
}

// warnings are what may make the pages incomplete.
func warnings(r *request, f *inspect.Facts) []string {
	var all []string
	for _, resource := range f.Unread {
		all = append(all, "You may not list "+resource+", so workloads and sources may be missing here.")
	}
	if f.NoDefaults {
		all = append(all, "You may not read namespaces, so what their annotations set is unknown.")
	}
	if len(f.Skipped) > 0 && !r.sight.workloads(f, "") {
		return append(all, "Some objects could not be decoded.")
	}
	for _, other := range f.Settings.Beside {
		if r.sight.may(other, "configmaps") {
			all = append(all, "Another controller runs in namespace "+other+".")
		}
	}
	return append(all, f.Skipped...)
}
