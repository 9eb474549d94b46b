package inspect

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/internal/config"
	"github.com/reroll-dev/reroll/internal/digest"
	"github.com/reroll-dev/reroll/internal/ledger"
	"github.com/reroll-dev/reroll/internal/reload"
	"github.com/reroll-dev/reroll/internal/workload"
)

var update = flag.Bool("update", false, "write the golden files instead of comparing them")

// otherInstance is the ID of the digest key of another installation.
const otherInstance = "0badcafe"

// noon is the current time of all stories.
var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// story is a file of testdata. It begins with lines such as "# flags: --auto-reload-all". Then come
// the objects as the controller last recorded them, and after a line "# then" the objects that have
// changed since.
type story struct {
	objects *Objects
	pods    []Pod
	noPods  bool
	// heads are the values of the first lines, by their names.
	heads map[string]string
}

func read(t *testing.T, name string) *story {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return tell(t, string(text))
}

func tell(t *testing.T, text string) *story {
	t.Helper()
	s := &story{heads: map[string]string{}}
	for line := range strings.Lines(text) {
		head, value, ok := strings.Cut(strings.TrimPrefix(line, "# "), ": ")
		if !ok || !strings.HasPrefix(line, "# ") {
			break
		}
		s.heads[head] = strings.TrimSpace(value)
	}
	s.objects = NewObjects(s.settings(t))
	before, after, changed := strings.Cut(text, "# then\n")
	s.put(t, before)
	if s.heads["ledger"] != "none" {
		s.adopt(t)
	}
	for resource := range strings.FieldsSeq(s.heads["deleted"]) {
		s.objects.Keep(resource, map[types.NamespacedName]struct{}{})
	}
	if changed {
		s.put(t, after)
	}
	for resource := range strings.FieldsSeq(s.heads["unread"]) {
		s.objects.unread[resource] = apierrors.NewForbidden(schema.GroupResource{Resource: resource}, "", nil)
		s.objects.Keep(resource, map[types.NamespacedName]struct{}{})
		s.noPods = s.noPods || resource == "pods"
	}
	return s
}

func (s *story) settings(t *testing.T) *Settings {
	t.Helper()
	var cfg config.Config
	flags := pflag.NewFlagSet("why", pflag.ContinueOnError)
	cfg.BindDecisionFlags(flags)
	if err := flags.Parse(strings.Fields(s.heads["flags"])); err != nil {
		t.Fatal(err)
	}
	settings, err := Assume(&cfg, flags, noon, s.heads["assumed"])
	if err != nil {
		t.Fatal(err)
	}
	if settings.Assumed != "" {
		return settings
	}
	settings.Controller, settings.Installed = "reroll", noon.Add(-90*24*time.Hour)
	settings.Beside = strings.Fields(s.heads["beside"])
	if other := s.heads["other"]; other != "" {
		settings.Others = map[string]string{otherInstance: other}
	}
	if heard := s.heads["heard"]; heard != "" {
		settings.Heard, err = time.Parse(time.RFC3339, heard)
		if err != nil {
			t.Fatal(err)
		}
	}
	settings.NoKey = s.heads["nokey"]
	if settings.NoKey == "" {
		settings.Key, err = digest.NewKey([]byte(strings.Repeat("k", 32)))
		if err != nil {
			t.Fatal(err)
		}
	}
	return settings
}

func (s *story) put(t *testing.T, text string) {
	t.Helper()
	objects, err := Decode(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	ledgers := map[workload.Key]string{}
	for key, w := range s.objects.workloads {
		ledgers[key] = w.LedgerText
	}
	for _, m := range objects {
		if pod, ok := m.Object.(*corev1.Pod); ok {
			if kept, runs := readPod(pod, s.objects.settings.Rules.Names); runs {
				s.pods = append(s.pods, kept)
			}
		}
		s.objects.Put(m.Object)
	}
	for key, w := range s.objects.workloads {
		if w.LedgerText == "" {
			w.LedgerText = ledgers[key]
			s.objects.workloads[key] = w
		}
	}
	if skipped := s.objects.Skipped(); len(skipped) > 0 && s.heads["skipped"] == "" {
		t.Error(skipped)
	}
}

// adopt writes the ledgers that the controller would write. If the head "marks" is "gone", the
// ledgers name marks of a reload that the workload no longer has. With a head "told", a receiver
// has accepted the latest change. With a head "churn", the latest reloads count until then.
func (s *story) adopt(t *testing.T) {
	t.Helper()
	e := s.objects.Evaluate(s.running, noon)
	for _, key := range e.OptedIn() {
		a := e.Of(key)
		if a.Decision.Action == reload.Nothing || a.LeftOut != "" {
			continue
		}
		l := a.Decision.Ledger
		if s.heads["nokey"] != "" || s.heads["other"] != "" {
			l.Instance = otherInstance
		}
		if s.heads["marks"] == "gone" {
			l.Marks, l.Counter, l.Step = digest.Digest{1}, 3, ledger.StepAnnotation
		}
		if told := s.heads["told"]; told != "" {
			at, err := time.Parse(time.RFC3339, told)
			if err != nil {
				t.Fatal(err)
			}
			l.NotifiedAt = at.Unix()
		}
		if until := s.heads["churn"]; until != "" {
			at, err := time.Parse(time.RFC3339, until)
			if err != nil {
				t.Fatal(err)
			}
			l.ChurnUntil = at.Unix()
		}
		w := s.objects.workloads[key]
		if s.heads["marks"] == "standing" {
			l = marked(&w, e, l)
		}
		w.LedgerText = l.String()
		s.objects.workloads[key] = w
	}
}

func (s *story) running(string) ([]Pod, error) {
	if s.noPods {
		return nil, errNoPods
	}
	return s.pods, nil
}

const errNoPods = unusable("you may not list the pods of namespace shop")

// golden compares a text with a file of testdata, and fails if a line is too wide.
func golden(t *testing.T, name, got string) {
	t.Helper()
	for line := range strings.Lines(got) {
		line = strings.TrimRight(line, "\n")
		whole := strings.HasPrefix(line, "  kubectl ") || strings.HasPrefix(strings.TrimSpace(line), "https://")
		if len([]rune(line)) > Width && !whole || strings.HasSuffix(line, " ") {
			t.Errorf("a line of %d columns: %q", len([]rune(line)), line)
		}
	}
	unbounded(t, name, got)
}

// unbounded compares a text with a file of testdata. Lines may have any length.
func unbounded(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".txt")
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s is not what was expected (go test ./internal/inspect -update writes it):\n%s", path, diff)
	}
}

// marked adds the mark of a reload for a ConfigMap to a workload, and returns the ledger for that
// mark.
func marked(w *workload.Workload, e *Evaluation, ledger ledger.Ledger) ledger.Ledger {
	facts, _ := e.state.Facts(w.Key)
	d := reload.Decision{Action: reload.Reload, Changes: facts.Concerns[:1], Ledger: ledger}
	d.Ledger.Counter = 1
	m := d.Mark(w, facts.Seen, digest.SecretMarksKeyed, noon)
	w.Marks.Env, w.Marks.Rolled = append(w.Marks.Env, m.Env...), m.Rolled
	return d.Ledger
}
