package policy_test

import "testing"

// Earlier changes of a source that a workload did not ask for roll nothing, so that asking for more
// has to be noticed.
func TestWhichAnnotationsSelectMoreThanBefore(t *testing.T) {
	for about, tc := range map[string]struct {
		before, now values
		all, want   bool
	}{
		"nothing is different":              {before: values{auto: "true"}, now: values{auto: "true"}},
		"auto is set":                       {now: values{auto: "true"}, want: true},
		"auto is removed":                   {before: values{auto: "true"}},
		"auto is set, and all are opted in": {now: values{auto: "true"}, all: true},
		"auto for Secrets is set":           {now: values{secretAuto: "true"}, want: true},
		"search is set":                     {now: values{search: "true"}, want: true},
		"search is set beside auto":         {before: values{auto: "true"}, now: values{auto: "true", search: "true"}, want: true},
		"search is removed":                 {before: values{search: "true"}},
		"one name more":                     {before: values{configMapList: "a"}, now: values{configMapList: "a,b"}, want: true},
		"another name":                      {before: values{configMapList: "a"}, now: values{configMapList: "b"}, want: true},
		"one name less":                     {before: values{configMapList: "a,b"}, now: values{configMapList: "a"}},
		"an exclusion is removed":           {before: values{auto: "true", secretNot: "a"}, now: values{auto: "true"}, want: true},
		"an exclusion is added":             {before: values{auto: "true"}, now: values{auto: "true", secretNot: "a"}},
	} {
		now, _ := parse(tc.now, nil)
		before, _ := parse(tc.before, nil)
		if got := now.Widens(before, tc.all); got != tc.want {
			t.Errorf("%s: it selects more: %t", about, got)
		}
	}
}
