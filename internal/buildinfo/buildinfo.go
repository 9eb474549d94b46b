// Package buildinfo describes the build of the running program.
package buildinfo

import (
	"runtime"
	"runtime/debug"
	"time"
)

// Info describes a build. It has no build time, so that the same commit gives the same bytes.
type Info struct {
	Version string
	// Commit and Date describe the commit of the build, if it was built from a git repository.
	Commit string
	Date   time.Time
	// Modified reports whether the working tree had uncommitted changes.
	Modified bool
	// Go is the version of the compiler. Platform is the target system and processor.
	Go, Platform string
}

// Read returns the Info of the running program, whose version the linker has set.
func Read(version string) Info {
	i := Info{Version: version, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	from, ok := debug.ReadBuildInfo()
	if !ok {
		return i
	}
	for _, setting := range from.Settings {
		switch setting.Key {
		case "vcs.revision":
			i.Commit = setting.Value
		case "vcs.time":
			i.Date, _ = time.Parse(time.RFC3339, setting.Value)
		case "vcs.modified":
			i.Modified = setting.Value == "true"
		}
	}
	return i
}

// String returns the Info in one line.
func (i Info) String() string {
	const short = 12
	from := "commit unknown"
	if i.Commit != "" {
		from = "commit " + i.Commit[:min(len(i.Commit), short)] + " of " + i.Date.UTC().Format(time.DateOnly)
		if i.Modified {
			from += " and changes"
		}
	}
	return i.Version + " (" + from + ") " + i.Go + " " + i.Platform
}
