package annotations

import "testing"

func TestNamesOfBundlesAndSigners(t *testing.T) {
	for name, want := range map[string]bool{
		"company": true, "example.com:internal:live": true, "example.com/internal": true, "example.com/internal/two": true,
		"": false, "example.com:": false, "/internal": false, "example.com/": false, "Example.com/a": false, "example.com/a.*": false, "a b": false,
		"example.com/a{b=c}": false,
	} {
		if got := IsBundleOrSigner(name); got != want {
			t.Errorf("%q: %t", name, got)
		}
	}
}
