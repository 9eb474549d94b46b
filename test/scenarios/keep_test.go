package scenarios

import (
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/rogpeppe/go-internal/testscript"
)

// keepOnFailure lets somebody look around after a failure, if the variable KEEP_CLUSTER is set: the
// cluster stays, with everything the scenario has made, until the test is interrupted.
func keepOnFailure(s *scenario, t testscript.T) {
	test, ok := t.(interface {
		Failed() bool
		Cleanup(func())
	})
	if !ok || os.Getenv("KEEP_CLUSTER") == "" {
		return
	}
	// Cleanups come after the log of the script was printed.
	test.Cleanup(func() {
		if !test.Failed() {
			return
		}
		interrupted := make(chan os.Signal, 1)
		signal.Notify(interrupted, os.Interrupt, syscall.SIGTERM)
		defer signal.Stop(interrupted)
		out, done := terminal()
		defer done()
		fmt.Fprintf(out, "\nThe cluster is kept. Look around in it, then interrupt this test to end it:\n"+
			"  export KUBECONFIG=%s\n  kubectl -n %s get all\n", s.setting.Cluster.Kubeconfig(), s.ns.Name)
		<-interrupted
	})
}

// terminal is where somebody sees it at once: go test keeps the output of a test back until the
// test has ended.
func terminal() (io.Writer, func()) {
	tty, err := os.OpenFile("/dev/tty", os.O_WRONLY, 0)
	if err != nil {
		return os.Stderr, func() {}
	}
	return tty, func() { _ = tty.Close() }
}
