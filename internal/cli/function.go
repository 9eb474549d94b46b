package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"

	"github.com/reroll-dev/reroll/internal/stamp"
)

// resourceList is what a KRM function reads, as far as it is not looked at as manifests.
type resourceList struct {
	Kind           string `yaml:"kind"`
	FunctionConfig struct {
		Spec map[string]any `yaml:"spec"`
	} `yaml:"functionConfig"`
}

// readFunction reads a ResourceList. Its functionConfig has the flags, so it is looked at first, and without the items: they
// can be long.
func (s *stamping) readFunction(cmd *cobra.Command, files []string) (*stamp.Stream, error) {
	if len(files) > 0 || s.inPlace || s.check {
		return nil, usageError{errors.New("--function reads standard input and writes standard output: give no files, no --in-place and no --check")}
	}
	var failed error
	stream, err := stamp.ReadFunction("stdin", cmd.InOrStdin(), func(around *yaml.Node) (stamp.Options, error) {
		if failed = configure(cmd, around); failed == nil {
			failed = s.prepare(nil)
		}
		return s.options, failed
	})
	switch {
	case failed != nil:
		return nil, failed
	case err != nil:
		return nil, unreadable(stdin, err)
	}
	return stream, nil
}

// configure takes flags from the functionConfig.
func configure(cmd *cobra.Command, around *yaml.Node) error {
	var list resourceList
	if around != nil {
		if err := around.Decode(&list); err != nil {
			return exitError{"stdin: " + err.Error(), codeUnreadable}
		}
	}
	if list.Kind != "ResourceList" {
		return exitError{fmt.Sprintf("stdin: it is no ResourceList, which --function needs, but %q", list.Kind), codeUnreadable}
	}
	for name, value := range list.FunctionConfig.Spec {
		if err := setFlag(cmd, name, value); err != nil {
			return usageError{fmt.Errorf("functionConfig: spec.%s: %w", name, err)}
		}
	}
	return nil
}

// setFlag takes a list for a flag that may be given several times.
func setFlag(cmd *cobra.Command, name string, value any) error {
	flag := cmd.LocalFlags().Lookup(name)
	if flag == nil || slices.Contains([]string{"function", "in-place", "check", "help"}, name) {
		return errors.New("there is no such option: the names are those of the flags, such as all and missing")
	}
	values, several := value.([]any)
	if !several {
		values = []any{value}
	}
	for _, one := range values {
		switch one.(type) {
		case string, bool, int:
		default:
			return errors.New("it must be a text, true or false, or a list of texts")
		}
		if several && !strings.HasSuffix(flag.Value.Type(), "Array") && !strings.HasSuffix(flag.Value.Type(), "Slice") {
			return errors.New("it takes one value, and no list")
		}
		if err := cmd.Flags().Set(name, fmt.Sprint(one)); err != nil {
			return err
		}
	}
	return nil
}
