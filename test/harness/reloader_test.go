package harness

import "testing"

// Known of Reloader, and not computed here.
func TestMarksOfReloader(t *testing.T) {
	for want, items := range map[string][]string{
		"da39a3ee5e6b4b0d3255bfef95601890afd80709": nil,
		"dc30e0faa89a70dec1033016a2309bbeb9efcbd0": {"key=value"},
		"f83e99e324ba68ccc373a58ef1eb42f8ab88646a": {"b=2", "a=1"},
	} {
		if got := reloaderSHA(items); got != want {
			t.Errorf("the hash of %q is %s, want %s", items, got, want)
		}
	}
	for name, want := range map[string]string{"my-config": "MY_CONFIG", "my.config--v2": "MY_CONFIG_V2", "-a": "A"} {
		if got := reloaderName(name); got != want {
			t.Errorf("%s is %s in a variable, want %s", name, got, want)
		}
	}
}
