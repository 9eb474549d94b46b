package scenarios

import (
	"context"
	"errors"
	"fmt"

	"github.com/reroll-dev/reroll/test/harness"
)

func controller(ctx context.Context, s *step) error {
	if err := s.wantArgs(1, 1000); err != nil {
		return err
	}
	s.decided = false
	verb := s.args[0]
	if s.not && verb != "start" {
		return s.wantNoNegation()
	}
	if verb == "start" || verb == "restart" {
		return startController(ctx, s, verb)
	}
	if len(s.args) > 1 {
		return fmt.Errorf("%w: controller %s takes no flags", errUsage, verb)
	}
	if !s.running {
		return fmt.Errorf("controller %s: none is running", verb)
	}
	switch verb {
	case "stop":
		return s.stop(ctx)
	case "kill":
		s.running = false
		s.controller.Kill()
		return s.controller.Sound()
	case "freeze":
		return s.controller.Freeze()
	case "thaw":
		return s.controller.Thaw()
	default:
		return fmt.Errorf("%w: %q is nothing a controller can be told", errUsage, verb)
	}
}

func startController(ctx context.Context, s *step, verb string) error {
	flags, env := harness.FlagsAndVariables(s.args[1:])
	switch {
	case verb == "start" && s.running:
		return errors.New("a controller is running already: stop or kill it first, or restart it")
	case verb == "restart" && !s.running:
		return errors.New("controller restart: none is running")
	case verb == "restart":
		// Started again as it was, unless something else is said.
		if len(s.args) == 1 {
			flags, env = s.flags, s.env
		}
		if err := s.stop(ctx); err != nil {
			return err
		}
	}
	if err := s.install(ctx); err != nil {
		return err
	}
	if s.controller != nil {
		s.earlier = append(s.earlier, s.controller)
	}
	s.flags, s.env = flags, env
	var err error
	s.controller, err = s.installation.Start(ctx, flags, env)
	s.running = s.controller != nil && s.controller.Running() == nil
	if !s.not {
		return err
	}
	return refused(s, err)
}

// refused is right if the controller has ended by itself and said so by its exit code.
func refused(s *step, err error) error {
	ended, ok := errors.AsType[*harness.EndedError](err)
	switch {
	case err == nil:
		return errors.New("the controller has started, and was expected to refuse")
	case !ok:
		return err
	case ended.Code <= 0:
		return fmt.Errorf("the controller was expected to refuse with an exit code above 0: %w", err)
	default:
		return s.controller.Sound()
	}
}

// install gives the controller its account and permissions at the first start.
func (s *scenario) install(ctx context.Context) error {
	if s.installation != nil {
		return nil
	}
	binary, err := s.setting.Binary()
	if err != nil {
		return err
	}
	s.installation, err = s.ns.Install(ctx, s.setting.manifest, binary)
	return err
}
