package notice

import (
	"testing"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/workload"
)

func TestAMessageMayEndWithAQuestion(t *testing.T) {
	mistakes := []annotations.Mistake{{Message: "Did you mean a?"}, {Message: "does nothing"}, {Message: "neither"}}
	const want = "Did you mean a? does nothing. neither"
	if got := Mistakes(&workload.Workload{}, mistakes).Text; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
