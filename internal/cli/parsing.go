package cli

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// parsing collects all errors of a command line. The parser stops at the first error, so a user
// with three errors would have to start the command three times.
type parsing struct {
	cmd      *cobra.Command
	args     []string
	values   map[*pflag.Flag]pflag.Value
	rejected []error
	check    func(cmd *cobra.Command, args []string) error
}

// collecting is the value of a flag whose errors are collected.
type collecting struct {
	pflag.Value
	name string
	to   *parsing
}

// Set never fails. The parser zeroes a value that it cannot read, so Set restores the previous
// value. Otherwise a later check would also reject the zero, which the user did not write.
func (c collecting) Set(text string) error {
	before := c.String()
	if err := c.Value.Set(text); err != nil {
		c.to.rejected = append(c.to.rejected, fmt.Errorf("invalid argument %q for %q flag: %w", text, "--"+c.name, remedy(c.Value, err)))
		if c.String() != before { // a list is not zeroed, and would grow
			_ = c.Value.Set(before)
		}
	}
	return nil
}

// remedy replaces an error of the standard library, which does not show what would be valid.
func remedy(value pflag.Value, err error) error {
	if errors.Is(err, strconv.ErrRange) {
		return err
	}
	switch value.Type() {
	case "duration":
		return errors.New("write a number and a unit, such as 30s, 5m or 1h")
	case "bool":
		return errors.New("write true or false")
	case "int", "int32", "float32", "float64":
		return errors.New("write a number")
	default:
		return err
	}
}

// collect makes a command line collect its errors. For help, flags stay as they are, because the
// help shows their types.
func collect(root *cobra.Command, line []string) {
	cmd, args, err := root.Find(line)
	if err != nil || cmd == root || slices.Contains(args, "--help") || slices.Contains(args, "-h") {
		return
	}
	p := &parsing{cmd: cmd, args: args, values: map[*pflag.Flag]pflag.Value{}, check: cmd.PreRunE}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		p.values[f] = f.Value
		f.Value = collecting{f.Value, f.Name, p}
	})
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return p.unknown(err) })
	if arguments := cmd.Args; arguments != nil {
		cmd.Args = func(cmd *cobra.Command, args []string) error {
			if err := arguments(cmd, args); err != nil {
				return p.all(args, err)
			}
			return nil
		}
	}
	cmd.PreRunE = func(_ *cobra.Command, args []string) error { return p.all(args) }
}

// all returns the errors, beginning with those that were found elsewhere, and ends the collecting.
func (p *parsing) all(args []string, found ...error) error {
	for f, value := range p.values {
		f.Value = value
	}
	found = append(found, p.rejected...)
	if p.check != nil {
		found = append(found, p.check(p.cmd, args))
	}
	if err := errors.Join(found...); err != nil {
		return usageError{err}
	}
	return nil
}

// unknown parses the rest of a line after a flag that does not exist.
func (p *parsing) unknown(err error) error {
	found, args := []error{err}, slices.Clone(p.args)
	for {
		missing, ok := errors.AsType[*pflag.NotExistError](err)
		if !ok {
			break
		}
		at := slices.IndexFunc(args, func(word string) bool {
			name, _, _ := strings.Cut(word, "=")
			if letters := missing.GetSpecifiedShortnames(); letters != "" {
				return strings.HasPrefix(word, "-") && !strings.HasPrefix(word, "--") && strings.HasSuffix(word, letters)
			}
			return name == "--"+missing.GetSpecifiedName()
		})
		if at < 0 {
			break
		}
		args, p.rejected = slices.Delete(args, at, at+1), nil
		if err = p.cmd.Flags().Parse(args); err == nil {
			break
		}
		found = append(found, err)
	}
	return p.all(nil, found...)
}
