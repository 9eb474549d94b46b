package scenarios

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/reroll-dev/reroll/test/harness"
)

// scenario is what the steps of one script share.
type scenario struct {
	setting  *setting
	patience time.Duration
	ns       *harness.Namespace
	// life is as long as the scenario.
	life context.Context

	installation *harness.Installation // from the first start on
	controller   *harness.Controller   // the one that was started last
	running      bool                  // nobody has ended it
	flags, env   []string              // of its last start
	earlier      []*harness.Controller
	receiver     *harness.Receiver
	csi          *harness.CSIDriver
	// decided: the markers were decided on, and nothing was changed since.
	decided bool
	failed  bool
}

// step is one line of a script.
type step struct {
	*scenario
	ts    *testscript.TestScript
	not   bool
	count int // how often something is to be there, 0 if that was not said
	args  []string
}

type scenarioKey struct{}

// params adds what makes a script a scenario.
func params(s *setting, patience time.Duration, p testscript.Params) testscript.Params {
	p.Setup = func(env *testscript.Env) error { return setUp(s, patience, env) }
	p.Cmds = map[string]func(*testscript.TestScript, bool, []string){}
	p.RequireUniqueNames = true
	if p.Dir != "" {
		p.Files, p.Dir = scripts(p.Dir, s.policies), ""
	}
	for name, run := range commands() {
		p.Cmds[name] = func(ts *testscript.TestScript, not bool, args []string) {
			ts.Value(scenarioKey{}).(*scenario).run(name, run, ts, not, args)
		}
	}
	return p
}

// scripts are those of a folder, the longest first: at the end, no long one keeps the run waiting.
// Without policies, those that apply an admission policy are left out.
func scripts(dir string, policies bool) []string {
	all, err := filepath.Glob(filepath.Join(dir, "*.txtar"))
	if err != nil {
		panic(err) // the pattern is wrong
	}
	steps := map[string]int{}
	all = slices.DeleteFunc(all, func(path string) bool {
		archive, err := txtar.ParseFile(path)
		if err != nil {
			return false // running it says why
		}
		steps[path] = bytes.Count(archive.Comment, []byte("\n"))
		return !policies && slices.ContainsFunc(archive.Files, func(f txtar.File) bool { return bytes.Contains(f.Data, []byte("AdmissionPolicy\n")) })
	})
	slices.SortStableFunc(all, func(a, b string) int { return cmp.Compare(steps[b], steps[a]) })
	return all
}

func setUp(on *setting, patience time.Duration, env *testscript.Env) error {
	// Steps have deadlines, and where nothing has been built yet, the first build takes minutes.
	if _, err := on.Binary(); err != nil {
		return err
	}
	// Observation goes on until the scenario has ended.
	ctx, cancel := context.WithCancel(context.Background())
	env.Defer(cancel)
	s := &scenario{setting: on, patience: patience, life: ctx}
	name := strings.TrimPrefix(filepath.Base(env.WorkDir), "script-")
	var err error
	if s.ns, err = on.Harness.Namespace(ctx, name); err != nil {
		return err
	}
	env.Values[scenarioKey{}] = s
	env.Setenv("NS", s.ns.Name)
	examples, err := filepath.Abs("../../examples")
	if err != nil {
		return err
	}
	env.Setenv("EXAMPLES", examples)
	env.Defer(func() { s.end(env.T()) })
	keepOnFailure(s, env.T())
	return nil
}

// run runs one step. Its context ends when it takes too long, or when the controller ends without
// having been told to.
func (s *scenario) run(name string, do func(context.Context, *step) error, ts *testscript.TestScript, not bool, args []string) {
	ctx, cancel := context.WithTimeoutCause(context.Background(), s.patience, fmt.Errorf("it did not come within %s", s.patience))
	defer cancel()
	if s.running && name != "controller" {
		var stop func()
		ctx, stop = s.whileRunning(ctx)
		defer stop()
	}
	err := do(ctx, &step{scenario: s, ts: ts, not: not, args: args})
	if err == nil {
		err = s.sentRight()
	}
	if err == nil {
		return
	}
	if errors.Is(err, errUsage) {
		err = fmt.Errorf("%w; %s", err, usage(name))
	}
	s.failed = true
	// Said again at the end, because who reads the end of a long output alone has to find it, too.
	ts.Fatalf("%v\n\n%s\n\nthis is what failed: %v", err, s.report(), err)
}

// sentRight reports whether the receiver was sent all as it has to be.
func (s *scenario) sentRight() error {
	if s.receiver == nil {
		return nil
	}
	return s.receiver.Wrong()
}

func (s *scenario) whileRunning(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	s.controller.WhenEnded(ctx, cancel)
	return ctx, func() { cancel(nil) }
}

// decide returns when the controller has decided on everything that was done before. Without one
// there is nothing to decide.
func (s *scenario) decide(ctx context.Context) error {
	if !s.running || s.decided {
		return nil
	}
	return s.quiet(ctx)
}

func (s *scenario) quiet(ctx context.Context) error {
	if s.controller.Frozen() {
		return errors.New("the controller is frozen and decides on nothing: thaw it first")
	}
	quiet := s.ns.Quiet
	if slices.Contains(s.flags, "--dry-run") || slices.Contains(s.flags, "--dry-run=true") {
		quiet = s.quietDryRun
	}
	if err := quiet(ctx); err != nil {
		return err
	}
	s.decided = true
	return nil
}

// quietDryRun goes by the lines of the log that say what would be rolled.
func (s *scenario) quietDryRun(ctx context.Context) error {
	return s.ns.QuietBy(ctx, func(marker harness.Ref) (int, error) {
		return s.controller.Log.Count(regexp.MustCompile("would update '" + marker.Name + "' of type 'StatefulSet'")), nil
	})
}

// report tells what was seen, for whoever looks for the reason of a failure.
func (s *scenario) report() string {
	// The step's own time may be over, and this has to be told still.
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	var b strings.Builder
	b.WriteString(s.ns.Report(ctx))
	for i, c := range append(slices.Clone(s.earlier), s.controller) {
		if c != nil {
			fmt.Fprintf(&b, "\nthe end of the log of controller %d:\n%s\n", i+1, c.Log.Tail(40))
		}
	}
	return strings.TrimRight(b.String(), "\n")
}

// end ends what the scenario has started. A controller that is still running is stopped like any
// other, and has to end well.
func (s *scenario) end(t testscript.T) {
	if s.receiver != nil {
		defer s.receiver.Close()
	}
	ctx, cancel := context.WithTimeout(context.Background(), s.patience)
	defer cancel()
	var err error
	if s.running {
		err = errors.Join(s.stop(ctx), s.sentRight())
	}
	if err != nil && !s.failed {
		t.Fatal(fmt.Sprintf("at the end of the scenario: %v\n\n%s", err, s.report()))
	}
}

// stop ends the controller and says what is wrong with the way it ended.
func (s *scenario) stop(ctx context.Context) error {
	s.running = false
	if s.controller.Frozen() {
		if err := s.controller.Thaw(); err != nil {
			return err
		}
	}
	defer s.controller.Kill()
	return errors.Join(s.controller.Stop(ctx), s.controller.Sound())
}
