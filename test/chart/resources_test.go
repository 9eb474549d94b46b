package chart

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
)

// quantities are the requests or the limits of a container as they are written.
func quantities(of corev1.ResourceList) map[string]string {
	all := map[string]string{}
	for name, quantity := range of {
		all[string(name)] = quantity.String()
	}
	return all
}

// A values file for Reloader's chart, which has no defaults here, must not become one that the API
// server rejects.
func TestResourcesOfTheUserAreMergedIntoTheDefaults(t *testing.T) {
	type list = map[string]string
	for about, tc := range map[string]struct {
		values           string
		requests, limits list
		memoryVariable   bool
	}{
		"the defaults": {
			"", list{"cpu": "20m", "memory": "64Mi", "ephemeral-storage": "64Mi"}, list{"memory": "512Mi", "ephemeral-storage": "512Mi"}, true,
		},
		"an empty map, as in Reloader's chart, keeps the defaults": {
			"{}", list{"cpu": "20m", "memory": "64Mi", "ephemeral-storage": "64Mi"}, list{"memory": "512Mi", "ephemeral-storage": "512Mi"}, true,
		},
		"null removes all": {"null", list{}, list{}, false},
		"null removes one": {
			"{limits: {memory: null}, requests: {ephemeral-storage: null}}", list{"cpu": "20m", "memory": "64Mi"}, list{"ephemeral-storage": "512Mi"}, false,
		},
		"a memory limit alone": {
			"{limits: {memory: 256Mi}}", list{"cpu": "20m", "memory": "64Mi", "ephemeral-storage": "64Mi"}, list{"memory": "256Mi", "ephemeral-storage": "512Mi"}, true,
		},
		"a memory limit alone, lower than the default request": {
			"{limits: {memory: 48Mi}}", list{"cpu": "20m", "ephemeral-storage": "64Mi"}, list{"memory": "48Mi", "ephemeral-storage": "512Mi"}, true,
		},
		"a memory limit in bytes, lower than the default request": {
			"{limits: {memory: 50331648}}", list{"cpu": "20m", "ephemeral-storage": "64Mi"}, list{"memory": "50331648", "ephemeral-storage": "512Mi"}, true,
		},
		"a memory request alone, higher than the default limit": {
			"{requests: {memory: 1Gi}}", list{"cpu": "20m", "memory": "1Gi", "ephemeral-storage": "64Mi"}, list{"ephemeral-storage": "512Mi"}, false,
		},
		"a CPU limit alone": {
			"{limits: {cpu: 1}}", list{"cpu": "20m", "memory": "64Mi", "ephemeral-storage": "64Mi"}, list{"cpu": "1", "memory": "512Mi", "ephemeral-storage": "512Mi"}, true,
		},
		"a CPU limit alone, lower than the default request": {
			"{limits: {cpu: 0.01}}", list{"memory": "64Mi", "ephemeral-storage": "64Mi"}, list{"cpu": "10m", "memory": "512Mi", "ephemeral-storage": "512Mi"}, true,
		},
		"both, of which the limit is written as the default is": {
			`{limits: {cpu: "100m", memory: "512Mi"}, requests: {cpu: "10m", memory: "128Mi"}}`,
			list{"cpu": "10m", "memory": "128Mi", "ephemeral-storage": "64Mi"}, list{"cpu": "100m", "memory": "512Mi", "ephemeral-storage": "512Mi"}, true,
		},
		"a pair of the user that does not fit is left to the API server": {
			"{limits: {memory: 64Mi}, requests: {memory: 1Gi}}", list{"cpu": "20m", "memory": "1Gi", "ephemeral-storage": "64Mi"}, list{"memory": "64Mi", "ephemeral-storage": "512Mi"}, true,
		},
		"other resources are added": {
			"{requests: {example.org/gpu: 1}, limits: {example.org/gpu: 1}}",
			list{"cpu": "20m", "memory": "64Mi", "ephemeral-storage": "64Mi", "example.org/gpu": "1"}, list{"memory": "512Mi", "ephemeral-storage": "512Mi", "example.org/gpu": "1"}, true,
		},
	} {
		t.Run(about, func(t *testing.T) {
			t.Parallel()
			values := ""
			if tc.values != "" {
				values = "reloader: {deployment: {resources: " + tc.values + "}}"
			}
			o := render(t, values)
			got := o.container(t).Resources
			if diff := cmp.Diff([]list{tc.requests, tc.limits}, []list{quantities(got.Requests), quantities(got.Limits)}); diff != "" {
				t.Error(diff)
			}
			if _, has := environment(t, o)["GOMEMLIMIT"]; has != tc.memoryVariable {
				t.Errorf("GOMEMLIMIT is set: %v, and the memory limit is %v", has, got.Limits.Memory())
			}
		})
	}
}
