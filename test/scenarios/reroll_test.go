package scenarios

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"

	"github.com/reroll-dev/reroll/test/harness"
)

// reroll runs a command of the binary as a user does, in the namespace of the scenario or the one
// that it names, until it says what is expected.
func reroll(ctx context.Context, s *step) error {
	if err := s.wantNoNegation(); err != nil {
		return err
	}
	code, kubeconfig := 0, s.setting.Cluster.Kubeconfig()
	if account, given := strings.CutPrefix(s.args[0], "-as="); given {
		var err error
		if kubeconfig, err = s.setting.Cluster.ServiceAccountKubeconfig(ctx, s.ns.Name, account); err != nil {
			return err
		}
		s.args = s.args[1:]
	}
	if text, given := strings.CutPrefix(s.args[0], "-code="); given {
		var err error
		if code, err = strconv.Atoi(text); err != nil {
			return fmt.Errorf("%w: %w", errUsage, err)
		}
		s.args = s.args[1:]
	}
	if err := s.wantArgs(2, 20); err != nil {
		return err
	}
	last := len(s.args) - 1
	pattern, err := s.pattern(last)
	if err != nil {
		return err
	}
	at := last
	if s.args[0] == "__complete" {
		at = 2 // behind the command; what is at the end is to be completed
	}
	binary, err := s.setting.Binary()
	if err != nil {
		return err
	}
	return harness.Await(ctx, fmt.Sprintf("%q, with exit code %d", pattern, code), func(ctx context.Context) error {
		words := s.args[:last:last]
		if !slices.ContainsFunc(words, func(word string) bool { return strings.HasPrefix(word, "--namespace=") }) {
			words = slices.Insert(words, at, "--namespace="+s.ns.Name)
		}
		cmd := exec.CommandContext(ctx, binary, words...)
		cmd.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig, harness.RaceDetector)
		out, err := cmd.CombinedOutput()
		if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited {
			return err
		}
		// Where lines are broken depends on the name of the namespace.
		said := strings.Join(strings.Fields(string(out)), " ")
		if got := cmd.ProcessState.ExitCode(); got != code || !pattern.MatchString(said) {
			return fmt.Errorf("exit code %d:\n%s", got, out)
		}
		return nil
	})
}
