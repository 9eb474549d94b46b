package config

import (
	"strings"
	"testing"
)

func TestRequestsAreUnlimitedByDefault(t *testing.T) {
	for about, tc := range map[string]struct {
		args []string
		want Requests
	}{
		"nothing is asked for":    {nil, Requests{}},
		"no limit is asked for":   {[]string{"--kube-api-qps=0", "--kube-api-burst=0"}, Requests{}},
		"a limit":                 {[]string{"--kube-api-qps=20"}, Requests{20, 40}},
		"the least there is":      {[]string{"--kube-api-qps=5"}, Requests{5, 10}},
		"a part of a request":     {[]string{"--kube-api-qps=7.5", "--kube-api-burst=1"}, Requests{7.5, 1}},
		"both":                    {[]string{"--kube-api-qps=50", "--kube-api-burst=300"}, Requests{50, 300}},
		"a burst below the limit": {[]string{"--kube-api-qps=50", "--kube-api-burst=10"}, Requests{50, 10}},
	} {
		t.Run(about, func(t *testing.T) {
			cfg, err := parse(t, nil, tc.args...)
			if err != nil {
				t.Fatal(err)
			}
			if cfg.Requests != tc.want {
				t.Errorf("got %+v, want %+v", cfg.Requests, tc.want)
			}
		})
	}
}

func TestEveryMistakeAboutRequestsIsNamed(t *testing.T) {
	const (
		qps   = "must be 0 (no limit) or at least 5"
		alone = "--kube-api-burst=100 has no effect without --kube-api-qps"
		burst = "--kube-api-burst=-1: must be 0 or more"
	)
	for args, want := range map[string][]string{
		"--kube-api-qps=-1":                     {"--kube-api-qps=-1: " + qps},
		"--kube-api-qps=4.9":                    {"--kube-api-qps=4.9: " + qps},
		"--kube-api-qps=NaN":                    {"--kube-api-qps=NaN: " + qps},
		"--kube-api-qps=+Inf":                   {"--kube-api-qps=+Inf: " + qps},
		"--kube-api-burst=100":                  {alone},
		"--kube-api-burst=-1":                   {burst},
		"--kube-api-qps=-3 --kube-api-burst=-1": {"--kube-api-qps=-3: " + qps, burst},
	} {
		t.Run(args, func(t *testing.T) {
			_, err := parse(t, nil, strings.Fields(args)...)
			if err == nil {
				t.Fatal("it is taken")
			}
			lines := strings.Split(err.Error(), "\n")
			if len(lines) != len(want) {
				t.Fatalf("got %d mistakes, want %d:\n%v", len(lines), len(want), err)
			}
			for i := range want {
				if !strings.HasPrefix(lines[i], want[i]) {
					t.Errorf("got %q, want %q", lines[i], want[i])
				}
			}
		})
	}
}
