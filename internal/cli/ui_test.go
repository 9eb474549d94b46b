package cli

import (
	"errors"
	"strings"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/reroll-dev/reroll/internal/buildinfo"
)

func TestTheSameContextTwiceIsRefused(t *testing.T) {
	cmd := newUI(buildinfo.Info{}, clocktesting.NewFakeClock(time.Now()))
	useKubeconfig(t, strings.ReplaceAll(kubeconfig, "contexts: [", "contexts: [{name: east, context: {cluster: c, user: u}}, {name: west, context: {cluster: c, user: u}}, "))
	cmd.SetArgs([]string{"--no-open", "--context", "east", "--context", "west", "--context", "east"})
	err := cmd.ExecuteContext(t.Context())
	if _, usage := errors.AsType[usageError](err); !usage || !strings.Contains(err.Error(), "--context east is set twice") {
		t.Errorf("got %v", err)
	}
}
