package buildinfo

import (
	"runtime"
	"testing"
	"time"
)

func TestTheBuildIsReported(t *testing.T) {
	of := time.Date(2026, 11, 21, 23, 30, 0, 0, time.FixedZone("", -3600))
	for want, i := range map[string]Info{
		"1.2.3 (commit 0123456789ab of 2026-11-22) go1.26 linux/arm64": {
			Version: "1.2.3", Commit: "0123456789abcdef", Date: of, Go: "go1.26", Platform: "linux/arm64",
		},
		"1.2.3 (commit 0123456789ab of 2026-11-22 and changes) go1.26 linux/arm64": {
			Version: "1.2.3", Commit: "0123456789abcdef", Date: of, Modified: true, Go: "go1.26", Platform: "linux/arm64",
		},
		"1.2.3 (commit unknown) go1.26 linux/arm64": {Version: "1.2.3", Go: "go1.26", Platform: "linux/arm64"},
	} {
		if got := i.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestTheCompilerAndThePlatformAreKnownOfEveryBuild(t *testing.T) {
	i := Read("1.2.3")
	if i.Version != "1.2.3" || i.Go != runtime.Version() || i.Platform != runtime.GOOS+"/"+runtime.GOARCH {
		t.Errorf("%+v", i)
	}
}
