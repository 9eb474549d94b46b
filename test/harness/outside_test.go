package harness

import (
	"fmt"
	"regexp"
	"testing"

	eventsv1 "k8s.io/api/events/v1"

	"github.com/google/go-cmp/cmp"
)

func TestALogIsReadByLines(t *testing.T) {
	t.Parallel()
	l := &Log{}
	fmt.Fprint(l, "{\"msg\":\"starting\"}\nplain words\n{\"msg\":\"serving\",\"address\":\"127.0.0.1:1\"}\n{\"msg\":\"serving\",\"address\":\"unfini")
	if got := l.Lines(); len(got) != 3 {
		t.Errorf("an unfinished line is delivered: %q", got)
	}
	if got, ok := l.field("serving", "address"); !ok || got != "127.0.0.1:1" {
		t.Errorf("address %q, %v", got, ok)
	}
	if _, ok := l.field("stopped", "address"); ok {
		t.Error("a message is found that was never written")
	}
	if got := l.Count(regexp.MustCompile("serving")); got != 1 {
		t.Errorf("%d lines match, want the finished one", got)
	}
	if got := l.Tail(2); got != "{\"msg\":\"serving\",\"address\":\"127.0.0.1:1\"}\n{\"msg\":\"serving\",\"address\":\"unfini" {
		t.Errorf("the tail is %q", got)
	}
}

func TestMetricsAreSummedUpByLabels(t *testing.T) {
	t.Parallel()
	ctx, n := newNamespace(t)
	c, err := startRole(t, ctx, install(t, ctx, n), "controller")
	must(t, err)
	both, err := c.Metric(ctx, "asked", nil)
	must(t, err)
	one, err := c.Metric(ctx, "asked", map[string]string{"by": "b"})
	must(t, err)
	none, err := c.Metric(ctx, "asked", map[string]string{"by": "c"})
	must(t, err)
	if both.Series != 2 || both.Sum < 4 || one.Sum != 1 || one.Series != 1 || none.Series != 0 || none.Sum != 0 || one.Gauge {
		t.Errorf("both %+v, one %+v, none %+v", both, one, none)
	}
	_, err = c.Metric(ctx, "aksed", nil)
	wantError(t, err, `the controller serves no such metric as aksed; those served are ["asked"]`)
}

func TestSeriesAreReadAsInPrometheus(t *testing.T) {
	t.Parallel()
	name, labels, err := ParseSeries(`total{success="true",namespace="a=b"}`)
	must(t, err)
	if diff := cmp.Diff(map[string]string{"success": "true", "namespace": "a=b"}, labels); name != "total" || diff != "" {
		t.Errorf("name %q, labels (-want +got):\n%s", name, diff)
	}
	if name, labels, err = ParseSeries("total"); err != nil || name != "total" || len(labels) != 0 {
		t.Errorf("%q %v %v", name, labels, err)
	}
	for _, wrong := range []string{`total{`, `total{success=true}`, `total{="true"}`, `total{success}`, `total{success="true}`} {
		if _, _, err := ParseSeries(wrong); err == nil {
			t.Errorf("%s is taken", wrong)
		}
	}
}

func TestASeriesOfEqualEventsCountsAsMany(t *testing.T) {
	t.Parallel()
	for want, e := range map[int]*eventsv1.Event{
		1: {},
		3: {Series: &eventsv1.EventSeries{Count: 3}},
		5: {DeprecatedCount: 5},
	} {
		if got := Times(e); got != want {
			t.Errorf("%+v was reported %d times, want %d", e, got, want)
		}
	}
}
