package cli

import (
	"bytes"
	"strings"
	"testing"
)

const (
	functionItems = `kind: ResourceList
apiVersion: config.kubernetes.io/v1
items:
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: web}
  data: {a: "1"}
- apiVersion: apps/v1
  kind: Deployment
  metadata: {name: web}
  spec:
    template:
`
	functionPods = `      spec:
        containers: [{name: app, envFrom: [{configMapRef: {name: web}}]}]
- apiVersion: example.org/v1
  kind: Boat
  metadata: {name: web}
  spec: {template: {metadata: {annotations: {}}, spec: {containers: []}}}
functionConfig:
  metadata: {name: stamp}
  spec: `
)

func runFunction(in string, args ...string) (stdout string, err error) {
	var out bytes.Buffer
	cmd := newStamp()
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetArgs(append([]string{"--function"}, args...))
	cmd.SetIn(strings.NewReader(in))
	cmd.SetOut(&out)
	cmd.SetErr(&out)
	err = cmd.Execute()
	return out.String(), err
}

// The options are flags, including those that may be repeated. Everything else stays unchanged.
func TestAFunctionHasItsFlagsFromItsConfig(t *testing.T) {
	const spec = "{all: true, annotation: checksum/other, workload-kind: [example.org/v1/Boat, example.org/v1/Ship]}\n"
	stdout, err := runFunction(functionItems + functionPods + spec)
	want := functionItems + "      metadata:\n        annotations:\n          checksum/other: reroll1:c2c1f58bbc9c02e306249810d08aad40\n" +
		strings.Replace(functionPods, "annotations: {}", `annotations: {"checksum/other": "no-config-data"}`, 1) + spec
	if err != nil || stdout != want {
		t.Errorf("%v, %s", err, stdout)
	}
}

func TestWhatAFunctionRefuses(t *testing.T) {
	for spec, want := range map[string]string{
		"{al: true}":                    "functionConfig: spec.al: unknown option",
		"{in-place: true}":              "functionConfig: spec.in-place: unknown option",
		"{function: false}":             "functionConfig: spec.function: unknown option",
		"{all: {a: b}}":                 "functionConfig: spec.all: it must be a text, true or false, or a list of texts",
		"{missing: [warn]}":             "functionConfig: spec.missing: it takes one value, not a list",
		"{all: maybe}":                  "functionConfig: spec.all: it must be true or false",
		"{missing: maybe}":              "--missing=maybe: must be ignore, warn or error",
		"{workload-kind: [Boat]}":       "--workload-kind=Boat: write GROUP/VERSION/KIND",
		"\n    all: true\n    al: true": "stdin:23: functionConfig: spec.al: unknown option",
		"{al: true, mising: warn}":      "stdin:21: functionConfig: spec.al: unknown option",
		"{all: 1.5}":                    "stdin:21: functionConfig: spec.all: it must be a text",
		"[all]":                         "stdin:21: spec must be keys with values",
	} {
		if stdout, err := runFunction(functionItems + functionPods + spec); err == nil || stdout != "" || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %q, %v", spec, stdout, err)
		}
	}
	for in, want := range map[string]string{
		"a: [": "stdin:1: it is not YAML",
		functionItems + functionPods + "{}\n kind: b": "stdin:22: it is not YAML",
		"":             "stdin:1: it is empty; --function needs a ResourceList",
		"kind: Secret": `stdin:1: it is not a ResourceList, which --function needs, but "Secret"`,
	} {
		if stdout, err := runFunction(in); err == nil || stdout != "" || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %q, %v", in, stdout, err)
		}
	}
	for _, args := range [][]string{{"--check"}, {"a.yaml"}} {
		if _, err := runFunction("", args...); err == nil || !strings.Contains(err.Error(), "--function reads standard input") {
			t.Errorf("%s: %v", args, err)
		}
	}
}

// With an alias, a value in the functionConfig can be a value of a Secret among the items.
func TestAFunctionShowsNoPassword(t *testing.T) {
	const (
		secret = "apiVersion: v1\nkind: ResourceList\nitems:\n- apiVersion: v1\n  kind: Secret\n  metadata: {name: db}\n  stringData: {a: &a hunter2}\n"
		line   = "stdin:8: "
	)
	for config, want := range map[string]string{
		"functionConfig: hunter2":                               "functionConfig must be keys with values",
		"functionConfig: {spec: hunter2}":                       "spec must be keys with values",
		"functionConfig: {spec: *a}":                            "spec must be keys with values, written out",
		"functionConfig: {spec: {all: *a}}":                     "functionConfig: spec.all: it must be a text",
		"functionConfig: {spec: {workload-kind: [*a]}}":         "functionConfig: spec.workload-kind: it must be a text",
		"functionConfig: {spec: {*a : true}}":                   "functionConfig: the keys of spec must be plain strings",
		"functionConfig: {spec: {<<: hunter2}}":                 "functionConfig: the keys of spec must be plain strings",
		"functionConfig: {spec: {all: !!bool hunter2}}":         "functionConfig: spec.all: it must be true or false",
		"functionConfig: {spec: {all: !!timestamp hunter2}}":    "functionConfig: spec.all: it must be a text",
		"functionConfig: {spec: &hunter2 {all: *hunter2}}":      "functionConfig: spec.all: it must be a text",
		"functionConfig: {spec: {all: true, missing: *hunter}}": "an alias has no anchor",
	} {
		stdout, err := runFunction(secret + config + "\n")
		if err == nil || stdout != "" || !strings.Contains(err.Error(), line+want) || strings.Contains(err.Error(), "hunter") {
			t.Errorf("%s: %q, %v", config, stdout, err)
		}
	}
	for _, all := range []string{"hunter2", "[hunter2]", "kind: hunter2 and more", "kind: [hunter2]"} {
		if stdout, err := runFunction(all + "\n"); err == nil || stdout != "" || !strings.Contains(err.Error(), "stdin:1: it is not a ResourceList") || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %q, %v", all, stdout, err)
		}
	}
}

// The input of a function is not a file, so line numbers do not help a user. A message has the
// number of the item, and the file of the item if the input names it.
func TestWhatAFunctionTellsHasTheItem(t *testing.T) {
	const spec = "{all: true}\n"
	edit := func(from, to string) string {
		t.Helper()
		if !strings.Contains(functionItems, from) {
			t.Fatalf("%q is not in the items", from)
		}
		return strings.Replace(functionItems, from, to, 1) + functionPods + spec
	}
	const named = "{name: web, annotations: {internal.config.kubernetes.io/path: deploy/web.yaml}}"
	for about, tc := range map[string]struct{ in, want string }{
		"a note":      {edit("kind: ConfigMap\n  metadata: {name: web}", "kind: ConfigMap\n  metadata: {name: other}"), "items[1] of stdin:8: Deployment web: ConfigMap web, which it needs"},
		"a mistake":   {edit(`{a: "1"}`, "{a: 1}"), `items[0] of stdin:7: the value of key "a" is not a string`},
		"no kind":     {edit("kind: Deployment", "type: Deployment"), "items[1] of stdin:8: it is not a Kubernetes object: it has no kind"},
		"a key twice": {edit("  spec:", "  spec: {}\n  spec:"), `items[1] of stdin:12: key "spec" is here a second time`},
		"not YAML":    {edit("  metadata: {name: web}\n  spec:", "  metadata: {name: web\n  spec:"), "items[1] of stdin:10: it is not YAML"},
		"a note about a file": {
			strings.Replace(edit("{name: web}\n  spec:", named+"\n  spec:"), "{name: web}\n  data", "{name: other}\n  data", 1),
			"deploy/web.yaml, items[1] of stdin:8: Deployment web: ConfigMap web, which it needs",
		},
		"a mistake in a file": {
			edit("{name: web}\n  data: {a: \"1\"}", "{name: web, annotations: {config.kubernetes.io/path: deploy/page.yaml}}\n  data: {a: 1}"),
			`deploy/page.yaml, items[0] of stdin:7: the value of key "a" is not a string`,
		},
	} {
		stdout, err := runFunction(tc.in)
		told := stdout
		if err != nil {
			told = err.Error()
		}
		if !strings.Contains("\n"+told, "\n"+tc.want) {
			t.Errorf("%s: %s", about, told)
		}
	}
}

// In flow style, a line can have two items. Then the message names neither.
func TestAFunctionReadsBraces(t *testing.T) {
	in := func(key string) string {
		return `{"apiVersion": "config.kubernetes.io/v1", "kind": "ResourceList", "items": [` +
			`{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "web"}, "data": {"a": ` + key + `}}, ` +
			`{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": {"template": {"spec": {` +
			`"containers": [{"name": "app", "envFrom": [{"configMapRef": {"name": "web"}}]}]}}}}], "functionConfig": {"spec": {"all": true}}}` + "\n"
	}
	stdout, err := runFunction(in(`"1"`))
	if want := strings.Replace(in(`"1"`), `{"spec": {"containers"`, `{"metadata": {"annotations": {"checksum/config": "reroll1:c2c1f58bbc9c02e306249810d08aad40"}}, "spec": {"containers"`, 1); err != nil || stdout != want {
		t.Errorf("%v, %s", err, stdout)
	}
	if _, err := runFunction(in("1")); err == nil || !strings.Contains(err.Error(), "\nstdin:1: the value of key \"a\" is not a string") {
		t.Error(err)
	}
}
