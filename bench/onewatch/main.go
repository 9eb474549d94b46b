// Command onewatch holds one watch of ConfigMaps, and discards what it delivers. Its memory is what
// any Go program takes that connects to Kubernetes by a kubeconfig.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

func main() {
	fmt.Fprintln(os.Stderr, "onewatch:", run(context.Background()))
	os.Exit(1)
}

// run goes on until it is killed. Otherwise, it returns why it cannot.
func run(ctx context.Context) error {
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		return fmt.Errorf("read the kubeconfig: %w", err)
	}
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, config.Host+"/api/v1/configmaps?watch=true", http.NoBody) //nolint:gosec // the server of the kubeconfig
	if err != nil {
		return err
	}
	for {
		response, err := client.Do(request) //nolint:gosec // the same
		if err != nil {
			return err
		}
		if response.StatusCode == http.StatusOK {
			_, err = io.Copy(io.Discard, response.Body) // the API server ends a watch after some minutes
		} else {
			err = errors.New(response.Status)
		}
		response.Body.Close()
		if err != nil {
			return fmt.Errorf("watch the ConfigMaps: %w", err)
		}
	}
}
