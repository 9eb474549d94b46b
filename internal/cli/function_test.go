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

// The options are flags, also those that may be given several times, and nothing else is changed.
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
		"{al: true}":              "functionConfig: spec.al: there is no such option",
		"{in-place: true}":        "functionConfig: spec.in-place: there is no such option",
		"{function: false}":       "functionConfig: spec.function: there is no such option",
		"{all: {a: b}}":           "functionConfig: spec.all: it must be a text, true or false, or a list of texts",
		"{missing: [warn]}":       "functionConfig: spec.missing: it takes one value, and no list",
		"{all: maybe}":            `functionConfig: spec.all: invalid argument "maybe"`,
		"{missing: maybe}":        "--missing=maybe: must be ignore, warn or error",
		"{workload-kind: [Boat]}": "--workload-kind=Boat: write GROUP/VERSION/KIND",
	} {
		if stdout, err := runFunction(functionItems + functionPods + spec); err == nil || stdout != "" || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %q, %v", spec, stdout, err)
		}
	}
	for in, want := range map[string]string{
		"a: [":         "stdin: yaml: line 1",
		"kind: Secret": `stdin: it is no ResourceList, which --function needs, but "Secret"`,
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
