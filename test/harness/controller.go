package harness

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"syscall"
)

// podName is what the controller is told to be called. It stays the same when it is started again,
// as for a container that is restarted in its pod.
const podName = "reroll-0"

// Installation is the controller's ServiceAccount and permissions in a namespace.
type Installation struct {
	manifest   *Manifest
	binary     string
	namespace  string
	kubeconfig string
}

// Install creates what the manifest holds beside the Deployment. The Deployment says how the binary
// is to be run.
func (n *Namespace) Install(ctx context.Context, m *Manifest, binary string) (*Installation, error) {
	for _, obj := range m.objectsFor(n.Name) {
		if err := n.applyObject(ctx, obj); err != nil {
			return nil, fmt.Errorf("install the controller: %s %s: %w", obj.GetKind(), obj.GetName(), err)
		}
	}
	if m.together != nil {
		if err := n.guardTogether(ctx, m.together); err != nil {
			return nil, fmt.Errorf("install the controller: %w", err)
		}
	}
	if m.guarded {
		if err := n.awaitGuard(ctx, m.account); err != nil {
			return nil, fmt.Errorf("install the controller: %w", err)
		}
	}
	kubeconfig, err := n.cluster.ServiceAccountKubeconfig(ctx, n.Name, m.account)
	if err != nil {
		return nil, fmt.Errorf("install the controller: %w", err)
	}
	return &Installation{manifest: m, binary: binary, namespace: n.Name, kubeconfig: kubeconfig}, nil
}

// Controller is a process that has been started.
type Controller struct {
	// Log is what it has written.
	Log *Log

	proc    *process
	address string
	frozen  bool
}

// EndedError says that the controller has ended by itself.
type EndedError struct {
	Code int // the exit code, -1 if a signal ended it
	Tail string
}

// Error returns the exit code and the end of the log.
func (e *EndedError) Error() string {
	return fmt.Sprintf("the controller has ended, exit code %d; the end of its log:\n%s", e.Code, e.Tail)
}

// FlagsAndVariables tells which words are flags and which are variables for a controller, as they
// stand in one row on a command line.
func FlagsAndVariables(words []string) (flags, env []string) {
	for _, word := range words {
		if strings.HasPrefix(word, "-") {
			flags = append(flags, word)
		} else {
			env = append(env, word)
		}
	}
	return flags, env
}

// Start runs the controller with flags and environment ("KEY=value") beyond those of the manifest,
// and returns when it is ready. It is returned with an error too if it was started, for its log.
func (i *Installation) Start(ctx context.Context, flags, env []string) (*Controller, error) {
	c, err := i.Launch(flags, env)
	if err != nil {
		return nil, err
	}
	return c, c.AwaitReady(ctx)
}

// Launch is Start without the wait, for who has something to do with it before it is ready.
func (i *Installation) Launch(flags, env []string) (*Controller, error) {
	args, manifestEnv, err := i.manifest.command(i.namespace, podName)
	if err != nil {
		return nil, err
	}
	args = append(args, "--listen-address=127.0.0.1:0", "--log-format=json")
	args = append(args, flags...)
	all := slices.Concat(manifestEnv, []string{"KUBECONFIG=" + i.kubeconfig, RaceDetector})
	if folder := os.Getenv("GOCOVERDIR"); folder != "" {
		all = append(all, "GOCOVERDIR="+folder)
	}
	c := &Controller{Log: &Log{}}
	if c.proc, err = startProcess(i.binary, args, append(all, env...), c.Log); err != nil {
		return nil, err
	}
	return c, nil
}

// AwaitReady returns when it is ready. That it has ended is an EndedError.
func (c *Controller) AwaitReady(ctx context.Context) error {
	return Await(ctx, "the controller to be ready", func(ctx context.Context) error {
		if err := c.find(); err != nil {
			return err
		}
		_, err := c.get(ctx, "/readyz")
		return err
	})
}

// find learns where it serves.
func (c *Controller) find() error {
	if err := c.Running(); err != nil {
		return final{err}
	}
	if c.address == "" {
		address, found := c.Log.field("serving", "address")
		if !found {
			return errors.New(`it has not logged the message "serving" with the field "address" yet`)
		}
		c.address = address
	}
	return nil
}

// WhyNotReady is what it answers to who asks whether it is ready. Nothing means that it is.
func (c *Controller) WhyNotReady(ctx context.Context) (string, error) {
	var why string
	err := Await(ctx, "an answer of the controller", func(ctx context.Context) error {
		if err := c.find(); err != nil {
			return err
		}
		body, status, err := c.ask(ctx, "/readyz")
		switch {
		case err != nil:
			return err
		case status == http.StatusServiceUnavailable:
			why = strings.TrimSpace(string(body))
		case status != http.StatusOK:
			return fmt.Errorf("/readyz answers %d", status)
		}
		return nil
	})
	return why, err
}

// Running is nil while the process runs, and an EndedError after.
func (c *Controller) Running() error {
	if c.proc.ended() {
		return &EndedError{Code: c.proc.exitCode(), Tail: c.Log.Tail(40)}
	}
	return nil
}

// Says returns the first line of its log that holds all of these words, when there is one.
func (c *Controller) Says(ctx context.Context, words ...string) (string, error) {
	var found []string
	err := Await(ctx, fmt.Sprintf("a line with %q", words), func(context.Context) error {
		if found = c.Log.Holding(words...); len(found) == 0 {
			return errors.Join(c.Running(), fmt.Errorf("there is none; the end of the log:\n%s", c.Log.Tail(20)))
		}
		return nil
	})
	if err != nil {
		return "", err
	}
	return found[0], nil
}

// Sound is nil unless it has written what no controller may write, however it ends.
func (c *Controller) Sound() error {
	if c.Log.Count(raced) > 0 {
		return fmt.Errorf("the controller has raced or panicked; the end of its log:\n%s", c.Log.Tail(80))
	}
	return nil
}

// PID is the number of the process, for whoever measures it.
func (c *Controller) PID() int { return c.proc.cmd.Process.Pid }

// Done is closed when the process has ended.
func (c *Controller) Done() <-chan struct{} { return c.proc.done }

// WhenEnded calls once if the process ends before the context does.
func (c *Controller) WhenEnded(ctx context.Context, call func(error)) {
	go func() {
		select {
		case <-c.Done():
			call(c.Running())
		case <-ctx.Done():
		}
	}()
}

// Stop asks it to end, as the kubelet does, and returns when it has. Any exit code but 0 is an
// error.
func (c *Controller) Stop(ctx context.Context) error {
	if err := c.Running(); err != nil {
		return err
	}
	if err := c.proc.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return fmt.Errorf("stop the controller: %w", err)
	}
	select {
	case <-c.proc.done:
	case <-ctx.Done():
		return fmt.Errorf("stop the controller: it was sent SIGTERM and has not ended: %w; the end of its log:\n%s", context.Cause(ctx), c.Log.Tail(40))
	}
	if c.proc.exitCode() != 0 {
		return c.Running()
	}
	return nil
}

// Kill ends it without a warning and returns when it is gone.
func (c *Controller) Kill() {
	_ = c.proc.cmd.Process.Kill() // that it has ended already is as good
	<-c.proc.done
}

// Freeze holds it still until Thaw: it computes nothing, hears nothing, and its connections stay
// open.
func (c *Controller) Freeze() error { return c.freeze(true, pause) }

// Thaw lets it go on.
func (c *Controller) Thaw() error { return c.freeze(false, resume) }

// Frozen reports whether it is held still.
func (c *Controller) Frozen() bool { return c.frozen }

func (c *Controller) freeze(frozen bool, hold func(*os.Process) error) error {
	if err := c.Running(); err != nil {
		return err
	}
	c.frozen = frozen
	return hold(c.proc.cmd.Process)
}

// Address is where the controller serves HTTP, once it is ready.
func (c *Controller) Address() string { return c.address }

// get asks the controller's own HTTP endpoint for what is answered with 200.
func (c *Controller) get(ctx context.Context, path string) ([]byte, error) {
	body, status, err := c.ask(ctx, path)
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("%s answers %d %s: %.300s", path, status, http.StatusText(status), body)
	}
	return body, err
}

func (c *Controller) ask(ctx context.Context, path string) (body []byte, status int, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+c.address+path, nil)
	if err != nil {
		return nil, 0, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, 0, err
	}
	defer resp.Body.Close()
	body, err = io.ReadAll(resp.Body)
	return body, resp.StatusCode, err
}
