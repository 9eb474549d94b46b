package cli

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"
)

// resourceList is what a KRM function reads, as far as it is not looked at as manifests.
type resourceList struct {
	Kind           string `yaml:"kind"`
	FunctionConfig struct {
		Spec map[string]any `yaml:"spec"`
	} `yaml:"functionConfig"`
}

// configure takes flags from the functionConfig of what is read, and leaves it to be read again.
func (s *stamping) configure(cmd *cobra.Command, files []string) error {
	if len(files) > 0 || s.inPlace || s.check {
		return usageError{errors.New("--function reads standard input and writes standard output: give no files, no --in-place and no --check")}
	}
	var all bytes.Buffer
	if _, err := all.ReadFrom(cmd.InOrStdin()); err != nil {
		return exitError{"stdin: " + err.Error(), codeUnreadable}
	}
	cmd.SetIn(&all)
	var list resourceList
	if err := yaml.Unmarshal(all.Bytes(), &list); err != nil {
		return exitError{"stdin: " + err.Error(), codeUnreadable}
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
