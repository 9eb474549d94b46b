package gate

import (
	"fmt"
	"strings"
	"testing"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/source"
)

func TestTheMostSpecificSettingOfWavesCounts(t *testing.T) {
	const rolling, soak, failures = annotations.MaxRolling, annotations.Soak, annotations.MaxFailures
	type set map[string]string
	read := func(of set, ofSource bool) annotations.Waves {
		w, mistakes := annotations.ReadWaves(of, ofSource)
		if len(mistakes) > 0 {
			t.Fatal(mistakes)
		}
		return w
	}
	for about, tc := range map[string]struct {
		own, namespace, flags set
		want                  string
	}{
		"nothing":               {nil, nil, nil, "all () 0s (--soak) 0 (--max-failures)"},
		"the flags":             {nil, nil, set{rolling: "5", soak: "1m", failures: "2"}, "5 (--max-rolling) 1m0s (--soak) 2 (--max-failures)"},
		"the namespace":         {nil, set{rolling: "5", soak: "1m", failures: "2"}, nil, "5 (max-rolling on the namespace) 1m0s (soak on the namespace) 2 (max-failures on the namespace)"},
		"the source":            {set{rolling: "5", soak: "1m", failures: "2"}, nil, nil, "5 (max-rolling on ConfigMap ca) 1m0s (soak on ConfigMap ca) 2 (max-failures on ConfigMap ca)"},
		"the namespace, flags":  {nil, set{rolling: "10%", soak: "0s", failures: "0"}, set{rolling: "5", soak: "1m", failures: "2"}, "10% (max-rolling on the namespace) 0s (soak on the namespace) 0 (max-failures on the namespace)"},
		"all":                   {set{rolling: "1", soak: "0s", failures: "0"}, set{rolling: "2", soak: "2m", failures: "2"}, set{rolling: "3", soak: "3m", failures: "3"}, "1 (max-rolling on ConfigMap ca) 0s (soak on ConfigMap ca) 0 (max-failures on ConfigMap ca)"},
		"each from its own":     {set{rolling: "1"}, set{rolling: "2", soak: "2m"}, set{rolling: "3", soak: "3m", failures: "3"}, "1 (max-rolling on ConfigMap ca) 2m0s (soak on the namespace) 3 (--max-failures)"},
		"the source, namespace": {set{failures: "1"}, set{rolling: "2", failures: "2"}, nil, "2 (max-rolling on the namespace) 0s (--soak) 1 (max-failures on ConfigMap ca)"},
	} {
		src := &source.Source{Key: source.Key{Kind: source.ConfigMap, Namespace: "shop", Name: "ca"}}
		src.Annotations.Waves = read(tc.own, true).Keep()
		s := SettingsOf(src, read(tc.namespace, false), read(tc.flags, false))
		share := s.MaxRolling.String()
		if share == "" {
			share = "all"
		}
		got := fmt.Sprintf("%s (%s) %s (%s) %d (%s)", share, s.RollingBy, s.Soak, s.SoakBy, s.MaxFailures, s.FailuresBy)
		if got = strings.ReplaceAll(got, "reroll.dev/", ""); got != tc.want {
			t.Errorf("%s: %s, want %s", about, got, tc.want)
		}
	}
}
