package cluster

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

const (
	adminKubeconfig     = "admin.kubeconfig"
	managerKubeconfig   = "kube-controller-manager.kubeconfig"
	schedulerKubeconfig = "kube-scheduler.kubeconfig"
	kwokKubeconfig      = "kwok.kubeconfig"
)

// identity is a user the API server knows by a certificate, and the file it is kept in.
type identity struct {
	file   string
	user   string
	groups []string
	// server is the address of the API server, if it is not that on loopback.
	server string
}

// identities are the users that Kubernetes' own bootstrap roles are bound to. kwok plays every
// node, for which there is no role, so it is an administrator.
func identities() []identity {
	return []identity{
		{file: adminKubeconfig, user: "admin", groups: []string{"system:masters"}},
		{file: managerKubeconfig, user: "system:kube-controller-manager"},
		{file: schedulerKubeconfig, user: "system:kube-scheduler"},
		{file: kwokKubeconfig, user: "kwok", groups: []string{"system:masters"}},
	}
}

func (c *Cluster) writeIdentity(id identity) error {
	cert, key, err := c.pki.client(id.user, id.groups...)
	if err != nil {
		return err
	}
	server := clientcmdapi.Cluster{
		Server:                   cmp.Or(id.server, "https://127.0.0.1:"+strconv.Itoa(c.apiPort)),
		CertificateAuthorityData: c.pki.caPEM(),
	}
	return writeKubeconfig(c.path(id.file), id.user, "", server, clientcmdapi.AuthInfo{ClientCertificateData: cert, ClientKeyData: key})
}

// ServiceAccountKubeconfig writes a kubeconfig that holds a token of an existing ServiceAccount,
// and returns its path. Its permissions are what RBAC gives that account and nothing else.
func (c *Cluster) ServiceAccountKubeconfig(ctx context.Context, namespace, name string) (string, error) {
	path := c.path(filepath.Base(namespace + "-" + name + ".kubeconfig"))
	return path, WriteServiceAccountKubeconfig(ctx, c.admin, namespace, name, path)
}

// WriteServiceAccountKubeconfig does the same on any cluster.
func WriteServiceAccountKubeconfig(ctx context.Context, config *rest.Config, namespace, name, path string) error {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	day := int64(24 * 60 * 60)
	token, err := client.CoreV1().ServiceAccounts(namespace).CreateToken(ctx, name,
		&authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &day}}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("ask for a token of ServiceAccount %s/%s: %w", namespace, name, err)
	}
	// Files are read here: the kubeconfig has to work from anywhere. The caller's configuration
	// stays as it is.
	config = rest.CopyConfig(config)
	if err := rest.LoadTLSFiles(config); err != nil {
		return fmt.Errorf("read the certificates of the cluster: %w", err)
	}
	return writeKubeconfig(path, name, namespace,
		clientcmdapi.Cluster{
			Server: config.Host, CertificateAuthorityData: config.CAData,
			InsecureSkipTLSVerify: config.Insecure, TLSServerName: config.ServerName,
		},
		clientcmdapi.AuthInfo{Token: token.Status.Token})
}

func writeKubeconfig(path, user, namespace string, server clientcmdapi.Cluster, auth clientcmdapi.AuthInfo) error {
	const name = "reroll-throwaway"
	config := clientcmdapi.NewConfig()
	config.Clusters[name] = &server
	config.AuthInfos[user] = &auth
	config.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: user, Namespace: namespace}
	config.CurrentContext = name
	if err := replaceFile(*config, path); err != nil {
		return fmt.Errorf("write the kubeconfig of %s: %w", user, err)
	}
	return nil
}

// replaceFile writes the file at once: a process of another pod with the same ServiceAccount may read it.
func replaceFile(config clientcmdapi.Config, path string) error {
	folder, err := os.MkdirTemp(filepath.Dir(path), "kubeconfig-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	written := filepath.Join(folder, filepath.Base(path))
	if err := clientcmd.WriteToFile(config, written); err != nil {
		return err
	}
	return os.Rename(written, path)
}
