package inspect

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/reroll-dev/reroll/internal/config"
)

// writtenBy returns the ConfigMap of a controller with these settings.
func writtenBy(t *testing.T, args ...string) *corev1.ConfigMap {
	t.Helper()
	var cfg config.Config
	flags := pflag.NewFlagSet("run", pflag.ContinueOnError)
	cfg.BindFlags(flags)
	if err := flags.Parse(args); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(cfg.Options(flags))
	if err != nil {
		t.Fatal(err)
	}
	return &corev1.ConfigMap{Data: map[string]string{"reloaderOptions": string(text)}}
}

func TestWhatAControllerWatches(t *testing.T) {
	labelled := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop", Labels: map[string]string{"team": "a"}}}
	for about, tc := range map[string]struct {
		args  []string
		ns    string
		known *corev1.Namespace
		want  watching
	}{
		"all":                                {nil, "shop", nil, watchesIt},
		"all, of all":                        {nil, "", nil, watchesIt},
		"this one":                           {[]string{"--namespaces=bank,shop"}, "shop", nil, watchesIt},
		"another one":                        {[]string{"--namespaces=bank"}, "shop", nil, watchesOthers},
		"one of all":                         {[]string{"--namespaces=shop"}, "", nil, watchesOthers},
		"all but this one":                   {[]string{"--namespaces-to-ignore=shop"}, "shop", nil, watchesOthers},
		"those with a label":                 {[]string{"--namespace-selector=team=a"}, "shop", labelled, watchesIt},
		"those with another label":           {[]string{"--namespace-selector=team=b"}, "shop", labelled, watchesOthers},
		"a label that may not be read":       {[]string{"--namespace-selector=team=b"}, "shop", nil, watchesPerhaps},
		"settings that cannot be made sense": {[]string{"--settle=3m"}, "shop", nil, watchesPerhaps},
	} {
		t.Run(about, func(t *testing.T) {
			one, err := readSelf(writtenBy(t, tc.args...))
			if err != nil {
				t.Fatal(err)
			}
			if got := one.watchesNamespace(tc.ns, tc.known); got != tc.want {
				t.Errorf("got %d, want %d", got, tc.want)
			}
		})
	}
}

// An older controller does not record which namespaces it watches, and neither does Reloader.
func TestWhoHasWrittenIt(t *testing.T) {
	by := func(manager string) *corev1.ConfigMap {
		return &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{ManagedFields: []metav1.ManagedFieldsEntry{{Manager: manager}}},
			Data:       map[string]string{"reloaderOptions": `{"autoReloadAll":true}`},
		}
	}
	for manager, foreign := range map[string]bool{"reroll": false, "Reloader": true} {
		one, err := readSelf(by(manager))
		if err != nil || one.foreign != foreign || one.watchesNamespace("shop", nil) != watchesPerhaps {
			t.Errorf("%s: %+v, %v", manager, one, err)
		}
	}
	if one, err := readSelf(writtenBy(t)); err != nil || one.foreign {
		t.Errorf("without a manager: %+v, %v", one, err)
	}
	if _, err := readSelf(&corev1.ConfigMap{}); err == nil {
		t.Error("nothing was written, and that is no error")
	}
}

// A ledger of another installation counts only if the selected controller watches the namespace of
// its ConfigMap, as the controller does itself.
func TestTheOtherInstallationsThatTheControllerKnows(t *testing.T) {
	installed := func(ns, instance string, args ...string) self {
		info := writtenBy(t, args...)
		info.Namespace = ns
		one, err := readSelf(info)
		if err != nil {
			t.Fatal(err)
		}
		one.instance = instance
		return one
	}
	all := []self{installed("platform", "key-1"), installed("platform-copy", "key-0"), installed("older", "")}
	for about, tc := range map[string]struct {
		chosen self
		want   map[string]string
	}{
		"it watches all namespaces":   {installed("reroll", "key-0"), map[string]string{"key-1": "platform"}},
		"it watches that namespace":   {installed("reroll", "key-0", "--namespaces=platform,shop"), map[string]string{"key-1": "platform"}},
		"it watches other namespaces": {installed("reroll", "key-0", "--namespaces=shop"), map[string]string{}},
	} {
		t.Run(about, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, othersOf(append(all, tc.chosen), &tc.chosen)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestControllersBeside(t *testing.T) {
	for want, beside := range map[string][]string{
		"another one is in namespace a; use --controller-namespace=a to select that one":                   {"a"},
		"others are in the namespaces a and b; use --controller-namespace=a to select that one":            {"a", "b"},
		"others are in the namespaces a, b, c and 2 more; use --controller-namespace=a to select that one": {"a", "b", "c", "d", "e"},
	} {
		if got := (&Settings{Beside: beside}).beside(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// A user who names the namespace of the controller wants the settings of that controller only.
func TestTheControllerThatWasNamed(t *testing.T) {
	for about, tc := range map[string]struct {
		at     string
		answer int
		code   int
	}{
		"none is named":      {"", http.StatusForbidden, CodeUpToDate},
		"it is not there":    {"reroll", http.StatusNotFound, CodeUnknown},
		"it may not be read": {"reroll", http.StatusForbidden, CodeUnknown},
	} {
		t.Run(about, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				reason := map[int]string{http.StatusNotFound: "NotFound", http.StatusForbidden: "Forbidden"}[tc.answer]
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(tc.answer)
				fmt.Fprintf(w, `{"apiVersion": "v1", "kind": "Status", "status": "Failure", "reason": %q, "code": %d}`, reason, tc.answer)
			}))
			defer server.Close()
			c, err := NewCluster(&rest.Config{Host: server.URL, QPS: -1})
			if err != nil {
				t.Fatal(err)
			}
			var cfg config.Config
			flags := pflag.NewFlagSet("status", pflag.ContinueOnError)
			cfg.BindDecisionFlags(flags)
			s := tell(t, web)
			if s.objects.settings, err = Ask(t.Context(), c.Interface, &cfg, flags, tc.at, "shop", noon); err != nil {
				t.Fatal(err)
			}
			if status := s.status(t, "shop"); status.Code() != tc.code {
				t.Errorf("exit code %d, want %d, with\n%s", status.Code(), tc.code, status.Text(Paint{}, Layout{}))
			}
			plan, err := s.objects.Plan("shop", "configmap/greeting", s.running, noon)
			if err != nil || plan.Code() != tc.code {
				t.Errorf("plan: exit code %d, want %d, error %v", plan.Code(), tc.code, err)
			}
		})
	}
}
