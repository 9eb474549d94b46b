package buildinfo

import "strings"

// version is set by the linker.
var version = "0.1.0" + development

const (
	repository = "https://github.com/reroll-dev/reroll"
	// development ends the version of a build for which there is no tag.
	development = "-dev"
)

// Version is that of the running program.
func Version() string { return version }

// Doc returns the address of a page of docs/, such as how-to/stuck-rollouts.md#quota, in the
// version of the running program. A user of the binary may not have the repository.
func Doc(page string) string { return docOf(version, page) }

func docOf(version, page string) string {
	at := "v" + version
	if strings.HasSuffix(version, development) {
		at = "main"
	}
	return repository + "/blob/" + at + "/docs/" + page
}
