// Package buildinfo tells which build of the program this is.
package buildinfo

import (
	"runtime"
	"runtime/debug"
	"time"
)

// Info is what is known of a build. There is no time of building in it: the same commit gives the same bytes.
type Info struct {
	Version string
	// Commit and Date are those of the commit it was built from, if that was a git repository.
	Commit string
	Date   time.Time
	// Modified reports whether there was more in the working tree than was committed.
	Modified bool
	// Go is the compiler's version, Platform the system and processor that it was built for.
	Go, Platform string
}

// Read returns that of the running program, whose version the linker has set.
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

// String is one line for a person.
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
