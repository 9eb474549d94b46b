package harness

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
)

// The test binary can be started in the place of the controller, and then plays a role.
const roleVariable = "HARNESS_ROLE"

func roles() map[string]func() int {
	return map[string]func() int{
		"controller":   playController,
		"failing":      playFailing,
		"orphan-maker": playOrphanMaker,
	}
}

// playController serves as the real one does, but is ready only when it is asked for the third
// time.
func playController() int {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 1
	}
	asked := atomic.Int32{}
	http.HandleFunc("/readyz", func(w http.ResponseWriter, _ *http.Request) {
		if asked.Add(1) < 3 {
			http.Error(w, "caches are not synced", http.StatusServiceUnavailable)
		}
	})
	http.HandleFunc("/metrics", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, "# TYPE asked counter\nasked{by=\"a\"} %d\nasked{by=\"b\"} 1\n", asked.Load())
	})
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM)
	go func() { _ = http.Serve(listener, nil) }()
	fmt.Printf("args %q\n", os.Args[1:])
	fmt.Printf("namespace %s, pod %s\n", os.Getenv("POD_NAMESPACE"), os.Getenv("POD_NAME"))
	fmt.Printf("{\"msg\":\"serving\",\"address\":%q}\n", listener.Addr())
	<-stop
	code, _ := strconv.Atoi(os.Getenv("EXIT_CODE"))
	return code
}

func playFailing() int {
	fmt.Fprintln(os.Stderr, "flag provided but not defined")
	return 3
}

// playOrphanMaker starts a child that never ends, says its process id and waits to be killed.
func playOrphanMaker() int {
	self, err := os.Executable()
	if err != nil {
		return 1
	}
	child, err := startProcess(self, nil, []string{roleVariable + "=controller"}, &Log{})
	if err != nil {
		return 1
	}
	fmt.Printf("child %d\n", child.cmd.Process.Pid)
	select {}
}

func TestAProcessDiesWithTheTestThatStartedIt(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	self, err := os.Executable()
	must(t, err)
	log := &Log{}
	parent, err := startProcess(self, nil, []string{roleVariable + "=orphan-maker"}, log)
	must(t, err)
	var pid int
	must(t, Await(ctx, "the child to be started", func(context.Context) error {
		for _, line := range log.Lines() {
			if _, err := fmt.Sscanf(line, "child %d", &pid); err == nil {
				return nil
			}
		}
		return errors.New("no child yet")
	}))
	if !runs(pid) {
		t.Fatalf("child %d does not run", pid)
	}
	must(t, parent.cmd.Process.Kill())
	must(t, Await(ctx, "the end of the child", func(context.Context) error {
		if runs(pid) {
			return fmt.Errorf("child %d has outlived its parent", pid)
		}
		return nil
	}))
}

func runs(pid int) bool { return strings.ContainsAny(processState(pid), "RSDT") }

// processState is the letter by which the kernel tells how a process is; Z and no letter are those
// of a dead one.
func processState(pid int) string {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return ""
	}
	_, after, _ := strings.Cut(string(stat), ") ")
	return after[:1]
}
