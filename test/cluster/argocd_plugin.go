package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
)

// ArgoCDPlugin is a config management plugin of Argo CD.
type ArgoCDPlugin struct {
	// Name is the one in its configuration, which names its socket.
	Name string
	// Config are the files of its folder of configuration, plugin.yaml among them, which name that
	// as it is in a sidecar.
	Config map[string]string
	// Programs are the paths of what its commands call, by the name that they call it by.
	Programs map[string]string
}

// StartArgoCDPlugin runs the server of a plugin, as its sidecar would, beside the repo-server that
// was started before, and returns when it answers.
func (c *Cluster) StartArgoCDPlugin(ctx context.Context, plugin ArgoCDPlugin, progress io.Writer) error {
	tools, err := buildArgoCD(ctx, progress)
	if err != nil {
		return err
	}
	home := filepath.Join(c.path("argocd"), plugin.Name)
	programs := filepath.Join(home, "bin")
	if err := os.MkdirAll(programs, 0o700); err != nil {
		return err
	}
	var failed []error
	for name, text := range plugin.Config {
		text = strings.ReplaceAll(text, "/home/argocd/cmp-server/config", home)
		failed = append(failed, os.WriteFile(filepath.Join(home, name), []byte(text), 0o600))
	}
	for name, path := range plugin.Programs {
		failed = append(failed, os.Symlink(path, filepath.Join(programs, name)))
	}
	if err := errors.Join(failed...); err != nil {
		return err
	}
	env := []string{
		c.argoCDPlugins(), "ARGOCD_CMP_WORKDIR=" + filepath.Join(home, "work"), "TMPDIR=" + home, "HOME=" + home,
		"PATH=" + programs + string(filepath.ListSeparator) + os.Getenv("PATH"),
	}
	server, err := c.runWith("argocd-cmp-server-"+plugin.Name, env, tools.argoCD, "cmp-server", "--config-dir-path="+home)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, startTimeout, fmt.Errorf("not ready within %s", startTimeout))
	defer cancel()
	return server.await(ctx, func(ctx context.Context) error {
		connection, err := (&net.Dialer{}).DialContext(ctx, "unix", filepath.Join(c.argoCDSockets(), plugin.Name+".sock"))
		if err != nil {
			return err
		}
		return connection.Close()
	})
}

// argoCDSockets is the folder where plugins listen, and where the repo-server looks for them.
func (c *Cluster) argoCDSockets() string { return filepath.Join(c.path("argocd"), "plugins") }

func (c *Cluster) argoCDPlugins() string { return "ARGOCD_PLUGINSOCKFILEPATH=" + c.argoCDSockets() }
