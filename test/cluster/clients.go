package cluster

import (
	"context"
	"io"
	"path/filepath"
)

// Clients are the paths of programs that people and pipelines deploy with.
type Clients struct {
	Kubectl, Helm3, Helm4, Kustomize string
}

// BuildClients returns them, and builds first what was not built yet.
func BuildClients(ctx context.Context, progress io.Writer) (Clients, error) {
	var paths [4]string
	for i, s := range clientSets() {
		dir, err := buildSet(ctx, s, progress)
		if err != nil {
			return Clients{}, err
		}
		paths[i] = filepath.Join(dir, s.main)
	}
	return Clients{Kubectl: paths[0], Helm3: paths[1], Helm4: paths[2], Kustomize: paths[3]}, nil
}

// clientSets are one each: another version of one is no reason to build the others again.
func clientSets() []set {
	one := func(p part) set {
		return set{what: p.name, main: p.name, takes: "2 minutes", disk: 2 << 30, parts: []part{p}}
	}
	return []set{
		one(part{
			name: "kubectl", module: "k8s.io/kubectl", folder: "kubectl", packages: []string{"."},
			ldflags: func(version string) string {
				return "-X k8s.io/component-base/version.gitVersion=v1" + version[len("v0"):]
			},
		}),
		one(part{
			name: "helm3", module: "helm.sh/helm/v3", folder: "helm3", packages: []string{"helm.sh/helm/v3/cmd/helm"},
			ldflags: func(version string) string { return "-X helm.sh/helm/v3/internal/version.version=" + version },
		}),
		one(part{
			// The one that the tests of the chart use.
			name: "helm4", module: "helm.sh/helm/v4", folder: "../../../tools/helm", packages: []string{"helm.sh/helm/v4/cmd/helm"},
			ldflags: func(version string) string { return "-X helm.sh/helm/v4/internal/version.version=" + version },
		}),
		one(part{
			// The one in kubectl starts no functions.
			name: "kustomize", module: "sigs.k8s.io/kustomize/kustomize/v5", folder: "kustomize", packages: []string{"sigs.k8s.io/kustomize/kustomize/v5"},
			ldflags: func(version string) string {
				return "-X sigs.k8s.io/kustomize/api/provenance.version=kustomize/" + version
			},
		}),
	}
}
