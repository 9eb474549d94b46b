package docs

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"sigs.k8s.io/yaml"
)

// apply gives a block to the API server, which refuses what it does not know.
func (r *reader) apply(b *block) {
	r.Helper()
	_, values := b.words["values"]
	_, rules := b.words["rules"]
	file, part := b.words["merge"]
	text := b.text
	switch {
	case values:
		r.install(b)
		return
	case rules:
		indented := "  " + strings.ReplaceAll(strings.TrimSpace(b.text), "\n", "\n  ")
		text = "apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata: {name: tried}\nrules:\n" + indented
	case part:
		whole, err := os.ReadFile(filepath.Join(root, file))
		r.must(err)
		text, err = merged(string(whole), b.text)
		if err != nil {
			r.Errorf("%s: %v", b, err)
			return
		}
	}
	r.strictly(b, text)
}

func (r *reader) strictly(b *block, text string) {
	r.Helper()
	cmd := r.command("kubectl apply --server-side --dry-run=server --validate=strict --force-conflicts --filename=-")
	cmd.Stdin = strings.NewReader(text)
	if out, err := cmd.CombinedOutput(); err != nil {
		r.Errorf("%s: %v\n%s\n%s", b, err, text, out)
	}
}

// install installs the chart with values, and removes it.
func (r *reader) install(b *block) {
	r.Helper()
	cmd := r.command("helm install tried charts/reroll --namespace tried --create-namespace --values -")
	cmd.Stdin = strings.NewReader(b.text)
	if out, err := cmd.CombinedOutput(); err != nil {
		r.Errorf("%s: %v\n%s\n%s", b, err, b.text, out)
		return
	}
	r.run("helm uninstall tried --namespace tried --wait")
}

// merged is the object of a file, with a part of it put in place. If the part names no kind, there
// has to be one object.
func merged(whole, part string) (string, error) {
	var over map[string]any
	if err := yaml.UnmarshalStrict([]byte(part), &over); err != nil {
		return "", err
	}
	var found []map[string]any
	for document := range strings.SplitSeq("\n"+whole, "\n---\n") {
		var object map[string]any
		if err := yaml.Unmarshal([]byte(document), &object); err != nil {
			return "", err
		}
		if object != nil && (over["kind"] == nil || over["kind"] == object["kind"]) {
			found = append(found, object)
		}
	}
	if len(found) == 0 || len(found) > 1 && over["kind"] == nil {
		return "", fmt.Errorf("the file has %d objects that this may be a part of", len(found))
	}
	put(found[0], over)
	text, err := yaml.Marshal(found[0])
	return string(text), err
}

func put(into, over map[string]any) {
	for key, value := range over {
		below, deeper := value.(map[string]any)
		standing, there := into[key].(map[string]any)
		if deeper && there {
			put(standing, below)
			continue
		}
		into[key] = value
	}
}
