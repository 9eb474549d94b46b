package browser

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Command is a running reroll ui.
type Command struct {
	// Link is the address that it has printed, and Home the first page.
	Link, Home string

	cmd *exec.Cmd
}

// Run runs reroll ui, and returns when it has printed its link.
func Run(ctx context.Context, binary, kubeconfig string, args ...string) (*Command, error) {
	cmd := exec.CommandContext(ctx, binary, append([]string{"ui"}, args...)...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	c := &Command{cmd: cmd}
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if link, found := strings.CutPrefix(lines.Text(), "Open "); found {
			c.Link, c.Home = link, link[:strings.LastIndex(link, "/")+1]
			return c, nil
		}
	}
	return nil, errors.Join(errors.New("reroll ui has printed no link"), cmd.Wait())
}

// Stop ends it as Ctrl+C does.
func (c *Command) Stop() error {
	if err := c.cmd.Process.Signal(os.Interrupt); err != nil {
		return err
	}
	return c.cmd.Wait()
}

// Context is a context of a kubeconfig: a token for an API server.
type Context struct{ Name, Token, Server string }

// Kubeconfig writes a kubeconfig with contexts for a cluster into a folder. The first is current.
func Kubeconfig(folder string, cluster *rest.Config, contexts ...Context) (path string, err error) {
	if err := rest.LoadTLSFiles(cluster); err != nil {
		return "", fmt.Errorf("read the certificate of the cluster: %w", err)
	}
	config := clientcmdapi.NewConfig()
	config.CurrentContext = contexts[0].Name
	for _, c := range contexts {
		server := clientcmdapi.NewCluster()
		server.Server, server.CertificateAuthorityData = cluster.Host, cluster.CAData
		if c.Server != "" {
			server.Server = c.Server
		}
		user := clientcmdapi.NewAuthInfo()
		user.Token = c.Token
		named := clientcmdapi.NewContext()
		named.Cluster, named.AuthInfo = c.Name, c.Name
		config.Clusters[c.Name], config.AuthInfos[c.Name], config.Contexts[c.Name] = server, user, named
	}
	path = filepath.Join(folder, "kubeconfig")
	return path, clientcmd.WriteToFile(*config, path)
}
