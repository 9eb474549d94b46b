package chart

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

func TestAnImageOfReloaderIsRefusedWithTheLinesToChange(t *testing.T) {
	_, appVersion := chartVersions(t)
	digest := "sha256:" + strings.Repeat("0a", 32)
	lines := func(lines ...string) string {
		return strings.ReplaceAll(strings.Join(lines, "\n"), "VERSION", appVersion)
	}
	const two = " is Reloader's, and this chart runs Reroll. Change these two lines of your values, or name your own copy of the image:\n\n"
	for about, tc := range map[string]struct{ values, image, want, mended string }{
		"as it is published": {
			"image: {name: stakater/reloader, repository: ghcr.io/stakater/reloader, tag: v1.4.20}", "ghcr.io/stakater/reloader:v1.4.20",
			two + lines("image:", "  repository: localhost/reroll", "  tag: VERSION\n"), "localhost/reroll:" + appVersion,
		},
		"on another server": {
			"image: {repository: docker.io/stakater/reloader}", "docker.io/stakater/reloader:" + appVersion,
			two + lines("image:", "  repository: localhost/reroll", "  tag: VERSION\n"), "localhost/reroll:" + appVersion,
		},
		"copied to a server of one's own": {
			"image: {repository: registry.example.com/mirror/reloader, tag: v1.4.2-ubi}", "registry.example.com/mirror/reloader:v1.4.2-ubi",
			two + lines("image:", "  repository: localhost/reroll", "  tag: VERSION\n"), "localhost/reroll:" + appVersion,
		},
		"behind a registry for all charts": {
			"global: {imageRegistry: registry.example.com}\nimage: {name: stakater/reloader, repository: ghcr.io/stakater/reloader, tag: v1.4.20}", "registry.example.com/stakater/reloader:v1.4.20",
			two + lines("image:", "  name: reroll", "  tag: VERSION\n"), "registry.example.com/reroll:" + appVersion,
		},
		"by its digest": {
			"image: {repository: ghcr.io/stakater/reloader, digest: '" + digest + "'}", "ghcr.io/stakater/reloader@" + digest,
			" Change these lines of your values, or name your own copy of the image:\n\n" + lines("image:", `  digest: ""`, "  repository: localhost/reroll", "  tag: VERSION\n"), "localhost/reroll:" + appVersion,
		},
		"where charts before 2.0 had it": {
			"reloader: {deployment: {image: {name: ghcr.io/stakater/reloader, base: stakater/reloader, tag: v1.2.0, pullPolicy: IfNotPresent}}}", "ghcr.io/stakater/reloader:v1.2.0",
			two + lines("reloader:", "  deployment:", "    image:", "      name: localhost/reroll", "      tag: VERSION\n"), "localhost/reroll:" + appVersion,
		},
		"where charts before 2.0 had it, behind a registry": {
			"global: {imageRegistry: r.example.com}\nreloader: {deployment: {image: {name: ghcr.io/stakater/reloader, base: stakater/reloader, tag: v1.2.0}}}", "r.example.com/stakater/reloader:v1.2.0",
			two + lines("reloader:", "  deployment:", "    image:", "      base: reroll", "      tag: VERSION\n"), "r.example.com/reroll:" + appVersion,
		},
	} {
		t.Run(about, func(t *testing.T) {
			t.Parallel()
			_, err := template(t, release, tc.values)
			if err == nil || !strings.Contains(err.Error(), "the image "+tc.image+" is Reloader's") || !strings.Contains(err.Error(), tc.want) {
				t.Fatalf("error: %v\nwant it to say: %s", err, tc.want)
			}
			// The lines are the values that would do.
			_, change, _ := strings.Cut(tc.want, ":\n\n")
			if got := render(t, merged(t, tc.values, change)).container(t).Image; got != tc.mended {
				t.Errorf("with the lines changed the image is %s, want %s", got, tc.mended)
			}
		})
	}
}

// Only its tag tells whether an image under that name can be Reloader's.
func TestAnImageOfRerollMayBeNamedLikeReloaders(t *testing.T) {
	digest := "sha256:" + strings.Repeat("0a", 32)
	for about, tc := range map[string]struct{ values, want string }{
		"of a test suite":                    {"image: {repository: ghcr.io/stakater/reloader, tag: test}", "ghcr.io/stakater/reloader:test"},
		"of a test suite, by its name alone": {"image: {repository: reloader, tag: local}", "reloader:local"},
		"pushed over a mirror":               {"image: {repository: registry.example.com/mirror/reloader, tag: reroll-0.1.0}", "registry.example.com/mirror/reloader:reroll-0.1.0"},
		"with more behind the version":       {"image: {repository: registry.example.com/mirror/reloader, tag: v1.4.20-reroll}", "registry.example.com/mirror/reloader:v1.4.20-reroll"},
		"a version still to come":            {"image: {repository: registry.example.com/mirror/reloader, tag: v2.0.0}", "registry.example.com/mirror/reloader:v2.0.0"},
		"behind a registry":                  {"global: {imageRegistry: r.example.com}\nimage: {name: stakater/reloader, tag: test}", "r.example.com/stakater/reloader:test"},
		"by a digest, with its tag":          {"image: {repository: reloader-ubi, tag: test, digest: '" + digest + "'}", "reloader-ubi@" + digest},
		"where it stood before 2.0":          {"reloader: {deployment: {image: {name: stakater/reloader, tag: test}}}", "stakater/reloader:test"},
	} {
		t.Run(about, func(t *testing.T) {
			t.Parallel()
			if got := render(t, tc.values).container(t).Image; got != tc.want {
				t.Errorf("image %s, want %s", got, tc.want)
			}
			if text, want := notes(t, tc.values), "WARNING: the image "+tc.want+" is named like Reloader's: check that it contains Reroll."; !strings.Contains(text, want) {
				t.Errorf("the notes lack %q:\n%s", want, text)
			}
		})
	}
	// Without v, a version is Reloader's just as well.
	for _, tag := range []string{"1.4.20", "0.0.129", "v0.0.129-ubi", "1.0.0-ubi"} {
		if _, err := template(t, release, "image: {repository: registry.example.com/reloader, tag: "+tag+"}"); err == nil || !strings.Contains(err.Error(), "is Reloader's, and this chart runs Reroll") {
			t.Errorf("%s: error: %v", tag, err)
		}
	}
}

func TestOnlyATagOfReloaderIsRefusedToo(t *testing.T) {
	_, appVersion := chartVersions(t)
	_, err := template(t, release, "image: {tag: v1.4.20}")
	if want := "the tag v1.4.20 is one of Reloader's, and this chart runs Reroll. Change this line of your values:\n\nimage:\n  tag: " + appVersion + "\n"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error: %v", err)
	}
	// Somebody's own image may be tagged like that.
	if got := render(t, "image: {repository: r.example.com/reroll, tag: v1.4.20}").container(t).Image; got != "r.example.com/reroll:v1.4.20" {
		t.Error(got)
	}
}

func TestTheImageOfOldValues(t *testing.T) {
	for values, want := range map[string]string{
		"reloader: {deployment: {image: {name: r.example.com/reroll, tag: '1'}}}":                                                            "r.example.com/reroll:1",
		"image: {repository: r.example.com/mine, tag: '2'}\nreloader: {deployment: {image: {name: ghcr.io/stakater/reloader, tag: v1.2.0}}}": "r.example.com/mine:2",
		"image: {tag: '2'}\nreloader: {deployment: {image: {name: ghcr.io/stakater/reloader, tag: v1.2.0}}}":                                 "localhost/reroll:2",
	} {
		if got := render(t, values).container(t).Image; got != want {
			t.Errorf("%s: %s", values, got)
		}
	}
	if got := render(t, "reloader: {deployment: {image: {name: r.example.com/reroll, pullPolicy: Always}}}").container(t).ImagePullPolicy; got != "Always" {
		t.Error(got)
	}
	o := render(t, "reloader: {volumes: [{name: a, emptyDir: {}}], volumeMounts: [{name: a, mountPath: /a}]}")
	if v, m := o.pod().Spec.Volumes, o.container(t).VolumeMounts; len(v) != 1 || v[0].Name != "a" || len(m) != 1 || m[0].MountPath != "/a" {
		t.Errorf("volumes %+v, mounts %+v", v, m)
	}
}

// oldValues has what default values of Reloader's charts have and this one's have not, in both
// places where the image was.
const oldValues = `
kubernetes: {host: "https://kubernetes.default"}
image: {name: stakater/reloader, repository: ghcr.io/stakater/reloader, tag: v1.4.20, pullPolicy: IfNotPresent}
reloader:
  isArgoRollouts: false
  legacy: {rbac: false}
  service: {}
  serviceMonitor: {enabled: false, honorLabels: true}
  verticalPodAutoscaler: {enabled: false, controlledResources: [], updatePolicy: {updateMode: Auto}}
  custom_annotations: {}
  volumes: []
  serviceAccount: {create: true, name: }
  deployment:
    hostUsers: null
    nodeSelector:
    labels: {provider: stakater, group: com.stakater.platform, version: v1.4.20}
    image: {name: ghcr.io/stakater/reloader, base: stakater/reloader, tag: v1.2.0, pullPolicy: IfNotPresent}
    env: {open: , secret: , field: , existing: }
    securityContext: {runAsNonRoot: true, runAsUser: 65534, seccompProfile: {type: RuntimeDefault}}
    containerSecurityContext: {}
`

// comingValues are of the shape that default values of Reloader's charts have from 3.0: where the API
// server is has moved below global, and enterprise is a tree that its charts alone know.
var comingValues = strings.NewReplacer(
	`kubernetes: {host: "https://kubernetes.default"}`, `global: {host: "https://kubernetes.default", imageRegistry: "", imagePullSecrets: []}
enterprise: {enabled: false, license: {key: "", existingSecret: {name: }}, replicas: 1, hosts: [], podAnnotations: {}}`,
	"tag: v1.4.20, pullPolicy", `tag: v1.4.20, digest: "", pullPolicy`,
).Replace(oldValues)

// Whole files of default values of Reloader's charts need the lines about the image changed, and
// nothing else. They are not part of this repository: RELOADER_VALUES names a folder with them.
func TestDefaultValuesOfReloaderAreTaken(t *testing.T) {
	defaults := map[string]string{"written here": oldValues, "of the coming 3.0": comingValues}
	files, err := filepath.Glob(filepath.Join(os.Getenv("RELOADER_VALUES"), "chart-*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		defaults[filepath.Base(file)] = string(text)
	}
	for name, values := range defaults {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := template(t, release, values)
			if err == nil {
				t.Fatal("Reloader's image is taken")
			}
			_, lines, found := strings.Cut(err.Error(), "Change these two lines of your values, or name your own copy of the image:\n\n")
			lines, _, _ = strings.Cut(lines, "\n\n")
			if !found {
				t.Fatal(err)
			}
			o := render(t, merged(t, values, lines, "nameOverride: reloader"))
			_, appVersion := chartVersions(t)
			if o.deployment.Name != "prod-reloader" || o.container(t).Image != "localhost/reroll:"+appVersion {
				t.Errorf("%s runs %s", o.deployment.Name, o.container(t).Image)
			}
			env := usual()
			env["RELOADER_DEPLOYMENT_NAME"] = "prod-reloader"
			if diff := cmp.Diff(env, environment(t, o)); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff([]string{"run", "--is-Argo-Rollouts=false"}, o.container(t).Args); diff != "" {
				t.Error(diff)
			}
			if len(o.services)+len(o.policies)+len(o.budgets)+len(o.custom) != 0 {
				t.Errorf("more is made: %+v", o)
			}
		})
	}
}

// merged are values as Helm sees two files of them.
func merged(t *testing.T, values ...string) string {
	t.Helper()
	all := map[string]any{}
	for _, text := range values {
		var more map[string]any
		if err := yaml.Unmarshal([]byte(text), &more); err != nil {
			t.Fatal(err)
		}
		overlay(all, more)
	}
	text, err := yaml.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func overlay(under, over map[string]any) {
	for key, value := range over {
		below, _ := under[key].(map[string]any)
		if above, is := value.(map[string]any); is && below != nil {
			overlay(below, above)
			continue
		}
		under[key] = value
	}
}

// parent makes a chart that has this one below an alias, and returns its folder.
func parent(t *testing.T, alias string) string {
	t.Helper()
	folder := t.TempDir()
	version, _ := chartVersions(t)
	meta := "apiVersion: v2\nname: platform\nversion: 1.0.0\ndependencies:\n- {name: reroll, version: " + version + ", alias: " + alias + ", condition: " + alias + ".enabled}\n"
	if err := os.WriteFile(filepath.Join(folder, "Chart.yaml"), []byte(meta), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(filepath.Join(folder, "charts", "reroll"), os.DirFS(chart)); err != nil {
		t.Fatal(err)
	}
	return folder
}

func TestBelowAnAliasOfAnotherChart(t *testing.T) {
	folder := parent(t, "reloader")
	render := func(values string) (string, error) {
		return helm(t, values, "template", release, folder, "--namespace", namespace, "--kube-version", oldestCluster)
	}
	text, err := render(`
global: {imageRegistry: r.example.com, imagePullSecrets: [pull], storageClass: fast}
reloader: {enabled: true, reloader: {autoReloadAll: true, deployment: {env: {open: {ALERT_SINK: slack}}}}}
`)
	if err != nil {
		t.Fatal(err)
	}
	o := parsed(t, text)
	if o.deployment.Name != "prod-reloader" || o.container(t).Image[:21] != "r.example.com/reroll:" || o.pod().Spec.ImagePullSecrets[0].Name != "pull" || !slices.Contains(o.container(t).Args, "--auto-reload-all") {
		t.Errorf("%+v", o.deployment)
	}
	_, err = render("reloader: {image: {repository: ghcr.io/stakater/reloader}}")
	if want := "\n\nreloader:\n  image:\n    repository: localhost/reroll\n    tag: "; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error: %v", err)
	}
	if _, err = render("reloader: {autoReloadAll: true}"); err == nil || !strings.Contains(err.Error(), "additional properties 'autoReloadAll' not allowed") {
		t.Errorf("error: %v", err)
	}
	if text, err = render("reloader: {enabled: false}"); err != nil || strings.Contains(text, "Deployment") {
		t.Errorf("switched off: %v %s", err, text)
	}
}
