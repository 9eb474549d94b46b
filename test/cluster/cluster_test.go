package cluster

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

const asParent = "REROLL_TEST_STARTS_A_CLUSTER_AND_IS_KILLED"

func TestMain(m *testing.M) {
	if os.Getenv(asParent) != "" {
		startAndHang()
	}
	// Built once, and told: on a fresh machine this takes minutes.
	if _, err := Build(context.Background(), os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func TestSeveralClustersRunSideBySideAndAreSeparate(t *testing.T) {
	const n = 2
	clients := make([]*kubernetes.Clientset, n)
	var starts sync.WaitGroup
	errs := make(chan error, n)
	for i := range n {
		starts.Go(func() {
			c, err := Start(t.Context(), Options{Nodes: NoNodes})
			if err != nil {
				errs <- err
				return
			}
			t.Cleanup(func() { _ = c.Stop() })
			clients[i], err = kubernetes.NewForConfig(c.Config())
			errs <- err
		})
	}
	starts.Wait()
	for range n {
		if err := <-errs; err != nil {
			t.Fatal(err)
		}
	}
	for i, client := range clients {
		name := "only-in-" + strconv.Itoa(i)
		_, err := client.CoreV1().Namespaces().Create(t.Context(),
			&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for j, other := range clients {
			_, err := other.CoreV1().Namespaces().Get(t.Context(), name, metav1.GetOptions{})
			if i != j && !apierrors.IsNotFound(err) {
				t.Errorf("a namespace made in cluster %d is seen in cluster %d: %v", i, j, err)
			}
		}
	}
}

func testServiceAccountHasThePermissionsThatRBACGivesItAndNoOther(t *testing.T, c *Cluster) {
	t.Helper()
	admin := kubernetes.NewForConfigOrDie(c.Config())
	ctx := t.Context()
	mustCreate := func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	rbac := admin.RbacV1()
	mustCreate(admin.CoreV1().ServiceAccounts("default").Create(ctx,
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "reader"}}, metav1.CreateOptions{}))
	mustCreate(rbac.Roles("default").Create(ctx, &rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Name: "read"},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"list"}}},
	}, metav1.CreateOptions{}))
	mustCreate(rbac.RoleBindings("default").Create(ctx, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "read"},
		Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Name: "reader", Namespace: "default"}},
		RoleRef:    rbacv1.RoleRef{APIGroup: "rbac.authorization.k8s.io", Kind: "Role", Name: "read"},
	}, metav1.CreateOptions{}))

	path, err := c.ServiceAccountKubeconfig(ctx, "default", "reader")
	if err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		t.Fatal(err)
	}
	reader := kubernetes.NewForConfigOrDie(config)
	if _, err := reader.CoreV1().ConfigMaps("default").List(ctx, metav1.ListOptions{}); err != nil {
		t.Errorf("it may list ConfigMaps, and was answered: %v", err)
	}
	if _, err := reader.CoreV1().Secrets("default").List(ctx, metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("it may not list Secrets, and was answered: %v", err)
	}
	audit, err := os.ReadFile(c.AuditLog())
	if err != nil || !bytes.Contains(audit, []byte(`"username":"system:serviceaccount:default:reader"`)) {
		t.Errorf("the audit log does not name the ServiceAccount (read error: %v)", err)
	}
}

func TestAFailedStartNamesTheComponentAndShowsTheEndOfItsLog(t *testing.T) {
	_, err := Start(t.Context(), Options{APIServerFlags: []string{"--no-such-flag"}})
	if err == nil {
		t.Fatal("a cluster whose API server has an unknown flag has started")
	}
	for _, want := range []string{"kube-apiserver: ", "unknown flag: --no-such-flag", "the whole log: "} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error does not say %q:\n%v", want, err)
		}
	}
	log := err.Error()[strings.LastIndex(err.Error(), " ")+1:]
	if _, err := os.Stat(log); err != nil {
		t.Errorf("the log that the error names is not there: %v", err)
	}
}

func TestAPortThatIsTakenIsRefusedByItsNumber(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	port := listener.Addr().(*net.TCPAddr).Port
	_, err = Start(t.Context(), Options{Port: port})
	if want := fmt.Sprintf("port %d on 127.0.0.1 is taken", port); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("the error does not say %q: %v", want, err)
	}
}

func TestAPortThatIsNoneIsNotCalledTaken(t *testing.T) {
	for _, port := range []int{-1, 99999} {
		_, err := newPortSet().take(port)
		if want := fmt.Sprintf("%d is no port", port); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "taken") {
			t.Errorf("the error does not say %q alone: %v", want, err)
		}
	}
}

func TestAFullDiskIsToldWhenAClusterStarts(t *testing.T) {
	if err := enoughRoom("/runs", clusterDisk); err != nil {
		t.Errorf("enough is refused: %v", err)
	}
	err := enoughRoom("/runs", 2<<20)
	if want := "only 2 MB are free for /runs"; err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "TMPDIR") {
		t.Errorf("the error does not say %q and what to do: %v", want, err)
	}
	// A disk that gets full later: the component's last words are a trace.
	log := filepath.Join(t.TempDir(), "etcd.log")
	words := "failed to create WAL: write wal/0.tmp: no space left on device\n" + strings.Repeat("goroutine 1 [running]:\n", 500)
	if err := os.WriteFile(log, []byte(words), 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := startProcess("etcd", log, nil, "/bin/sh", "-c", "exit 2")
	if err != nil {
		t.Fatal(err)
	}
	<-p.done
	if err := p.ended(); !strings.Contains(err.Error(), "is full. Free some, or point TMPDIR at a larger one.") {
		t.Errorf("the error does not say what to do: %v", err)
	}
}

func TestAProgramThatCannotBeRunSaysHowToGetAnother(t *testing.T) {
	program := filepath.Join(t.TempDir(), "kwok")
	if err := os.WriteFile(program, make([]byte, 100), 0o755); err != nil {
		t.Fatal(err)
	}
	_, err := startProcess("kwok", filepath.Join(t.TempDir(), "kwok.log"), nil, program)
	if err == nil || !strings.Contains(err.Error(), "start kwok: ") || !strings.Contains(err.Error(), "make clean-cache") {
		t.Errorf("the error does not name the component and what to do: %v", err)
	}
}

// startAndHang is the program of the next test: it lends a cluster, tells the components' process
// numbers, and waits to be killed.
func startAndHang() {
	socket := os.Getenv(SocketVariable)
	l, err := Lend(context.Background(), socket, Options{Nodes: NoNodes})
	if err == nil {
		_, err = Borrow(context.Background(), Options{})
	}
	if err != nil {
		fmt.Println("failed:", err)
		os.Exit(1)
	}
	c, _ := l.started()
	for _, p := range c.procs {
		fmt.Println(p.name, p.cmd.Process.Pid)
	}
	fmt.Println("all")
	select {}
}

func TestEveryComponentDiesWithAParentThatIsKilled(t *testing.T) {
	parent := exec.CommandContext(t.Context(), os.Args[0])
	parent.Env = append(os.Environ(), asParent+"=1", SocketVariable+"="+filepath.Join(t.TempDir(), "s"))
	out, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	children := map[string]int{}
	for lines := bufio.NewScanner(out); lines.Scan() && lines.Text() != "all"; {
		name, pid, _ := strings.Cut(lines.Text(), " ")
		if children[name], err = strconv.Atoi(pid); err != nil {
			t.Fatalf("the parent says: %s", lines.Text())
		}
	}
	if len(children) != 5 {
		t.Fatalf("five components were expected to run, not %v", children)
	}
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = parent.Wait()
	for name, pid := range children {
		err := poll(t.Context(), nil, func(context.Context) error {
			if alive(pid) {
				return fmt.Errorf("%s (process %d) outlives its parent", name, pid)
			}
			return nil
		}, func(last error) error { return last })
		if err != nil {
			t.Error(err)
		}
	}
}

// alive is false for a process that has ended, also when nobody has waited for it yet.
func alive(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return false
	}
	_, state, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(state, "Z")
}
