package scenarios

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/reroll-dev/reroll/test/harness"
)

func event(ctx context.Context, s *step) error {
	if err := errors.Join(s.takeCount(), s.wantArgs(3, 3)); err != nil {
		return err
	}
	about, err := harness.ParseRef(s.args[0])
	if err != nil {
		return err
	}
	reason := s.args[1]
	note, err := s.pattern(2)
	if err != nil {
		return err
	}
	// The name of an object that is not there would make every negation true.
	if _, err := s.ns.Get(ctx, about); err != nil {
		return err
	}
	return s.expect(ctx, fmt.Sprintf("event %s about %s that matches %q", reason, about, note), func(ctx context.Context) (int, string, error) {
		events, err := s.ns.Events(ctx, about)
		count, instead := 0, []string{}
		for i := range events {
			if events[i].Reason == reason && note.MatchString(events[i].Note) {
				count += harness.Times(&events[i])
			} else {
				instead = append(instead, fmt.Sprintf("%s %q", events[i].Reason, events[i].Note))
			}
		}
		return count, strings.Join(instead, ", "), err
	})
}

func log(ctx context.Context, s *step) error {
	if err := errors.Join(s.takeCount(), s.wantArgs(1, 1)); err != nil {
		return err
	}
	pattern, err := s.pattern(0)
	if err != nil {
		return err
	}
	if s.controller == nil {
		return errors.New("no controller was started, so there is no log")
	}
	return s.expect(ctx, fmt.Sprintf("a line that matches %q in the log", pattern), func(context.Context) (int, string, error) {
		return s.controller.Log.Count(pattern), "see the log", nil
	})
}

func alert(ctx context.Context, s *step) error {
	if err := errors.Join(s.takeCount(), s.wantArgs(1, 1)); err != nil {
		return err
	}
	pattern, err := s.pattern(0)
	if err != nil {
		return err
	}
	if s.receiver == nil {
		return errNoReceiver
	}
	return s.expect(ctx, fmt.Sprintf("an alert that matches %q", pattern), func(context.Context) (int, string, error) {
		return s.receiver.Count(pattern), fmt.Sprintf("%q", s.receiver.Bodies()), nil
	})
}

func metric(ctx context.Context, s *step) error {
	if err := s.wantArgs(1, 2); err != nil {
		return err
	}
	if s.not == (len(s.args) == 2) {
		return errUsage
	}
	name, labels, err := harness.ParseSeries(s.args[0])
	if err != nil {
		return fmt.Errorf("%w: %w", errUsage, err)
	}
	if !s.running {
		return errors.New("no controller is running that could be asked for its metrics")
	}
	if s.not {
		return s.expect(ctx, "metric "+s.args[0], func(ctx context.Context) (int, string, error) {
			reading, err := s.controller.Metric(ctx, name, labels)
			if errors.Is(err, harness.ErrUnknownMetric) {
				return 0, "", nil
			}
			return reading.Series, "", err
		})
	}
	text, atLeast := strings.CutPrefix(s.args[1], ">=")
	expected, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return fmt.Errorf("%w: %q is no number", errUsage, text)
	}
	var beyond error
	err = harness.Await(ctx, fmt.Sprintf("metric %s to be %s", s.args[0], s.args[1]), func(ctx context.Context) error {
		reading, err := s.controller.Metric(ctx, name, labels)
		switch {
		case err != nil:
			return err
		case reading.Sum == expected, atLeast && reading.Sum > expected:
			return nil
		case reading.Sum > expected && !reading.Gauge:
			// It only ever grows, so there is nothing to wait for.
			beyond = fmt.Errorf("metric %s was expected to be %s, and is %v", s.args[0], s.args[1], reading.Sum)
			return nil
		default:
			return fmt.Errorf("it is %v", reading.Sum)
		}
	})
	return errors.Join(err, beyond)
}

func annotation(ctx context.Context, s *step) error {
	return annotated(ctx, s, "annotation", func(ctx context.Context, ref harness.Ref) (map[string]string, error) {
		obj, err := s.ns.Get(ctx, ref)
		if err != nil {
			return nil, err
		}
		return obj.GetAnnotations(), nil
	})
}

func templateAnnotation(ctx context.Context, s *step) error {
	return annotated(ctx, s, "template annotation", func(ctx context.Context, ref harness.Ref) (map[string]string, error) {
		template, err := s.ns.Template(ctx, ref)
		if err != nil {
			return nil, err
		}
		return template.Annotations, nil
	})
}

func annotated(ctx context.Context, s *step, what string, read func(context.Context, harness.Ref) (map[string]string, error)) error {
	if err := s.wantArgs(3, 3); err != nil {
		return err
	}
	ref, err := harness.ParseRef(s.args[0])
	if err != nil {
		return err
	}
	key := s.args[1]
	value, err := s.pattern(2)
	if err != nil {
		return err
	}
	return s.expect(ctx, fmt.Sprintf("%s %s of %s that matches %q", what, key, ref, value), func(ctx context.Context) (int, string, error) {
		all, err := read(ctx, ref)
		if err != nil {
			return 0, "", err
		}
		return present(all, key, value)
	})
}

func variable(ctx context.Context, s *step) error {
	if err := s.wantArgs(4, 4); err != nil {
		return err
	}
	ref, err := harness.ParseRef(s.args[0])
	if err != nil {
		return err
	}
	container, name := s.args[1], s.args[2]
	value, err := s.pattern(3)
	if err != nil {
		return err
	}
	what := fmt.Sprintf("variable %s of container %s of %s with a value that matches %q", name, container, ref, value)
	return s.expect(ctx, what, func(ctx context.Context) (int, string, error) {
		template, err := s.ns.Template(ctx, ref)
		if err != nil {
			return 0, "", err
		}
		i := slices.IndexFunc(template.Spec.Containers, func(c corev1.Container) bool { return c.Name == container })
		if i < 0 {
			return 0, "", fmt.Errorf("%s has no container %q", ref, container)
		}
		variables := map[string]string{}
		for _, v := range template.Spec.Containers[i].Env {
			variables[v.Name] = v.Value
		}
		return present(variables, name, value)
	})
}

func present(all map[string]string, key string, value *regexp.Regexp) (int, string, error) {
	if text, there := all[key]; there && value.MatchString(text) {
		return 1, "", nil
	}
	return 0, fmt.Sprintf("%q", all), nil
}

// shown looks everywhere for a text, but in Secrets themselves.
func shown(ctx context.Context, s *step) error {
	if err := s.wantArgs(1, 1); err != nil {
		return err
	}
	pattern, err := s.pattern(0)
	if err != nil {
		return err
	}
	var places []string
	err = s.expect(ctx, fmt.Sprintf("something that matches %q", pattern), func(ctx context.Context) (int, string, error) {
		texts, err := s.texts(ctx)
		places = nil
		for _, place := range slices.Sorted(maps.Keys(texts)) {
			if pattern.MatchString(texts[place]) {
				places = append(places, place)
			}
		}
		return len(places), "no such text in any object, log, metric or alert", err
	})
	if err != nil && len(places) > 0 {
		return fmt.Errorf("%w: in %q", err, places)
	}
	return err
}

func (s *step) texts(ctx context.Context) (map[string]string, error) {
	texts, err := s.ns.Shown(ctx)
	if err != nil {
		return nil, err
	}
	for i, c := range append(slices.Clone(s.earlier), s.controller) {
		if c != nil {
			texts[fmt.Sprintf("the log of controller %d", i+1)] = strings.Join(c.Log.Lines(), "\n")
		}
	}
	if s.running {
		if texts["the metrics"], err = s.controller.Metrics(ctx); err != nil {
			return nil, err
		}
	}
	if s.receiver != nil {
		texts["the receiver"] = strings.Join(s.receiver.Bodies(), "\n")
	}
	return texts, nil
}
