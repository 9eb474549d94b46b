package notice

import (
	"fmt"

	"github.com/reroll-dev/reroll/internal/buildinfo"
	"github.com/reroll-dev/reroll/internal/workload"
)

// ApprovalOf is about a reload that waits until a user approves the data, with the command for it.
func ApprovalOf(w *workload.Workload, why, command string) Notice {
	n := warning(w, ApprovalRequested, fmt.Sprintf("The reload waits %s. To approve it: %s. See %s", why, command, buildinfo.Doc("how-to/approve-reloads.md")))
	n.Alert = true
	return n
}
