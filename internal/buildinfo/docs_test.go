package buildinfo

import (
	"os"
	"reflect"
	"strings"
	"testing"
)

func TestThePagesAreThoseOfTheVersion(t *testing.T) {
	for about, tc := range map[string]struct{ version, want string }{
		"a release":           {"1.2.3", "https://github.com/reroll-dev/reroll/blob/v1.2.3/docs/how-to/stuck-rollouts.md#quota"},
		"a release candidate": {"1.2.3-rc.1", "https://github.com/reroll-dev/reroll/blob/v1.2.3-rc.1/docs/how-to/stuck-rollouts.md#quota"},
		"a development build": {"1.2.3-dev", "https://github.com/reroll-dev/reroll/blob/main/docs/how-to/stuck-rollouts.md#quota"},
		"the build of a test": {Version(), "https://github.com/reroll-dev/reroll/blob/main/docs/how-to/stuck-rollouts.md#quota"},
	} {
		if got := docOf(tc.version, "how-to/stuck-rollouts.md#quota"); got != tc.want {
			t.Errorf("%s refers to %s, want %s", about, got, tc.want)
		}
	}
}

// The linker ignores a variable that does not exist.
func TestTheBuildsSetTheVersion(t *testing.T) {
	want := "-X " + reflect.TypeFor[Info]().PkgPath() + ".version="
	for _, path := range []string{"../../Makefile", "../../tools/release/binaries.go"} {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), want) {
			t.Errorf("%s does not contain %s", path, want)
		}
	}
}
