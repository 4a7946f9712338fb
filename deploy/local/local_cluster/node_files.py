"""The configuration files of a node's programs."""

import json
from dataclasses import dataclass
from pathlib import Path

from .addresses import Addresses
from .certificates import Pair

SANDBOX_IMAGE = "ipu-operator.local/pause:1"
CAP_SYS_RESOURCE = 24


@dataclass(frozen=True)
class NodeFiles:
    folder: Path
    name: str
    index: int
    addresses: Addresses

    def containerd(self) -> Path:
        """Plug-ins that would make folders of their own on the host are off."""
        return self._write("containerd.toml", f"""version = 2
root = "/var/lib/containerd"
state = "/run/containerd"
disabled_plugins = [
  "io.containerd.internal.v1.opt", "io.containerd.internal.v1.tracing", "io.containerd.tracing.processor.v1.otlp",
  "io.containerd.snapshotter.v1.aufs", "io.containerd.snapshotter.v1.btrfs",
  "io.containerd.snapshotter.v1.devmapper", "io.containerd.snapshotter.v1.zfs",
]
[grpc]
  address = "/run/containerd/containerd.sock"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{SANDBOX_IMAGE}"
  restrict_oom_score_adj = {'false' if _has_capability(CAP_SYS_RESOURCE) else 'true'}
  netns_mounts_under_state_dir = true
  stream_server_address = "127.0.0.1"
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "overlayfs"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
        SystemdCgroup = false
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "/etc/cni/net.d"
""")

    def cni(self) -> Path:
        """A veth pair per pod, routed, not bridged: answers of a service in the same
        node then always pass the node's translation of addresses, which a bridge would
        let them miss on kernels without br_netfilter."""
        return self._write("etc/cni/net.d/10-local.conflist", json.dumps({
            "cniVersion": "0.4.0",
            "name": "local",
            "plugins": [
                {"type": "ptp", "ipMasq": False, "ipam": {
                    "type": "host-local",
                    "ranges": [[{"subnet": self.addresses.node_pods(self.index)}]],
                    "routes": [{"dst": "0.0.0.0/0"}],
                    "dataDir": "/var/lib/cni/networks",
                }},
                {"type": "portmap", "capabilities": {"portMappings": True}},
            ],
        }, indent=2))

    def kubelet(self, authority: Path, serving: Pair, cgroup: str) -> Path:
        """Nothing is evicted and no image collected for want of disk: images cannot be pulled again."""
        return self._write("kubelet.json", json.dumps({
            "apiVersion": "kubelet.config.k8s.io/v1beta1",
            "kind": "KubeletConfiguration",
            "authentication": {"anonymous": {"enabled": False}, "webhook": {"enabled": True},
                               "x509": {"clientCAFile": str(authority)}},
            "authorization": {"mode": "Webhook"},
            "tlsCertFile": str(serving.certificate),
            "tlsPrivateKeyFile": str(serving.key),
            "cgroupDriver": "cgroupfs",
            "cgroupRoot": cgroup,
            "failCgroupV1": False,
            "failSwapOn": False,
            "oomScoreAdj": 0,
            "clusterDomain": "cluster.local",
            "clusterDNS": [self.addresses.node_ip(self.index)],
            "resolvConf": str(self._write("resolv.conf", "# The node knows no name server beyond the cluster's.\n")),
            "containerRuntimeEndpoint": "unix:///run/containerd/containerd.sock",
            "volumePluginDir": "/var/lib/kubelet/volume-plugins",
            "evictionHard": {"memory.available": "100Mi", "nodefs.available": "1%", "imagefs.available": "1%",
                             "nodefs.inodesFree": "1%"},
            "imageGCHighThresholdPercent": 100,
            "imageMinimumGCAge": "8760h",
            "maxPods": 240,
            "serializeImagePulls": False,
            "registryPullQPS": 0,
            "kubeAPIQPS": 200,
            "kubeAPIBurst": 400,
            "eventRecordQPS": 0,
            "shutdownGracePeriod": "0s",
            "nodeStatusUpdateFrequency": "5s",
        }, indent=2))

    def kube_proxy(self, kubeconfig: Path) -> Path:
        return self._write("kube-proxy.json", json.dumps({
            "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
            "kind": "KubeProxyConfiguration",
            "clientConnection": {"kubeconfig": str(kubeconfig)},
            "mode": "iptables",
            "hostnameOverride": self.name,
            "clusterCIDR": self.addresses.pods,
            "oomScoreAdj": 0,
            "conntrack": {"maxPerCore": 0, "min": 0, "tcpEstablishedTimeout": "0s", "tcpCloseWaitTimeout": "0s"},
            "iptables": {"minSyncPeriod": "100ms"},
        }, indent=2))

    def coredns(self, kubeconfig: Path) -> Path:
        """Names beyond the cluster do not exist: the node has no way there."""
        address = self.addresses.node_ip(self.index)
        return self._write("Corefile", f"""cluster.local in-addr.arpa {{
    bind {address}
    errors
    cache 5
    kubernetes cluster.local in-addr.arpa {{
        kubeconfig {kubeconfig}
    }}
}}
. {{
    bind {address}
    errors
    template ANY ANY {{
        rcode NXDOMAIN
    }}
}}
""")

    def _write(self, name: str, text: str) -> Path:
        target = self.folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
        return target


def _has_capability(number: int) -> bool:
    rows = Path("/proc/self/status").read_text().splitlines()
    effective = next(row.split()[1] for row in rows if row.startswith("CapEff:"))
    return bool(int(effective, 16) >> number & 1)
