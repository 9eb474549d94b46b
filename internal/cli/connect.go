package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/reroll-dev/reroll/internal/clientset"
	"github.com/reroll-dev/reroll/internal/config"
	"github.com/reroll-dev/reroll/internal/controller"
	"github.com/reroll-dev/reroll/internal/lease"
	"github.com/reroll-dev/reroll/internal/metainfo"
)

// place is a cluster, and how to reach it.
type place struct {
	config    *rest.Config
	context   string // of the kubeconfig; empty in a Pod
	namespace string // the namespace of our own objects
	chosenBy  string // how the namespace was chosen
}

// serviceAccount is the directory with the files of the ServiceAccount of a Pod.
const serviceAccount = "/var/run/secrets/kubernetes.io/serviceaccount"

func connect(cfg *config.Config, account fs.FS) (place, error) {
	var p place
	var err error
	if cfg.InPod && os.Getenv(clientcmd.RecommendedConfigPathEnvVar) == "" {
		p.config, err = rest.InClusterConfig()
		if err != nil {
			return p, fmt.Errorf("use the pod's ServiceAccount: %w", err)
		}
	} else {
		kubeconfig := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(
			clientcmd.NewDefaultClientConfigLoadingRules(), nil)
		if p.config, err = kubeconfig.ClientConfig(); err != nil {
			return p, fmt.Errorf("no cluster configured: %w\nSet KUBECONFIG, or run it in a pod", unconfigured(err))
		}
		raw, err := kubeconfig.RawConfig()
		if err != nil {
			return p, fmt.Errorf("read the kubeconfig: %w", err)
		}
		p.context = raw.CurrentContext
		if p.namespace, _, err = kubeconfig.Namespace(); err != nil {
			return p, fmt.Errorf("read the namespace of the kubeconfig: %w", err)
		}
		p.chosenBy = chosenByKubeconfig(raw, p.namespace)
	}
	if err = p.choose(cfg, account); err != nil {
		return p, err
	}
	limit(p.config, cfg.Requests)
	p.config.ContentType = runtime.ContentTypeProtobuf
	p.config.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	return p, nil
}

// unconfigured replaces the error of client-go for a missing or empty kubeconfig, which suggests a
// variable that has no effect here.
func unconfigured(err error) error {
	if clientcmd.IsEmptyConfig(err) {
		return errors.New("there is no kubeconfig with a cluster")
	}
	return err
}

// chosenByKubeconfig describes how client-go chose the namespace. If the context of the kubeconfig
// has none, client-go uses the namespace of the Pod. Outside a Pod, it uses the default namespace.
func chosenByKubeconfig(raw clientcmdapi.Config, namespace string) string {
	of := fmt.Sprintf("the context %q of the kubeconfig", raw.CurrentContext)
	switch context := raw.Contexts[raw.CurrentContext]; {
	case context != nil && context.Namespace != "":
		return of
	case namespace == metav1.NamespaceDefault:
		return "default, because " + of + " has no namespace"
	default:
		return "the ServiceAccount of the Pod, because " + of + " has no namespace"
	}
}

// choose sets the namespace of our own objects. It is the namespace of the kubeconfig, unless the
// environment has another. A Pod has no kubeconfig. Manifests written for Reloader set
// POD_NAMESPACE only with --enable-ha, but RELOADER_NAMESPACE always.
func (p *place) choose(cfg *config.Config, account fs.FS) error {
	// Outside a Pod, the file does not exist. A token may also be mounted without the file.
	mounted, _ := fs.ReadFile(account, "namespace")
	for _, option := range []struct{ namespace, chosenBy string }{
		{cfg.PodNamespace, "POD_NAMESPACE"},
		{p.namespace, p.chosenBy},
		{strings.TrimSpace(string(mounted)), "the ServiceAccount of the Pod"},
		{cfg.MetaNamespace, "RELOADER_NAMESPACE"},
	} {
		if option.namespace != "" {
			p.namespace, p.chosenBy = option.namespace, option.chosenBy
			return nil
		}
	}
	return errors.New("the namespace for the controller's own Secret is unknown: set POD_NAMESPACE from metadata.namespace, as the chart does")
}

// logState logs, before any request, the namespace of the objects of the controller and the reason
// for it. A user who runs the controller locally may not have chosen that namespace.
func (p *place) logState(cfg *config.Config, log *slog.Logger) {
	args := []any{"namespace", p.namespace, "chosenBy", p.chosenBy}
	if cfg.DryRun {
		log.Info("dry run: reading the digest key if it exists, and keeping no state in the cluster", args...)
		return
	}
	args = append(args, "secret", p.namespace+"/"+controller.DigestKeyName)
	if holdsLease(cfg) {
		args = append(args, "lease", cfg.PodNamespace+"/"+lease.Name)
	}
	if writesMetaInfo(cfg) {
		args = append(args, "configMap", cfg.MetaNamespace+"/"+metainfo.Name)
	}
	log.Info("keeping state in the cluster", args...)
}

// limit sets one limit for the requests of all clients of this configuration together. The default
// of client-go is five requests per second.
func limit(c *rest.Config, requests config.Requests) {
	c.QPS, c.Burst = -1, 0
	if requests.QPS > 0 {
		c.QPS, c.Burst = requests.QPS, requests.Burst
	}
}

// unlimited returns a client for requests that must not wait behind others, such as renewals of the
// lease. Otherwise the lease would be lost while a thousand writes wait.
func unlimited(c *rest.Config) (clientset.Interface, error) {
	c = rest.CopyConfig(c)
	limit(c, config.Requests{})
	return clientset.NewForConfig(c)
}
