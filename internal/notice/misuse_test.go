package notice

import (
	"testing"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/workload"
)

func TestAMessageMayEndWithAQuestion(t *testing.T) {
	problems := []annotations.Problem{{Message: "Did you mean a?"}, {Message: "does nothing"}, {Message: "neither"}}
	const want = "Did you mean a? does nothing. neither"
	if got := Misused(&workload.Workload{}, problems).Text; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
