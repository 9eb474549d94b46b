package controller

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/reroll-dev/reroll/internal/kinds"
)

var (
	things       = schema.GroupResource{Group: "example.org", Resource: "things"}
	notServed    = apierrors.NewNotFound(things, "")
	notAllowed   = apierrors.NewForbidden(things, "", errors.New("no role says so"))
	initializing = apierrors.NewTooManyRequests("storage is (re)initializing", 1)
)

// thingsServed counts how often nothing waits any more, and how often the objects are forgotten.
func thingsServed(use kinds.Use) (p *servedKind, said *bytes.Buffer, clock *clocktesting.FakeClock, enough, gone *int) {
	said, enough, gone = &bytes.Buffer{}, new(int), new(int)
	clock = clocktesting.NewFakeClock(time.Unix(0, 0))
	p = &servedKind{
		verbs: "list, watch, patch", without: "so they are not rolled",
		kind: kinds.Kind{Title: "Things", Resource: things.WithVersion("v1")}, use: use, clock: clock,
		everywhere: &everywhere{},

		log:    slog.New(slog.NewTextHandler(said, nil)),
		enough: func() { *enough++ }, gone: func() { *gone++ },
	}
	return p, said, clock, enough, gone
}

func TestACustomKindIsLoggedOnceWhenItIsInstalledOrRemoved(t *testing.T) {
	for about, tc := range map[string]struct {
		answers []error
		want    []string
	}{
		"there all the time":   {[]error{nil, nil}, nil},
		"never there":          {[]error{notServed, notServed}, []string{"Things are not installed"}},
		"comes":                {[]error{notServed, nil, nil}, []string{"Things are not installed", "Things are served now"}},
		"goes":                 {[]error{nil, notServed, notServed}, []string{"Things are no longer served"}},
		"comes back":           {[]error{nil, notServed, nil}, []string{"Things are no longer served", "Things are served now"}},
		"not allowed":          {[]error{notAllowed, notAllowed}, []string{"Things cannot be watched"}},
		"allowed later":        {[]error{notAllowed, nil}, []string{"Things cannot be watched", "Things may be watched now"}},
		"an outage in between": {[]error{nil, errors.New("connection refused"), nil}, nil},
	} {
		t.Run(about, func(t *testing.T) {
			p, said, _, _, _ := thingsServed(kinds.Always)
			for _, err := range tc.answers {
				p.answered(err)
			}
			lines := strings.Split(strings.TrimSpace(said.String()), "\n")
			if said.Len() == 0 {
				lines = nil
			}
			if len(lines) != len(tc.want) {
				t.Fatalf("said:\n%s\nwant %q", said, tc.want)
			}
			for i, want := range tc.want {
				if !strings.Contains(lines[i], want) {
					t.Errorf("said %q, want %q", lines[i], want)
				}
			}
		})
	}
}

func TestCachesSyncWithoutAMissingCustomKind(t *testing.T) {
	for about, tc := range map[string]struct {
		answer error
		want   bool
	}{
		"not served":  {notServed, true},
		"not allowed": {notAllowed, true},
		// Its objects may say what becomes of others, so they have to be known.
		"there, and its objects are still to come": {nil, false},
		"nobody knows": {errors.New("connection refused"), false},
	} {
		t.Run(about, func(t *testing.T) {
			p, _, _, enough, _ := thingsServed(kinds.Always)
			p.answered(tc.answer)
			if (*enough > 0) != tc.want {
				t.Errorf("enough: %v, want %v", *enough > 0, tc.want)
			}
		})
	}
}

func TestABriefNotFoundOfAKindDeletesNoObjects(t *testing.T) {
	p, _, clock, _, gone := thingsServed(kinds.WhenServed)
	p.answered(nil)
	p.answered(notServed)
	clock.Step(absenceCounts - time.Second)
	p.answered(notServed)
	p.answered(nil)
	p.answered(notServed)
	clock.Step(absenceCounts - time.Second)
	p.answered(notServed)
	if *gone != 0 {
		t.Fatal("they are forgotten")
	}
	clock.Step(time.Second)
	p.answered(notServed)
	clock.Step(absenceCounts)
	p.answered(notServed)
	if *gone != 1 {
		t.Errorf("forgotten %d times", *gone)
	}
}

func TestWatchingACustomKindMayFailForAMoment(t *testing.T) {
	p, _, clock, _, _ := thingsServed(kinds.WhenServed)
	cut := errors.New("the initial stream was cut after 0 objects")
	for _, err := range []error{initializing, cut, notServed, notAllowed} {
		if !p.ignores(err) {
			t.Errorf("%v: this is what an installation or a removal looks like", err)
		}
	}
	if clock.Step(mayFail); !p.ignores(cut) {
		t.Error("it has not failed in between, so this is another moment")
	}
	for range 3 {
		clock.Step(mayFail / 4)
		if !p.ignores(cut) {
			t.Error("it is too early")
		}
	}
	if clock.Step(mayFail / 4); p.ignores(cut) {
		t.Error("it has failed for a minute")
	}
	if !p.ignores(notServed) || !p.ignores(cut) {
		t.Error("it was not served, so this is another moment")
	}
}

// A server that wants to be left alone for longer than that is not asked any more often.
func TestARowOfFailuresIsAsLongAsTheServerWantsIt(t *testing.T) {
	p, _, clock, _, _ := thingsServed(kinds.WhenServed)
	const seconds = 300
	busy := apierrors.NewTooManyRequests("not now", seconds)
	p.ignores(busy)
	if clock.Step(seconds * time.Second); p.ignores(busy) {
		t.Error("it has failed for five minutes")
	}
}

// Which permissions there are may differ between namespaces; what the API server serves does not.
func TestAServedKindIsLoggedOnceForAllNamespaces(t *testing.T) {
	first, said, _, _, _ := thingsServed(kinds.Always)
	second, _, _, _, _ := thingsServed(kinds.Always)
	second.everywhere, second.log = first.everywhere, first.log
	first.namespace, second.namespace = "a", "b"
	for _, err := range []error{notServed, nil, notServed, nil} {
		first.answered(err)
		second.answered(err)
	}
	if lines := strings.Count(said.String(), "\n"); lines != 4 || strings.Contains(said.String(), "namespace=") {
		t.Errorf("said %d times, want 4:\n%s", lines, said)
	}
	said.Reset()
	first.answered(notAllowed)
	second.answered(notAllowed)
	if !strings.Contains(said.String(), "namespace=a") || !strings.Contains(said.String(), "namespace=b") {
		t.Errorf("said:\n%s", said)
	}
}

// Most of these kinds are never installed. Installing or removing one is still logged.
func TestAnOptionalCustomKindIsNotReportedAsMissing(t *testing.T) {
	p, said, _, enough, _ := thingsServed(kinds.WhenServed)
	p.answered(notServed)
	if said.Len() > 0 || *enough == 0 {
		t.Errorf("said %q, enough: %d", said, *enough)
	}
	p.answered(nil)
	p.answered(notServed)
	if !strings.Contains(said.String(), "Things are served now") || !strings.Contains(said.String(), "Things are no longer served") {
		t.Errorf("said %q", said)
	}
}

func TestOnlyWhoAskedIsWarned(t *testing.T) {
	for use, want := range map[kinds.Use]string{kinds.WhenServed: "level=INFO", kinds.Always: "level=WARN"} {
		p, said, _, _, _ := thingsServed(use)
		p.answered(notAllowed)
		if !strings.Contains(said.String(), want) || !strings.Contains(said.String(), `rule="apiGroups: [example.org], resources: [things], verbs: [list, watch, patch]"`) {
			t.Errorf("said %q, want %s and the rule", said, want)
		}
	}
}
