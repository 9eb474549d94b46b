package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

const containerdSettings = `version = 2
root = "/var/lib/containerd"
state = "/run/containerd"

[grpc]
  address = "` + containerdSocket + `"

[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "PAUSE"
  # Without CAP_SYS_RESOURCE no process may lower this score, and no pod would start.
  restrict_oom_score_adj = true

  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"

  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "` + hostTools + `"
    conf_dir = "/run/node/cni"
`

// Without iptables there are no addresses to masquerade, and no ports of the node that lead to a
// pod.
const networkSettings = `{
  "cniVersion": "1.0.0",
  "name": "pods",
  "plugins": [{
    "type": "bridge",
    "bridge": "pods",
    "isGateway": true,
    "ipam": {
      "type": "host-local",
      "dataDir": "/run/node/addresses",
      "ranges": [[{"subnet": "SUBNET"}]],
      "routes": [{"dst": "0.0.0.0/0"}]
    }
  }]
}
`

// The kubelet is that of a default installation, except for what the machine forbids (control
// groups of version 1, no iptables) and for limits that would let a busy machine or a full disk
// decide what a test sees.
const kubeletSettings = `apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
authentication:
  x509: {clientCAFile: ` + hostDir + `/ca.crt}
containerRuntimeEndpoint: unix://` + containerdSocket + `
cgroupRoot: /CGROUP
cgroupDriver: cgroupfs
failCgroupV1: false
failSwapOn: false
oomScoreAdj: 0
makeIPTablesUtilChains: false
resolvConf: /run/node/resolv.conf
# Nothing answers there. Without an address each pod would get a warning event.
clusterDNS: [10.0.0.10]
clusterDomain: cluster.local
volumePluginDir: /var/lib/kubelet/volume-plugins
serializeImagePulls: false
eventRecordQPS: 0
kubeAPIQPS: 1000
kubeAPIBurst: 1000
imageGCHighThresholdPercent: 100
evictionHard:
  memory.available: 0%
  nodefs.available: 0%
  nodefs.inodesFree: 0%
  imagefs.available: 0%
  imagefs.inodesFree: 0%
`

func writeSettings(c *config) error {
	more, err := os.ReadFile(filepath.Join(hostDir, c.name()+"-kubelet.yaml"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	values := strings.NewReplacer("PAUSE", c.pause, "SUBNET", podSubnet(c.index), "CGROUP", c.cgroup+"/"+c.name())
	for name, text := range map[string]string{
		"containerd.toml":   containerdSettings,
		"cni/pods.conflist": networkSettings,
		"kubelet.yaml":      kubeletSettings + string(more),
		"resolv.conf":       "nameserver 10.0.0.10\n",
	} {
		path := filepath.Join("/run/node", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(values.Replace(text)), 0o600); err != nil {
			return err
		}
	}
	return nil
}
