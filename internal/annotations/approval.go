package annotations

import "strings"

// The annotations about approval.
const (
	// Approval is on the workload, its namespace or a source: reloads wait for the consent of a user.
	Approval = "reroll.dev/approval"
	// Approved is on the source or the workload and contains that consent: the digest of the data.
	Approved = "reroll.dev/approved"
)

// Required is the only value of Approval. Objects cannot lift what another one requires.
const Required = "required"

const approvalRight = `write "required", or remove the annotation`

// RequiresApproval reports whether an object requires approval. An invalid value does, too, and is
// reported. An empty one counts as unset, because Helm templates render that for an unset value.
func RequiresApproval(from Written, report func(Mistake)) bool {
	text, ok := from.Values[Approval]
	switch {
	case !ok:
		return false
	case text == "":
		report(from.Mistake(Approval, "has no effect; "+approvalRight))
		return false
	case text != Required:
		report(from.Mistake(Approval, `counts as "required"; `+approvalRight))
	}
	return true
}

// Consent returns the consent on an object, or empty if there is none.
func Consent(own map[string]string) string { return strings.Clone(Shortened(own[Approved])) }
