// Command values prints charts/reroll/README.md: the values of the chart, from the comments of its
// values.yaml.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"go.yaml.in/yaml/v3"
)

func main() {
	if err := page(os.Stdout, "charts/reroll/values.yaml"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

const head = `# The reroll chart

<!-- Generated from values.yaml by make generate. -->

Installs [Reroll](../../README.md), which rolls workloads if the ConfigMaps and Secrets that they
use change.

` + "```" + `sh
helm install reroll charts/reroll --namespace reroll --create-namespace
` + "```" + `

By default it watches all namespaces, and rolls only workloads that opted in. Its Pod meets the
"restricted" Pod Security Standard. To replace Reloader, see [Migrate from
Reloader](../../docs/how-to/migrate-from-reloader.md). [Install](../../docs/how-to/install.md) has
other ways to install it.

The chart rejects unknown keys, except below ` + "`global`" + ` and these keys of Reloader's charts:

- ` + "`kubernetes`, `enterprise` and `reloader.legacy`" + `, without effect;
- ` + "`reloader.volumes` and `reloader.volumeMounts`, like those below `reloader.deployment`" + `;
- ` + "`reloader.deployment.image`, if `image`" + ` is unset;
- ` + "`reloader.deployment.imagePullSecrets`, added to those of `global`" + `.

| Value | Default | Meaning |
|---|---|---|
`

func page(w io.Writer, values string) error {
	text, err := os.ReadFile(values)
	if err != nil {
		return err
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return fmt.Errorf("%s: %w", values, err)
	}
	if len(doc.Content) != 1 || doc.Content[0].Kind != yaml.MappingNode {
		return fmt.Errorf("%s is no map", values)
	}
	var rows strings.Builder
	if err := table(&rows, "", doc.Content[0]); err != nil {
		return fmt.Errorf("%s: %w", values, err)
	}
	_, err = io.WriteString(w, head+rows.String())
	return err
}

// table writes a row for each value of a map, and says which have no comment.
func table(rows *strings.Builder, path string, of *yaml.Node) error {
	var problems []error
	for i := 0; i < len(of.Content); i += 2 {
		key, value := of.Content[i], of.Content[i+1]
		name, about := path+key.Value, meaning(key)
		group := explained(value)
		switch {
		case !group:
			def, err := inline(value)
			if err != nil {
				return err
			}
			if about == "" {
				problems = append(problems, fmt.Errorf("line %d: %s has no comment", key.Line, name))
			}
			fmt.Fprintf(rows, "| `%s` | %s | %s |\n", name, def, about)
		case about != "":
			fmt.Fprintf(rows, "| `%s` | | %s |\n", name, about)
		}
		if group {
			problems = append(problems, table(rows, name+".", value))
		}
	}
	return errors.Join(problems...)
}

// explained reports whether the values of a map are to be shown one by one.
func explained(value *yaml.Node) bool {
	if value.Kind != yaml.MappingNode {
		return false
	}
	for i := 0; i < len(value.Content); i += 2 {
		if meaning(value.Content[i]) != "" || explained(value.Content[i+1]) {
			return true
		}
	}
	return false
}

// meaning is the comment directly above a key, on one line. What stands above a blank line is about
// more than the key.
func meaning(key *yaml.Node) string {
	comment := key.HeadComment
	if i := strings.LastIndex(comment, "\n\n"); i >= 0 {
		comment = comment[i+2:]
	}
	var words []string
	for line := range strings.Lines(comment) {
		words = append(words, strings.Fields(strings.TrimPrefix(strings.TrimSpace(line), "#"))...)
	}
	return strings.NewReplacer("|", `\|`, "<", `\<`).Replace(strings.Join(words, " "))
}

// inline is a default on one line; nothing stands for null.
func inline(value *yaml.Node) (string, error) {
	if value.Tag == "!!null" {
		return "", nil
	}
	plain := *value
	flow(&plain)
	text, err := yaml.Marshal(&plain)
	if err != nil {
		return "", err
	}
	return "`" + strings.Join(strings.Fields(string(text)), " ") + "`", nil
}

func flow(node *yaml.Node) {
	if node.Kind == yaml.MappingNode || node.Kind == yaml.SequenceNode {
		node.Style = yaml.FlowStyle
	}
	node.HeadComment, node.LineComment, node.FootComment = "", "", ""
	for _, child := range node.Content {
		flow(child)
	}
}
