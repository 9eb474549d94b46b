package notice

import (
	"fmt"
	"strings"

	"github.com/reroll-dev/reroll/internal/buildinfo"
	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/workload"
)

// Stopped is about a source whose data is not rolled any further, because workloads failed with it.
func Stopped(src *source.Source, why string) Notice {
	return Notice{
		About: sourceReference(src), Subject: src.Key.String(), SubjectKind: "source", Reason: WavesStopped, Warning: true, Alert: true,
		Text: "No further workload is rolled with the current data: " + why + ". " + resume(src.Key) + ". See " + stoppedPage(),
	}
}

// HeldByWaves is about a reload that waits because other workloads of its source failed.
func HeldByWaves(w *workload.Workload, src source.Key, why string) Notice {
	return warning(w, ReloadHeld, fmt.Sprintf("The reload for %s '%s' waits: %s. %s. See %s", src.Kind, src.Name, why, resume(src), stoppedPage()))
}

// resume is how a user continues.
func resume(src source.Key) string {
	const itself = "It continues when that workload recovers, or with other data"
	command := "reroll resume"
	switch {
	case src.Local().IsUnion():
		return itself // there is no object for the consent
	case src.Namespace != "":
		command += " -n " + src.Namespace
	}
	return fmt.Sprintf("%s. To continue with this data: %s %s/%s", itself, command, strings.ToLower(src.Kind.String()), src.Name)
}

func stoppedPage() string { return buildinfo.Doc("how-to/roll-in-waves.md#when-a-workload-fails") }
