package chart

import (
	"encoding/base64"
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// environment are the variables of the container by name. None may be there twice.
func environment(t *testing.T, o objects) map[string]string {
	t.Helper()
	env := map[string]string{}
	for _, e := range o.container(t).Env {
		if _, twice := env[e.Name]; twice {
			t.Errorf("%s is there twice", e.Name)
		}
		env[e.Name] = e.Value
		switch from := e.ValueFrom; {
		case from == nil:
		case from.FieldRef != nil:
			env[e.Name] = "from " + from.FieldRef.FieldPath
		case from.SecretKeyRef != nil:
			env[e.Name] = "from Secret " + from.SecretKeyRef.Name + ", " + from.SecretKeyRef.Key
			if from.SecretKeyRef.Optional != nil && *from.SecretKeyRef.Optional {
				env[e.Name] += ", if it is there"
			}
		case from.ResourceFieldRef != nil:
			env[e.Name] = "from " + from.ResourceFieldRef.Resource
		}
	}
	return env
}

func usual() map[string]string {
	return map[string]string{
		"POD_NAME":                 "from metadata.name",
		"POD_NAMESPACE":            "from metadata.namespace",
		"RELOADER_NAMESPACE":       "from metadata.namespace",
		"RELOADER_DEPLOYMENT_NAME": "prod-reroll",
		"GOMEMLIMIT":               "from limits.memory",
	}
}

func TestEnvironment(t *testing.T) {
	for about, tc := range map[string]struct {
		values string
		more   map[string]string
	}{
		"global":               {"", nil},
		"listed namespaces":    {"reloader: {watchGlobally: false, namespaces: [a]}", nil},
		"own namespace":        {"reloader: {watchGlobally: false}", map[string]string{"KUBERNETES_NAMESPACE": "from metadata.namespace"}},
		"reloads by namespace": {"reloader: {enableMetricsByNamespace: true}", map[string]string{"METRICS_COUNT_BY_NAMESPACE": "enabled"}},
		"open": {"reloader: {deployment: {env: {open: {ALERT_ON_RELOAD: true, ALERT_SINK: slack, RETRIES: 3, BYTES: 12345678, SHARE: 0.5, EMPTY: '', NONE: null, OFF: false}}}}",
			map[string]string{"ALERT_ON_RELOAD": "true", "ALERT_SINK": "slack", "RETRIES": "3", "BYTES": "12345678", "SHARE": "0.5"}},
		"secret": {"reloader: {deployment: {env: {secret: {ALERT_WEBHOOK_URL: 'https://x/y', EMPTY: ''}}}}",
			map[string]string{"ALERT_WEBHOOK_URL": "from Secret prod-reroll, ALERT_WEBHOOK_URL"}},
		"field": {"reloader: {deployment: {env: {field: {NODE: spec.nodeName}}}}", map[string]string{"NODE": "from spec.nodeName"}},
		"existing": {"reloader: {deployment: {env: {existing: {alerts: {ALERT_WEBHOOK_URL: url, ALERT_SINK: sink}, other: {ALERT_ADDITIONAL_INFO: info, HTTPS_PROXY: proxy}}}}}",
			map[string]string{
				"ALERT_WEBHOOK_URL": "from Secret alerts, url, if it is there", "ALERT_SINK": "from Secret alerts, sink, if it is there",
				"ALERT_ADDITIONAL_INFO": "from Secret other, info, if it is there", "HTTPS_PROXY": "from Secret other, proxy",
			}},
		"limits of Go":             {"reloader: {deployment: {gomaxprocsOverride: 2, gomemlimitOverride: 200MiB, resources: {limits: {memory: 64Mi}}}}", map[string]string{"GOMAXPROCS": "2", "GOMEMLIMIT": "200MiB"}},
		"a limit of Go in bytes":   {"reloader: {deployment: {gomemlimitOverride: 536870912}}", map[string]string{"GOMEMLIMIT": "536870912"}},
		"the memory limit":         {"reloader: {deployment: {resources: {limits: {memory: 64Mi, cpu: 1}}}}", map[string]string{"GOMEMLIMIT": "from limits.memory"}},
		"no limits of Go":          {`reloader: {deployment: {gomaxprocsOverride: 0, gomemlimitOverride: "0", resources: {limits: {memory: 64Mi}}}}`, map[string]string{"GOMEMLIMIT": ""}},
		"no memory limit":          {"reloader: {deployment: {resources: {limits: {memory: null}}}}", map[string]string{"GOMEMLIMIT": ""}},
		"limits of Go given twice": {"reloader: {deployment: {gomemlimitOverride: 1GiB, env: {open: {GOMEMLIMIT: 2GiB}}}}", map[string]string{"GOMEMLIMIT": "2GiB"}},
		"what the chart sets by itself can be given": {"reloader: {enableMetricsByNamespace: true, watchGlobally: false, deployment: {env: {open: {POD_NAME: mine, KUBERNETES_NAMESPACE: a, METRICS_COUNT_BY_NAMESPACE: disabled}, field: {RELOADER_DEPLOYMENT_NAME: 'metadata.labels[''app'']'}}}}",
			map[string]string{"POD_NAME": "mine", "KUBERNETES_NAMESPACE": "a", "METRICS_COUNT_BY_NAMESPACE": "disabled", "RELOADER_DEPLOYMENT_NAME": "from metadata.labels['app']"}},
		"nothing by null": {"reloader: {deployment: {env: null}}", nil},
	} {
		t.Run(about, func(t *testing.T) {
			t.Parallel()
			want := usual()
			maps.Copy(want, tc.more)
			maps.DeleteFunc(want, func(_, value string) bool { return value == "" })
			if diff := cmp.Diff(want, environment(t, render(t, tc.values))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestTheSecretOfTheEnvironment(t *testing.T) {
	if secrets := render(t, "reloader: {deployment: {env: {secret: {EMPTY: ''}}}}").secrets; len(secrets) != 0 {
		t.Errorf("a Secret for nothing: %+v", secrets)
	}
	secrets := render(t, "reloader: {deployment: {env: {secret: {ALERT_WEBHOOK_URL: 'https://x/y?a=1', ALERT_ON_RELOAD: true, CHANNEL: 12345678}}}}").secrets
	if len(secrets) != 1 || secrets[0].Name != "prod-reroll" || secrets[0].Namespace != namespace || secrets[0].Labels["release"] != "prod" {
		t.Fatalf("Secrets: %+v", secrets)
	}
	want := map[string][]byte{"ALERT_WEBHOOK_URL": []byte("https://x/y?a=1"), "ALERT_ON_RELOAD": []byte("true"), "CHANNEL": []byte("12345678")}
	if diff := cmp.Diff(want, secrets[0].Data); diff != "" {
		t.Errorf("content, %s: %s", base64.StdEncoding.EncodeToString(secrets[0].Data["ALERT_WEBHOOK_URL"]), diff)
	}
}
