package cluster

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// minorVariable asks for another minor version of Kubernetes than the newest, such as 1.25, for
// which there is a module tools/kubernetes-1.25.
const minorVariable = "THROWAWAY_KUBERNETES"

const kubernetesModule = "k8s.io/kubernetes"

// newest is the module, below tools/, of the Kubernetes that is usual.
const newest = "kubernetes"

func kubernetesSet() (set, error) {
	folder, err := kubernetesFolder()
	if err != nil {
		return set{}, err
	}
	return set{what: "a throwaway Kubernetes", main: "kubernetes", parts: kubernetesParts(folder), takes: firstBuildTakes, disk: firstBuildDisk}, nil
}

// kubernetesFolder is the module, below tools/, that pins the Kubernetes that is asked for.
func kubernetesFolder() (string, error) {
	minor := os.Getenv(minorVariable)
	if minor == "" {
		return newest, nil
	}
	modules, err := modulesFolder()
	if err != nil {
		return "", err
	}
	const prefix = newest + "-"
	found, err := filepath.Glob(filepath.Join(modules, prefix+"*", "go.mod"))
	if err != nil {
		return "", err
	}
	var minors []string
	for _, path := range found {
		minors = append(minors, strings.TrimPrefix(filepath.Base(filepath.Dir(path)), prefix))
	}
	if !slices.Contains(minors, minor) {
		return "", fmt.Errorf("%s=%q: there is no module for that Kubernetes: say %s, or unset it for the newest", minorVariable, minor, strings.Join(minors, " or "))
	}
	return prefix + minor, nil
}

// ServesAdmissionPolicies reports whether the Kubernetes that Start starts has admission policies:
// without being told to, since 1.30.
func ServesAdmissionPolicies() (bool, error) {
	minor, err := kubernetesMinor()
	return minor >= 30, err
}

// WithTrustBundles are the flags of an API server that serves ClusterTrustBundles and keeps the
// volumes that project them; none before 1.33, in which they are not v1beta1 yet. It answers lists
// rather than stream them, so that who reads bundles needs both permissions.
func WithTrustBundles() ([]string, error) {
	minor, err := kubernetesMinor()
	if err != nil || minor < 33 {
		return nil, err
	}
	return []string{"--feature-gates=ClusterTrustBundle=true,ClusterTrustBundleProjection=true,WatchList=false", "--runtime-config=certificates.k8s.io/v1beta1/clustertrustbundles=true"}, nil
}

// WithoutStreamedLists are the flags of an API server that answers lists, and does not stream what
// there is. Before 1.27 none did.
func WithoutStreamedLists() ([]string, error) {
	minor, err := kubernetesMinor()
	if err != nil || minor < 27 {
		return nil, err
	}
	return []string{"--feature-gates=WatchList=false"}, nil
}

// kubernetesMinor is the minor version of the Kubernetes that Start starts.
func kubernetesMinor() (int, error) {
	folder, err := kubernetesFolder()
	if err != nil {
		return 0, err
	}
	modules, err := modulesFolder()
	if err != nil {
		return 0, err
	}
	path := filepath.Join(modules, folder, "go.mod")
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	number := strings.Split(pinnedVersion(string(text), kubernetesModule), ".")
	if len(number) != 3 {
		return 0, fmt.Errorf("%s does not pin %s", path, kubernetesModule)
	}
	return strconv.Atoi(number[1])
}

func kubernetesParts(folder string) []part {
	return []part{{
		name: "etcd", module: "go.etcd.io/etcd/server/v3", folder: "etcd",
		packages: []string{"go.etcd.io/etcd/server/v3"},
		ldflags:  func(string) string { return "" },
	}, {
		name: "kubernetes", module: kubernetesModule, folder: folder,
		packages: []string{
			"k8s.io/kubernetes/cmd/kube-apiserver",
			"k8s.io/kubernetes/cmd/kube-controller-manager",
			"k8s.io/kubernetes/cmd/kube-scheduler",
		},
		ldflags: func(version string) string { return versionFlags(folder, version) },
	}, {
		name: "kwok", module: "sigs.k8s.io/kwok", folder: "kwok",
		packages: []string{"sigs.k8s.io/kwok/cmd/kwok"},
		ldflags:  func(version string) string { return "-X sigs.k8s.io/kwok/pkg/consts.Version=" + version },
		// A Pod of a StatefulSet has the name of the one before it. kwok deletes by name, and twice if it is
		// told twice that a Pod ends: the second time, the next Pod may have the name. What it writes into
		// the status of the next Pod by mistake is what it would write anyway.
		mends: []mend{{
			file: "pkg/kwok/controllers/pod_controller.go",
			old:  "Delete(ctx, pod.Name, deleteOpt)",
			new: "Delete(ctx, pod.Name, metav1.DeleteOptions{GracePeriodSeconds: deleteOpt.GracePeriodSeconds, " +
				"Preconditions: metav1.NewUIDPreconditions(string(pod.UID))})",
		}},
	}}
}

// kubeletPart is a program of the same module. It is built apart, since few tests need it.
func kubeletPart() part {
	return part{
		name: "kubelet", module: kubernetesModule, folder: newest, packages: []string{"k8s.io/kubernetes/cmd/kubelet"},
		ldflags: func(version string) string { return versionFlags(newest, version) },
	}
}

func versionFlags(folder, version string) string {
	number := strings.SplitN(strings.TrimPrefix(version, "v"), ".", 3)
	var flags []string
	for _, pkg := range versionPackages(folder) {
		flags = append(flags, "-X "+pkg+".gitVersion="+version, "-X "+pkg+".gitMajor="+number[0], "-X "+pkg+".gitMinor="+number[1])
	}
	return strings.Join(flags, " ")
}

// versionPackages have the version of the build. What was asked for at /version had one of its own
// once.
func versionPackages(folder string) []string {
	packages := []string{"k8s.io/component-base/version"}
	if folder != newest {
		packages = append(packages, "k8s.io/client-go/pkg/version")
	}
	return packages
}
