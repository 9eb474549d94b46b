// Command overlays turns two renderings of the chart into a kustomize overlay: what has to be done
// to the one to have the other.
//
//	go run ./tools/overlays -base bin/base.yaml -variant bin/ha.yaml -title "Two replicas" -o deploy/kustomize/overlays/ha
//
// The base is expected at ../../base from there.
package main

import (
	"bufio"
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"

	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

func main() {
	if err := run(os.Args[1:], os.Stderr); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "overlays:", err)
		os.Exit(1)
	}
}

func run(args []string, stderr io.Writer) error {
	fs := flag.NewFlagSet("overlays", flag.ContinueOnError)
	fs.SetOutput(stderr)
	base := fs.String("base", "", "`file` that the base is made of")
	variant := fs.String("variant", "", "`file` of what is wanted instead")
	title := fs.String("title", "", "one `line` on what it is")
	out := fs.String("o", "", "`directory` to write")
	if err := fs.Parse(args); err != nil {
		return err
	}
	from, err := read(*base)
	if err != nil {
		return err
	}
	to, err := read(*variant)
	if err != nil {
		return err
	}
	files, err := overlay(from, to, *title)
	if err != nil {
		return err
	}
	if err := os.RemoveAll(*out); err != nil {
		return fmt.Errorf("-o %s: %w", *out, err)
	}
	if err := os.MkdirAll(*out, 0o755); err != nil { //nolint:gosec // to be read by anybody
		return fmt.Errorf("-o %s: %w", *out, err)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(*out, name), text, 0o644); err != nil { //nolint:gosec // to be read by anybody
			return fmt.Errorf("-o %s: %w", *out, err)
		}
	}
	return nil
}

// object is one of a rendering, with the text that it has there, whose comments are worth keeping.
type object struct {
	content map[string]any
	text    []byte
}

func (o object) at(path ...string) string {
	var value any = o.content
	for _, key := range path {
		fields, _ := value.(map[string]any)
		value = fields[key]
	}
	text, _ := value.(string)
	return text
}

// id is what kustomize goes by.
func (o object) id() string {
	return o.at("apiVersion") + " " + o.at("kind") + " " + o.at("metadata", "namespace") + "/" + o.at("metadata", "name")
}

func read(file string) ([]object, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var all []object
	for r := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(data))); ; {
		text, err := r.Read()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		o := object{text: text}
		if err := yaml.Unmarshal(text, &o.content); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		if len(o.content) > 0 {
			all = append(all, o)
		}
	}
}

// kustomization is what the overlay says.
type kustomization struct {
	APIVersion string   `json:"apiVersion"`
	Kind       string   `json:"kind"`
	Resources  []string `json:"resources"`
	Patches    []patch  `json:"patches,omitempty"`
}

type patch struct {
	Target target `json:"target"`
	Patch  string `json:"patch"`
}

type target struct {
	Group   string `json:"group,omitempty"`
	Version string `json:"version"`
	Kind    string `json:"kind"`
	Name    string `json:"name"`
}

const added = "added.yaml"

func overlay(from, to []object, title string) (map[string][]byte, error) {
	k := kustomization{APIVersion: "kustomize.config.k8s.io/v1beta1", Kind: "Kustomization", Resources: []string{"../../base"}}
	files := map[string][]byte{}
	for _, o := range from {
		if !slices.ContainsFunc(to, o.same) {
			k.Patches = append(k.Patches, patch{o.target(), o.deletion()})
		}
	}
	var more [][]byte
	for _, o := range to {
		at := slices.IndexFunc(from, o.same)
		if at < 0 {
			more = append(more, bytes.TrimSpace(o.text))
			continue
		}
		text, err := from[at].replacements(o)
		if err != nil {
			return nil, err
		}
		if text != "" {
			k.Patches = append(k.Patches, patch{o.target(), text})
		}
	}
	if len(more) > 0 {
		k.Resources = append(k.Resources, added)
		files[added] = append([]byte(generated+"---\n"), append(bytes.Join(more, []byte("\n---\n")), '\n')...)
	}
	text, err := yaml.Marshal(k)
	if err != nil {
		return nil, fmt.Errorf("write the kustomization: %w", err)
	}
	files["kustomization.yaml"] = append([]byte(generated+"# "+title+".\n"), text...)
	return files, nil
}

const generated = "# Generated from charts/reroll by make generate.\n"

func (o object) same(other object) bool { return o.id() == other.id() }

func (o object) target() target {
	group, version, found := strings.Cut(o.at("apiVersion"), "/")
	if !found {
		group, version = "", group
	}
	return target{group, version, o.at("kind"), o.at("metadata", "name")}
}

func (o object) deletion() string {
	return "$patch: delete\napiVersion: " + o.at("apiVersion") + "\nkind: " + o.at("kind") + "\nmetadata:\n  name: " + o.at("metadata", "name") + "\n"
}

// replacements are a JSON Patch, one step for each place that differs. Merging would leave what the
// base has in lists.
func (o object) replacements(to object) (string, error) {
	steps := compare("", o.content, to.content)
	if len(steps) == 0 {
		return "", nil
	}
	text, err := yaml.Marshal(steps)
	if err != nil {
		return "", fmt.Errorf("write the patch of %s: %w", o.id(), err)
	}
	return string(text), nil
}

type step struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value,omitempty"`
}

// compare goes into maps, and into lists of the same length: the others are replaced as a whole.
func compare(path string, from, to any) []step {
	if reflect.DeepEqual(from, to) {
		return nil
	}
	switch to := to.(type) {
	case map[string]any:
		if from, ok := from.(map[string]any); ok {
			return compareMaps(path, from, to)
		}
	case []any:
		if from, ok := from.([]any); ok && len(from) == len(to) {
			var steps []step
			for i := range to {
				steps = append(steps, compare(path+"/"+strconv.Itoa(i), from[i], to[i])...)
			}
			return steps
		}
	}
	return []step{{"replace", path, to}}
}

func compareMaps(path string, from, to map[string]any) []step {
	var steps []step
	for _, key := range slices.Sorted(maps.Keys(to)) {
		at := path + "/" + escape(key)
		if before, there := from[key]; there {
			steps = append(steps, compare(at, before, to[key])...)
		} else {
			steps = append(steps, step{"add", at, to[key]})
		}
	}
	for _, key := range slices.Sorted(maps.Keys(from)) {
		if _, there := to[key]; !there {
			steps = append(steps, step{Op: "remove", Path: path + "/" + escape(key)})
		}
	}
	return steps
}

// escape writes a key as a JSON Pointer has it.
func escape(key string) string { return strings.NewReplacer("~", "~0", "/", "~1").Replace(key) }
