package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/reroll-dev/reroll/test/cluster"
)

// place is the cluster that the demo plays on.
type place interface {
	Config() *rest.Config
	ServiceAccountKubeconfig(ctx context.Context, namespace, name string) (string, error)
	Kubeconfig() string
	Dir() string
	// Broken returns nil when the context ends, and before that if the cluster does, with the
	// reason.
	Broken(ctx context.Context) error
	Stop() error
}

// existing is a cluster that the user has. Nothing is left on it but what the caller makes in a
// namespace of its own.
type existing struct {
	config *rest.Config
	dir    string
}

func useExisting(name string) (*existing, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	kubeconfig := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: name})
	config, err := kubeconfig.ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("use the context %q of your kubeconfig: %w", name, err)
	}
	dir, err := os.MkdirTemp("", "reroll-demo")
	if err != nil {
		return nil, err
	}
	return &existing{config: config, dir: dir}, nil
}

func (e *existing) Config() *rest.Config { return rest.CopyConfig(e.config) }

func (e *existing) Kubeconfig() string { return os.Getenv(clientcmd.RecommendedConfigPathEnvVar) }

func (e *existing) Dir() string { return e.dir }

func (e *existing) Broken(ctx context.Context) error {
	<-ctx.Done()
	return nil
}

func (e *existing) Stop() error { return os.RemoveAll(e.dir) }

func (e *existing) ServiceAccountKubeconfig(ctx context.Context, namespace, name string) (string, error) {
	path := filepath.Join(e.dir, "controller.kubeconfig")
	return path, cluster.WriteServiceAccountKubeconfig(ctx, e.config, namespace, name, path)
}

func serverVersion(config *rest.Config) (string, error) {
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return "", err
	}
	version, err := client.ServerVersion()
	if err != nil {
		return "", fmt.Errorf("ask the API server for its version: %w", err)
	}
	return version.GitVersion, nil
}
