package chart

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
)

func TestThePodHasWhatTheValuesSay(t *testing.T) {
	o := render(t, `global: {imagePullSecrets: [mine, {name: all}]}
reloader: {deployment: {
  revisionHistoryLimit: 0,
  dnsConfig: {options: [{name: ndots, value: "1"}]}, dnsPolicy: None,
  hostAliases: [{ip: 10.0.0.1, hostnames: [hooks.example.com, alerts.example.com]}],
  hostUsers: false,
  topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule}],
  runtimeClassName: gvisor, schedulerName: mine,
  automountServiceAccountToken: true,
  imagePullSecrets: [{name: mine}, {name: more}],
  volumes: [{name: ca, configMap: {name: ca}}],
  volumeMounts: [{name: ca, mountPath: /etc/ssl/certs}],
  livenessProbe: {timeoutSeconds: 7, initialDelaySeconds: 3},
  readinessProbe: {periodSeconds: 4}}}`)
	if n := o.deployment.Spec.RevisionHistoryLimit; n == nil || *n != 0 {
		t.Errorf("old ReplicaSets: %v", n)
	}
	spec, c := o.pod().Spec, o.container(t)
	ndots, yes, no, gvisor := "1", true, false, "gvisor"
	want := corev1.PodSpec{
		DNSConfig:                    &corev1.PodDNSConfig{Options: []corev1.PodDNSConfigOption{{Name: "ndots", Value: &ndots}}},
		DNSPolicy:                    corev1.DNSNone,
		HostAliases:                  []corev1.HostAlias{{IP: "10.0.0.1", Hostnames: []string{"hooks.example.com", "alerts.example.com"}}},
		HostUsers:                    &no,
		TopologySpreadConstraints:    []corev1.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: "zone", WhenUnsatisfiable: corev1.DoNotSchedule}},
		RuntimeClassName:             &gvisor,
		SchedulerName:                "mine",
		AutomountServiceAccountToken: &yes,
		ImagePullSecrets:             []corev1.LocalObjectReference{{Name: "mine"}, {Name: "all"}, {Name: "more"}},
		Volumes:                      []corev1.Volume{{Name: "ca", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "ca"}}}}},
		ServiceAccountName:           spec.ServiceAccountName, SecurityContext: spec.SecurityContext, Containers: spec.Containers,
	}
	if diff := cmp.Diff(want, spec); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]corev1.VolumeMount{{Name: "ca", MountPath: "/etc/ssl/certs"}}, c.VolumeMounts); diff != "" {
		t.Error(diff)
	}
	if p := c.LivenessProbe; p.TimeoutSeconds != 7 || p.InitialDelaySeconds != 3 || p.FailureThreshold != 5 || p.HTTPGet.Path != "/live" {
		t.Errorf("liveness: %+v", p)
	}
	if p := c.ReadinessProbe; p.PeriodSeconds != 4 || p.TimeoutSeconds != 5 || p.HTTPGet.Path != "/readyz" {
		t.Errorf("readiness: %+v", p)
	}
}

func TestAStartupProbeIsSetIfOneOfItsNumbersIs(t *testing.T) {
	if p := render(t, "").container(t).StartupProbe; p != nil {
		t.Errorf("by default: %+v", p)
	}
	p := render(t, "reloader: {deployment: {startupProbe: {failureThreshold: 90}}}").container(t).StartupProbe
	if p == nil || p.HTTPGet.Path != "/live" || p.HTTPGet.Port.StrVal != "http" || p.FailureThreshold != 90 || p.PeriodSeconds != 2 || p.TimeoutSeconds != 5 {
		t.Errorf("with a number: %+v", p)
	}
}

func TestAReadOnlyRootFilesystemHasRoomForTemporaryFiles(t *testing.T) {
	o := render(t, "reloader: {readOnlyRootFileSystem: true, deployment: {containerSecurityContext: {readOnlyRootFilesystem: false}, volumes: [{name: more, emptyDir: {}}]}}")
	if s := o.container(t).SecurityContext; !*s.ReadOnlyRootFilesystem || *s.AllowPrivilegeEscalation {
		t.Errorf("security context: %+v", s)
	}
	if diff := cmp.Diff([]corev1.VolumeMount{{Name: "tmp-volume", MountPath: "/tmp/"}}, o.container(t).VolumeMounts); diff != "" {
		t.Error(diff)
	}
	if v := o.pod().Spec.Volumes; len(v) != 2 || v[0].Name != "tmp-volume" || v[0].EmptyDir == nil || v[1].Name != "more" {
		t.Errorf("volumes: %+v", v)
	}
}

func TestOpenShiftChoosesTheUser(t *testing.T) {
	for values, want := range map[string][]bool{"isOpenshift: false": {true, true, true, true}, "isOpenshift: true": {false, false, false, false}} {
		o := render(t, "reloader: {"+values+", deployment: {securityContext: {runAsUser: 65534, runAsGroup: 1, fsGroup: 2}, containerSecurityContext: {runAsUser: 5}}}")
		pod, c := o.pod().Spec.SecurityContext, o.container(t).SecurityContext
		if diff := cmp.Diff(want, []bool{pod.RunAsUser != nil, pod.RunAsGroup != nil, pod.FSGroup != nil, c.RunAsUser != nil}); diff != "" {
			t.Errorf("%s: a user is named: %s", values, diff)
		}
		if !*pod.RunAsNonRoot || *c.AllowPrivilegeEscalation {
			t.Errorf("%s: %+v, %+v", values, pod, c)
		}
	}
}

func TestMoreLabelsOfTheSelector(t *testing.T) {
	o := render(t, `reloader: {matchLabels: {team: a, app: other, app.kubernetes.io/name: reloader}, service: {port: 80}, deployment: {labels: {team: b}}}`)
	want := map[string]string{"app": "prod-reroll", "release": "prod", "team": "a", "app.kubernetes.io/name": "reloader"}
	if diff := cmp.Diff(want, o.deployment.Spec.Selector.MatchLabels); diff != "" {
		t.Errorf("selector: %s", diff)
	}
	if diff := cmp.Diff(want, o.services[0].Spec.Selector); diff != "" {
		t.Errorf("selector of the Service: %s", diff)
	}
	want["app.kubernetes.io/instance"] = "prod"
	if diff := cmp.Diff(want, o.pod().Labels); diff != "" {
		t.Errorf("pods: %s", diff)
	}
}

func TestTheTokenOfTheServiceAccount(t *testing.T) {
	yes, no := true, false
	for values, want := range map[string]struct{ account, pod *bool }{
		"": {},
		"serviceAccount: {automountServiceAccountToken: true}":                                                    {&yes, nil},
		"serviceAccount: {automountServiceAccountToken: false}, deployment: {automountServiceAccountToken: true}": {&no, &yes},
		// A token of one's own.
		"deployment: {automountServiceAccountToken: false, volumes: [{name: t, emptyDir: {}}], volumeMounts: [{name: t, mountPath: /var/run/secrets/kubernetes.io/serviceaccount}]}": {nil, &no},
		"deployment: {automountServiceAccountToken: false, env: {open: {KUBECONFIG: /k}}}":                                                                                           {nil, &no},
	} {
		o := render(t, "reloader: {"+values+"}")
		if diff := cmp.Diff(want.account, o.serviceAccounts[0].AutomountServiceAccountToken); diff != "" {
			t.Errorf("%s: account: %s", values, diff)
		}
		if diff := cmp.Diff(want.pod, o.pod().Spec.AutomountServiceAccountToken); diff != "" {
			t.Errorf("%s: pod: %s", values, diff)
		}
	}
}

func TestWorkloadsThatAreIgnored(t *testing.T) {
	for values, want := range map[string]string{
		"ignoreJobs: true":                       "jobs",
		"ignoreCronJobs: true":                   "cronjobs",
		"ignoreJobs: true, ignoreCronJobs: true": "jobs,cronjobs",
	} {
		args := []string{"run", "--ignored-workload-types=" + want}
		if diff := cmp.Diff(args, render(t, "reloader: {"+values+"}").container(t).Args); diff != "" {
			t.Errorf("%s: %s", values, diff)
		}
	}
}

func TestLabelsOfThePermissions(t *testing.T) {
	for _, scope := range []string{"", "watchGlobally: false, "} {
		o := render(t, "reloader: {"+scope+"rbac: {labels: {team: a, app: other}}}")
		var all []map[string]string
		for _, r := range o.clusterRoles {
			all = append(all, r.Labels)
		}
		for _, r := range o.clusterRoleBindings {
			all = append(all, r.Labels)
		}
		for _, r := range o.roles {
			all = append(all, r.Labels)
		}
		for _, r := range o.roleBindings {
			all = append(all, r.Labels)
		}
		if len(all) != 4 {
			t.Errorf("%d", len(all))
		}
		for _, labels := range all {
			if labels["team"] != "a" || labels["app"] != "prod-reroll" {
				t.Errorf("labels: %v", labels)
			}
		}
	}
}
