//go:build !race

package stamp

import (
	"bytes"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"
)

// deployments writes many Deployments. Each has another stamp, so that all of them are changed.
func deployments(n int, before, between, behind string) []byte {
	var b bytes.Buffer
	b.WriteString(before)
	for i := range n {
		if i > 0 {
			b.WriteString(between)
		}
		fmt.Fprintf(&b, `{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "é-%d"}, "spec": {"template": {"metadata": {"annotations": {"checksum/config": "reroll1:%032x"}}, "spec": {"containers": [{"name": "app"}]}}}}`, i, i)
	}
	b.WriteString(behind)
	return b.Bytes()
}

// spent returns the processor time of this process, which other processes do not affect.
func spent(t *testing.T) time.Duration {
	t.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		t.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// Twelve times the objects may take twelve times as long, with some variance, but not a hundred
// times.
func TestTimeGrowsWithTheObjects(t *testing.T) {
	const few, times, most = 200, 12, 36
	for about, write := range map[string]func(n int) []byte{
		"JSON on one line": func(n int) []byte {
			return deployments(n, `{"apiVersion": "v1", "kind": "List", "items": [`, ", ", "]}")
		},
		"JSON in lines": func(n int) []byte {
			return deployments(n, `{"apiVersion": "v1", "kind": "List", "items": [`+"\n", ",\n", "]}\n")
		},
		// No item can be read separately, because of the first comment.
		"a whole on one line": func(n int) []byte {
			return deployments(n, "{apiVersion: v1, kind: List, items: [ # [\n", ", ", "]}")
		},
		"a list in lines": func(n int) []byte { return deployments(n, "apiVersion: v1\nkind: List\nitems:\n- ", "\n- ", "\n") },
		"documents":       func(n int) []byte { return deployments(n, "", "\n---\n", "\n") },
	} {
		took := func(n int) time.Duration {
			text := write(n)
			before := spent(t)
			s := New(optionsOf(t, []byte("all")))
			if err := s.Read("in", bytes.NewReader(text)); err != nil {
				t.Fatal(err)
			}
			result, err := s.Stamp()
			if err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			if _, err := result.WriteTo(&out); err != nil {
				t.Fatal(err)
			}
			hunks := strings.Count(result.Files[0].Diff(), "@@ Deployment")
			if stamps := bytes.Count(out.Bytes(), []byte("no-config-data")); stamps != n || hunks != n {
				t.Fatalf("%s: %d stamps and %d changes, want %d", about, stamps, hunks, n)
			}
			return spent(t) - before
		}
		took(few) // does the work that is done only once
		small, large := max(took(few), took(few), took(few)), took(few*times)
		t.Logf("%s: %v, and %v for %d times the objects", about, small, large, times)
		if large > most*small {
			t.Errorf("%s: %v, and %v for %d times the objects", about, small, large, times)
		}
	}
}
