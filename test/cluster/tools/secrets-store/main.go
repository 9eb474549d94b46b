// A kubelet and a provider for the Secrets Store CSI driver. The kubelet asks the driver to mount
// classes for Pods, and the provider hands out the versions of the last command. Each line of the input
// is a command in JSON. A line of the output answers it: a quoted error, empty if there is none.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"sigs.k8s.io/secrets-store-csi-driver/provider/v1alpha1"
)

// command stores the versions of a class, or publishes the volume of a Pod.
type command struct {
	Do        string            `json:"do"`
	Class     string            `json:"class"`
	Versions  map[string]string `json:"versions"`
	Namespace string            `json:"namespace"`
	Pod       string            `json:"pod"`
	UID       string            `json:"uid"`
}

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "which socket of the driver, which socket for the provider, and which folder for volumes?")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2], os.Args[3]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(driver, own, volumes string) error {
	p := &provider{stores: map[string]map[string]string{}}
	listener, err := net.Listen("unix", own)
	if err != nil {
		return err
	}
	server := grpc.NewServer()
	v1alpha1.RegisterCSIDriverProviderServer(server, p)
	go func() { _ = server.Serve(listener) }() // until the end
	conn, err := grpc.NewClient("unix:"+driver, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	k := &kubelet{node: csi.NewNodeClient(conn), volumes: volumes}
	defer k.end()
	out := json.NewEncoder(os.Stdout)
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		said := ""
		if err := do(lines.Bytes(), p, k); err != nil {
			said = err.Error()
		}
		if err := out.Encode(said); err != nil {
			return err
		}
	}
	return nil
}

func do(line []byte, p *provider, k *kubelet) error {
	var c command
	if err := json.Unmarshal(line, &c); err != nil {
		return err
	}
	switch c.Do {
	case "store":
		p.mu.Lock()
		defer p.mu.Unlock()
		p.stores[c.Class] = c.Versions
		return nil
	case "publish":
		return k.publish(&c)
	default:
		return fmt.Errorf("what is %q?", c.Do)
	}
}

// provider hands out the versions of the objects that a class names.
type provider struct {
	v1alpha1.UnimplementedCSIDriverProviderServer
	mu     sync.Mutex
	stores map[string]map[string]string
}

func (p *provider) Version(context.Context, *v1alpha1.VersionRequest) (*v1alpha1.VersionResponse, error) {
	return &v1alpha1.VersionResponse{Version: "v1alpha1", RuntimeName: "store", RuntimeVersion: "1"}, nil
}

func (p *provider) Mount(_ context.Context, req *v1alpha1.MountRequest) (*v1alpha1.MountResponse, error) {
	var attributes map[string]string
	if err := json.Unmarshal([]byte(req.Attributes), &attributes); err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	answer := &v1alpha1.MountResponse{ObjectVersion: []*v1alpha1.ObjectVersion{}}
	for _, id := range strings.Fields(attributes["objects"]) {
		version := p.stores[attributes["secretProviderClass"]][id]
		answer.ObjectVersion = append(answer.ObjectVersion, &v1alpha1.ObjectVersion{Id: id, Version: version})
		answer.Files = append(answer.Files, &v1alpha1.File{Path: id, Mode: 0o400, Contents: []byte("value " + version)})
	}
	return answer, nil
}

// kubelet remembers what it has to end.
type kubelet struct {
	node    csi.NodeClient
	volumes string
	paths   []string
}

func (k *kubelet) publish(c *command) error {
	path := filepath.Join(k.volumes, c.UID+"-"+c.Class)
	k.paths = append(k.paths, path)
	_, err := k.node.NodePublishVolume(context.Background(), &csi.NodePublishVolumeRequest{
		VolumeId: c.UID + "-" + c.Class, TargetPath: path, Readonly: true,
		VolumeCapability: &csi.VolumeCapability{
			AccessType: &csi.VolumeCapability_Mount{Mount: &csi.VolumeCapability_MountVolume{}},
			AccessMode: &csi.VolumeCapability_AccessMode{Mode: csi.VolumeCapability_AccessMode_MULTI_NODE_READER_ONLY},
		},
		VolumeContext: map[string]string{
			"secretProviderClass":                    c.Class,
			"csi.storage.k8s.io/pod.name":            c.Pod,
			"csi.storage.k8s.io/pod.namespace":       c.Namespace,
			"csi.storage.k8s.io/pod.uid":             c.UID,
			"csi.storage.k8s.io/serviceAccount.name": "default",
			"csi.storage.k8s.io/ephemeral":           "true",
		},
	}, grpc.WaitForReady(true))
	return err
}

// end unmounts everything, so that nothing of it outlives the test.
func (k *kubelet) end() {
	for _, path := range k.paths {
		if _, err := k.node.NodeUnpublishVolume(context.Background(), &csi.NodeUnpublishVolumeRequest{VolumeId: filepath.Base(path), TargetPath: path}); err != nil {
			_ = syscall.Unmount(path, syscall.MNT_DETACH) // the driver may have ended before
		}
	}
}
