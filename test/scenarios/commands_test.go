package scenarios

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/reroll-dev/reroll/test/harness"
)

// commands are the words of a scenario. README.md explains them.
func commands() map[string]func(context.Context, *step) error {
	return map[string]func(context.Context, *step) error{
		"apply":    apply,
		"edit":     change((*harness.Namespace).Edit),
		"rewrite":  change((*harness.Namespace).Rewrite),
		"certify":  certify,
		"annotate": change((*harness.Namespace).Annotate),
		"label":    change((*harness.Namespace).Label),
		"scale":    scale,
		"status":   status,
		"kubelet":  kubelet,
		"abort":    about((*harness.Namespace).Abort),
		"finish":   about((*harness.Namespace).Finish),
		"delete":   about((*harness.Namespace).Delete),
		"orphan":   about((*harness.Namespace).Orphan),
		"unmark":   about((*harness.Namespace).Unmark),
		"markers":  markers,
		"insist":   insist,
		"own":      own,
		"undo":     about((*harness.Namespace).Undo),

		"controller": controller,
		"receiver":   receiver,
		"crds":       crds,
		"csi":        csi,
		"reloader":   reloader,

		"await":  await,
		"rolled": rolled,
		"pods":   pods,
		"writes": writes,
		"quiet":  quiet,

		"event":               event,
		"log":                 log,
		"metric":              metric,
		"alert":               alert,
		"annotation":          annotation,
		"template-annotation": templateAnnotation,
		"variable":            variable,
		"shown":               shown,
		"reroll":              reroll,
	}
}

// errUsage says that a step is not written as it has to be.
var errUsage = errors.New("this step is not written as it has to be")

var errNoReceiver = errors.New("no receiver was started that could get an alert")

func usage(command string) string {
	forms := map[string]string{
		"apply":               "apply FILE",
		"edit":                "edit configmap/NAME|secret/NAME key=value|key- …",
		"rewrite":             "rewrite secret/NAME OWNER key=value …",
		"certify":             "certify secret/NAME FROM UNTIL",
		"annotate":            "annotate KIND/NAME key=value|key- …",
		"label":               "label KIND/NAME key=value|key- …",
		"scale":               "scale KIND/NAME REPLICAS",
		"status":              "status KIND/NAME REASON",
		"kubelet":             "kubelet [-next] deployment/NAME|statefulset/NAME image-pull|crash-loop|out-of-memory|config-error|volume|unready|ready",
		"abort":               "abort rollout/NAME",
		"finish":              "finish job/NAME|cronjob/NAME",
		"delete":              "delete KIND/NAME",
		"orphan":              "orphan KIND/NAME",
		"unmark":              "unmark KIND/NAME",
		"markers":             "markers statefulset",
		"own":                 "own KIND/NAME OWNER",
		"insist":              "insist KIND/NAME marks|ledger|both",
		"undo":                "undo deployment/NAME",
		"controller":          "controller start|restart [VARIABLE=value …] [--flag …], controller stop|kill|freeze|thaw",
		"receiver":            "receiver start PATH, receiver answer|hang|fail|redirect|narrow|small|wait",
		"reloader":            "reloader env-vars|annotations|restart configmap/NAME|secret/NAME KIND/NAME",
		"await":               "await rolled KIND/NAME N, await ready KIND/NAME, await refused KIND/NAME, await mutated KIND/NAME TEXT, await fresh KIND/NAME configmap/NAME|secret/NAME, await older KIND/NAME DURATION, await pods KIND/NAME N, await asked",
		"rolled":              "rolled KIND/NAME N",
		"pods":                "pods KIND/NAME N",
		"crds":                "crds install|remove [FILE]",
		"csi":                 "csi install|remove, csi store CLASS [id=version …], csi rotate CLASS KIND/NAME [N]",
		"writes":              "writes KIND/NAME N",
		"quiet":               "quiet",
		"event":               "[!] event [-count=N] KIND/NAME REASON REGEXP",
		"log":                 "[!] log [-count=N] REGEXP",
		"metric":              `metric NAME{label="value",…} N|>=N, ! metric NAME{label="value",…}`,
		"alert":               "[!] alert [-count=N] REGEXP",
		"annotation":          "[!] annotation KIND/NAME KEY REGEXP",
		"template-annotation": "[!] template-annotation KIND/NAME KEY REGEXP",
		"variable":            "[!] variable KIND/NAME CONTAINER VARIABLE REGEXP",
		"shown":               "[!] shown REGEXP",
		"reroll":              "reroll [-as=NAME] [-code=N] WORD … REGEXP",
	}
	return "write: " + forms[command]
}

// wantArgs checks the number of words, and that a step which cannot be negated is not.
func (s *step) wantArgs(atLeast, atMost int) error {
	if len(s.args) < atLeast || len(s.args) > atMost {
		return fmt.Errorf("%w: it has %d words", errUsage, len(s.args))
	}
	return nil
}

func (s *step) wantNoNegation() error {
	if s.not {
		return fmt.Errorf("%w: it cannot be negated", errUsage)
	}
	return nil
}

func (s *step) number(i int) (int, error) {
	n, err := strconv.Atoi(s.args[i])
	if err != nil || n < 0 {
		return 0, fmt.Errorf("%w: %q is not a number", errUsage, s.args[i])
	}
	return n, nil
}

func (s *step) pattern(i int) (*regexp.Regexp, error) {
	p, err := regexp.Compile(s.args[i])
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errUsage, err)
	}
	return p, nil
}

// changing is called by every step after which the controller may have something to decide.
func (s *step) changing(atLeast, atMost int) error {
	s.decided = false
	return errors.Join(s.wantArgs(atLeast, atMost), s.wantNoNegation())
}

// markers makes the controller roll the markers, which otherwise it only notes the data of.
func markers(ctx context.Context, s *step) error {
	if err := s.changing(1, 1); err != nil {
		return err
	}
	if s.args[0] != "statefulset" {
		return fmt.Errorf("%w: no marker is a %q", errUsage, s.args[0])
	}
	return s.ns.MarkWithRollouts(ctx)
}

func apply(ctx context.Context, s *step) error {
	if err := s.changing(1, 1); err != nil {
		return err
	}
	text, err := withUIDs(ctx, s, s.ts.ReadFile(s.args[0]))
	if err == nil {
		err = s.ns.Apply(ctx, text)
	}
	if err != nil {
		return fmt.Errorf("apply %s: %w", s.args[0], err)
	}
	return nil
}

// withUIDs puts the uid of an object in the place of each ${UID KIND/NAME}.
func withUIDs(ctx context.Context, s *step, text string) (string, error) {
	var failed error
	text = regexp.MustCompile(`\$\{UID ([^ }]+)\}`).ReplaceAllStringFunc(text, func(found string) string {
		ref, err := harness.ParseRef(strings.TrimSuffix(strings.TrimPrefix(found, "${UID "), "}"))
		if err != nil {
			failed = err
			return found
		}
		obj, err := s.ns.Get(ctx, ref)
		if err != nil {
			failed = err
			return found
		}
		return string(obj.GetUID())
	})
	return text, failed
}

func change(do func(*harness.Namespace, context.Context, harness.Ref, ...string) error) func(context.Context, *step) error {
	return func(ctx context.Context, s *step) error {
		if err := s.changing(2, 1000); err != nil {
			return err
		}
		ref, err := harness.ParseRef(s.args[0])
		if err != nil {
			return err
		}
		return do(s.ns, ctx, ref, s.args[1:]...)
	}
}

func scale(ctx context.Context, s *step) error {
	if err := s.changing(2, 2); err != nil {
		return err
	}
	ref, err := harness.ParseRef(s.args[0])
	if err != nil {
		return err
	}
	replicas, err := s.number(1)
	if err != nil {
		return err
	}
	return s.ns.Scale(ctx, ref, replicas)
}

func status(ctx context.Context, s *step) error {
	if err := s.changing(2, 2); err != nil {
		return err
	}
	ref, err := harness.ParseRef(s.args[0])
	if err != nil {
		return err
	}
	return s.ns.WriteStatus(ctx, ref, s.args[1])
}

// kubelet writes what the kubelets of this cluster never say by themselves.
func kubelet(ctx context.Context, s *step) error {
	next := len(s.args) > 0 && s.args[0] == "-next"
	if next {
		s.args = s.args[1:]
	}
	if err := s.changing(2, 2); err != nil {
		return err
	}
	ref, err := harness.ParseRef(s.args[0])
	if err != nil {
		return err
	}
	if !slices.Contains(harness.KubeletSays(), s.args[1]) {
		return errUsage
	}
	if next {
		return s.ns.KubeletOfNext(s.life, ref, s.args[1])
	}
	return s.ns.Kubelet(ctx, ref, s.args[1])
}

func about(do func(*harness.Namespace, context.Context, harness.Ref) error) func(context.Context, *step) error {
	return func(ctx context.Context, s *step) error {
		if err := s.changing(1, 1); err != nil {
			return err
		}
		ref, err := harness.ParseRef(s.args[0])
		if err != nil {
			return err
		}
		return do(s.ns, ctx, ref)
	}
}

func own(ctx context.Context, s *step) error {
	if err := s.changing(2, 2); err != nil {
		return err
	}
	ref, err := harness.ParseRef(s.args[0])
	if err != nil {
		return err
	}
	owner, err := harness.ParseRef(s.args[1])
	if err != nil {
		return err
	}
	return s.ns.Own(ctx, ref, owner)
}

// insist goes on until the scenario ends.
func insist(_ context.Context, s *step) error {
	if err := s.changing(2, 2); err != nil {
		return err
	}
	ref, err := harness.ParseRef(s.args[0])
	if err != nil {
		return err
	}
	what, ok := map[string]harness.Insists{"marks": {Marks: true}, "ledger": {Ledger: true}, "both": {Marks: true, Ledger: true}}[s.args[1]]
	if !ok {
		return errUsage
	}
	return s.ns.Insist(s.life, ref, what)
}

func receiver(_ context.Context, s *step) error {
	if err := errors.Join(s.wantArgs(1, 2), s.wantNoNegation()); err != nil {
		return err
	}
	if s.args[0] == "start" && len(s.args) == 2 {
		if s.receiver != nil {
			return errors.New("there is a receiver already: one is enough for a scenario")
		}
		s.receiver = harness.StartReceiver(s.args[1])
		s.ts.Setenv("RECEIVER_URL", s.receiver.URL())
		return nil
	}
	manner := harness.Manner(s.args[0])
	if len(s.args) != 1 || !slices.Contains(harness.Manners(), manner) {
		return errUsage
	}
	if s.receiver == nil {
		return errNoReceiver
	}
	s.receiver.Behave(manner)
	return nil
}

// reloader marks as Reloader does. It is another controller, so nobody else has decided on anything
// since.
func reloader(ctx context.Context, s *step) error {
	if err := s.changing(3, 3); err != nil {
		return err
	}
	source, err := harness.ParseRef(s.args[1])
	if err != nil {
		return err
	}
	workload, err := harness.ParseRef(s.args[2])
	if err != nil {
		return err
	}
	return s.ns.MarkAsReloader(ctx, s.args[0], source, workload)
}
