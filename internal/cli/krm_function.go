package cli

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reroll-dev/reroll/internal/stamp"
)

// functionInput is the name of the input of a function in messages.
const functionInput = "stdin"

// readFunction reads a ResourceList. The functionConfig has the flags, so it is read first. The
// items are skipped then, because they can be large.
func (s *stamping) readFunction(cmd *cobra.Command, files []string) (*stamp.Stream, error) {
	if len(files) > 0 || s.inPlace || s.check {
		return nil, usageError{errors.New("--function reads standard input and writes standard output: omit files, --in-place and --check")}
	}
	var failed error
	stream, err := stamp.ReadFunction(functionInput, cmd.InOrStdin(), func(settings []stamp.Setting) (stamp.Options, error) {
		if failed = configure(cmd, settings); failed == nil {
			if failed = s.validate(nil); failed == nil {
				failed = s.readKey()
			}
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

// configure sets flags from the functionConfig.
func configure(cmd *cobra.Command, settings []stamp.Setting) error {
	for _, setting := range settings {
		if err := setFlag(cmd, setting); err != nil {
			return usageError{setting.At(functionInput, err)}
		}
	}
	return nil
}

// setFlag sets a flag. If the flag may be repeated, the value may be a list.
func setFlag(cmd *cobra.Command, s stamp.Setting) error {
	flag := cmd.LocalFlags().Lookup(s.Name)
	switch {
	case flag == nil || slices.Contains([]string{"function", "in-place", "check", "help"}, s.Name):
		return errors.New("unknown option: use the names of the flags, such as all and missing")
	case s.List && !strings.HasSuffix(flag.Value.Type(), "Array") && !strings.HasSuffix(flag.Value.Type(), "Slice"):
		return errors.New("it takes one value, not a list")
	}
	for _, value := range s.Values {
		if _, err := strconv.ParseBool(value); err != nil && flag.Value.Type() == "bool" {
			return errors.New("it must be true or false")
		}
		if err := cmd.Flags().Set(s.Name, value); err != nil {
			return err
		}
	}
	return nil
}
