package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// parsing collects everything that is wrong with a command line. The parser by itself stops at the first mistake, so that a user
// with three would start the command three times.
type parsing struct {
	cmd      *cobra.Command
	args     []string
	values   map[*pflag.Flag]pflag.Value
	rejected []error
	check    func(cmd *cobra.Command, args []string) error
}

// collecting is the value of a flag whose mistakes are collected.
type collecting struct {
	pflag.Value
	name string
	to   *parsing
}

// Set never fails. The parser zeroes a value that it cannot read. The previous value is restored.
// Otherwise a later check would also reject the zero, which the user did not write.
func (c collecting) Set(text string) error {
	before := c.String()
	if err := c.Value.Set(text); err != nil {
		c.to.rejected = append(c.to.rejected, fmt.Errorf("invalid argument %q for %q flag: %w", text, "--"+c.name, err))
		if c.String() != before { // a list is not zeroed, and would grow
			_ = c.Value.Set(before)
		}
	}
	return nil
}

// collect prepares a command line for that. For help, flags stay as they are: their types show in it.
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

// all returns the mistakes, those among them that were found elsewhere first, and ends the collecting.
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

// unknown parses the rest of a line behind a flag that does not exist.
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
