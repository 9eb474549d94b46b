package inspect

import "testing"

func TestWhatNamesAPod(t *testing.T) {
	for text, want := range map[string]string{
		"pod/web-1": "web-1", "pods/web-1": "web-1", "po/web-1": "web-1", "Pod/web-1": "web-1",
		"web-1": "", "pod": "", "pod/": "", "deployment/pod": "", "podpreset/a": "",
	} {
		if name, ok := PodOf(text); name != want && ok || ok != (want != "") {
			t.Errorf("%s: %q, %v", text, name, ok)
		}
	}
}
