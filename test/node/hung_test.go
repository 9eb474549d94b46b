package node_test

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/reroll-dev/reroll/test/harness"
)

// TestTheKubeletRestartsARerollThatHangs stops the process without ending it, as a deadlock would.
// Its liveness probe fails, and the next process reloads what has changed meanwhile.
func TestTheKubeletRestartsARerollThatHangs(t *testing.T) {
	t.Parallel()
	p := installInto(t, 1)
	old := p.leader()
	p.signal(syscall.SIGSTOP, old)
	for _, name := range restrictedApps() {
		p.edit("configmap", name, "text=meanwhile")
	}
	p.must(harness.Await(p.ctx, "the restart of the container", func(ctx context.Context) error {
		pods, err := p.running(ctx)
		if err != nil {
			return err
		}
		for _, pod := range pods {
			if pod.Name == old.Name && pod.Status.ContainerStatuses[0].RestartCount > 0 {
				return nil
			}
		}
		return fmt.Errorf("Pod %s has not restarted its container", old.Name)
	}))
	for _, name := range restrictedApps() {
		p.must(harness.Await(p.ctx, "the process of "+name+" to have read the change", func(context.Context) error { return p.allRead(name, "meanwhile") }))
	}
}

// kill sends SIGKILL to the processes of containers.
func (p *installed) kill(pods ...corev1.Pod) {
	p.t.Helper()
	p.signal(syscall.SIGKILL, pods...)
}

func (p *installed) signal(signal os.Signal, pods ...corev1.Pod) {
	p.t.Helper()
	children := descendants(p.t, os.Getpid())
	for _, pod := range pods {
		id, signaled := containerOf(pod), 0
		for pid := range children {
			groups, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cgroup")
			if err != nil || id == "" || !strings.Contains(string(groups), id) {
				continue // it has ended, or is another
			}
			process, err := os.FindProcess(pid)
			p.must(err)
			p.must(process.Signal(signal))
			signaled++
		}
		if signaled == 0 {
			p.t.Fatalf("no process of the container %s of Pod %s was found", id, pod.Name)
		}
	}
}
