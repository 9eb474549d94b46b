package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Addresses of the fabric. The first is that of the Service "kubernetes", which the certificate of
// the API server names.
const (
	serviceIP = "10.0.0.1"
	gateway   = "10.244.0.1"
)

func nodeIP(index int) string    { return "10.244.0." + strconv.Itoa(index+1) }
func podSubnet(index int) string { return "10.244." + strconv.Itoa(index) + ".0/24" }

// Sockets in the folder of the cluster: pods and kubelets reach the API server through the first,
// and it reaches them through the second. The folder is the working folder, since the name of a
// socket may not be long.
const (
	apiSocket    = "api.sock"
	egressSocket = "egress.sock"
)

// runFabric runs in a network namespace of its own, and returns when a node has ended.
func runFabric(c *config, args []string) error {
	if err := makeCgroups(c); err != nil {
		return err
	}
	if err := ip("link set lo up", "link add fabric type bridge", "link set fabric up",
		"address add "+gateway+"/24 dev fabric", "address add "+serviceIP+"/32 dev fabric"); err != nil {
		return err
	}
	if err := forwardPackets(); err != nil {
		return err
	}
	ended := make(chan error)
	if err := serveAPI(ended); err != nil {
		return err
	}
	if err := serveEgress(ended); err != nil {
		return err
	}
	for i := 1; i <= c.nodes; i++ {
		if err := startNode(c, i, args, ended); err != nil {
			return fmt.Errorf("start node-%d: %w", i, err)
		}
	}
	return <-ended
}

func startNode(c *config, index int, args []string, ended chan<- error) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	own := *c
	own.index = index
	log, err := os.OpenFile(c.path(own.name()+".log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command(self, append([]string{"node", "--index=" + strconv.Itoa(index)}, args...)...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Pdeathsig: syscall.SIGKILL,
		Cloneflags: syscall.CLONE_NEWPID | syscall.CLONE_NEWNS | syscall.CLONE_NEWNET |
			syscall.CLONE_NEWUTS | syscall.CLONE_NEWIPC,
	}
	connected, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	go func() {
		err := cmd.Wait()
		text, _ := os.ReadFile(log.Name())
		ended <- fmt.Errorf("%s ended: %w\n%s", own.name(), err, text)
	}()
	veth := "veth" + strconv.Itoa(index)
	if err := ip("link add "+veth+" type veth peer name eth0 netns "+strconv.Itoa(cmd.Process.Pid),
		"link set "+veth+" master fabric up",
		"route add "+podSubnet(index)+" via "+nodeIP(index)); err != nil {
		return err
	}
	return connected.Close()
}

// ip runs commands of the program of that name, all by one call of it.
func ip(commands ...string) error {
	cmd := exec.Command("ip", "-batch", "-")
	cmd.Stdin = strings.NewReader(strings.Join(commands, "\n") + "\n")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("ip %s: %w: %s", strings.Join(commands, "; ip "), err, out)
	}
	return nil
}

// forwardPackets counts for this network namespace alone.
func forwardPackets() error {
	return os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("1"), 0)
}

// serveAPI lets pods and kubelets reach the API server, which listens on loopback of the machine.
func serveAPI(ended chan<- error) error {
	listener, err := net.Listen("tcp", serviceIP+":443")
	if err != nil {
		return err
	}
	go func() {
		ended <- accept(listener, func(conn net.Conn) {
			api, err := net.Dial("unix", apiSocket)
			if err != nil {
				conn.Close()
				return
			}
			join(conn, conn, api)
		})
	}()
	return nil
}

// serveEgress is the proxy by which the API server reaches kubelets and pods.
func serveEgress(ended chan<- error) error {
	listener, err := net.Listen("unix", egressSocket)
	if err != nil {
		return err
	}
	go func() { ended <- accept(listener, connect) }()
	return nil
}

func connect(conn net.Conn) {
	reader := bufio.NewReader(conn)
	request, err := http.ReadRequest(reader)
	if err != nil || request.Method != http.MethodConnect {
		conn.Close()
		return
	}
	target, err := net.DialTimeout("tcp", request.Host, 30*time.Second)
	if err != nil {
		fmt.Fprintf(conn, "HTTP/1.1 502 %s\r\n\r\n", strings.ReplaceAll(err.Error(), "\n", " "))
		conn.Close()
		return
	}
	if _, err := io.WriteString(conn, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		conn.Close()
		target.Close()
		return
	}
	join(conn, reader, target)
}

func accept(listener net.Listener, serve func(net.Conn)) error {
	for {
		conn, err := listener.Accept()
		if err != nil {
			return fmt.Errorf("accept on %s: %w", filepath.Base(listener.Addr().String()), err)
		}
		go serve(conn)
	}
}

// join copies both ways. An end in one direction is passed on: kubectl exec closes its input and
// reads on.
func join(near net.Conn, from io.Reader, far net.Conn) {
	defer near.Close()
	defer far.Close()
	done := make(chan struct{})
	go func() {
		_, _ = io.Copy(far, from)
		_ = closeWrite(far)
		close(done)
	}()
	_, _ = io.Copy(near, far)
	_ = closeWrite(near)
	<-done
}

func closeWrite(conn net.Conn) error {
	half, ok := conn.(interface{ CloseWrite() error })
	if !ok {
		return errors.ErrUnsupported
	}
	return half.CloseWrite()
}
