"""A node: containerd, kubelet, kube-proxy and CoreDNS in namespaces of their own.

One process holds the node's mount, process, network, host name and IPC namespaces, and is
process 1 of the node: when it ends, the kernel ends every program and container of the
node and drops its mounts, links and packet filter rules. The host keeps only the bridge
and the control group, and cluster.py removes those.
"""

import subprocess
import time
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from . import cgroups, images, network, processes, programs, waiting
from .addresses import Addresses
from .control_plane import ControlPlane
from .external import run
from .node_files import NodeFiles
from .places import Places
from .problem import Problem

START_SECONDS = 60
READY_SECONDS = 120
SOCKET = "run/containerd/containerd.sock"
KUBE_PROXY_HEALTH_PORT = 10256
DNS_PORT = 53
DNS_RULES = [
    {"apiGroups": [""], "resources": ["services", "namespaces", "pods", "endpoints"], "verbs": ["list", "watch"]},
    {"apiGroups": ["discovery.k8s.io"], "resources": ["endpointslices"], "verbs": ["list", "watch"]},
]


@dataclass(frozen=True)
class Node:
    places: Places
    addresses: Addresses
    control_plane: ControlPlane
    index: int

    @property
    def name(self) -> str:
        return f"node{self.index}"

    @property
    def ip(self) -> str:
        return self.addresses.node_ip(self.index)

    @property
    def components(self) -> dict[str, str]:
        """Component -> program."""
        programs_of_node = ("containerd", "kubelet", "kube-proxy", "coredns")
        return {self.name: "pause"} | {self._component(program): program for program in programs_of_node}

    def start(self) -> None:
        self._hold_namespaces()
        network.connect_node(self.addresses, self.index, self.pid)
        cgroups.create(self._cgroup)
        self._enter_and_run(str(programs.SOURCES / "node-setup"), self.name, str(self.folder), self.ip,
                            self.addresses.bridge_ip)
        self._start_containerd()
        images.load(self, images.write_sandbox(self.folder / "pause.tar", programs.find("pause")))
        self._start_the_rest()

    @property
    def folder(self) -> Path:
        return self.places.node(self.name)

    @cached_property
    def pid(self) -> int:
        """The node's process 1, as the host numbers it."""
        holder = processes.running(self.places, self.name, "pause")
        if holder is None:
            raise Problem(f"{self.name} of the cluster '{self.places.name}' does not run: "
                          f"`deploy/cluster up --name {self.places.name}` brings it back.")
        return holder.pid

    @property
    def containerd_socket(self) -> str:
        """The node's containerd, as the host reaches it."""
        return f"/proc/{self.pid}/root/{SOCKET}"

    @property
    def _cgroup(self) -> str:
        return f"{self.addresses.cgroup}/{self.name}"

    @cached_property
    def _files(self) -> NodeFiles:
        return NodeFiles(self.folder, self.name, self.index, self.addresses)

    def _component(self, program: str) -> str:
        return program if self.index == 1 else f"{program}-{self.name}"

    def _hold_namespaces(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        process = processes.start(self.places, self.addresses.slot, self.name, [
            "unshare", "--mount", "--propagation=private", "--pid", "--net", "--uts", "--ipc", "--fork",
            "--kill-child", "--mount-proc", str(programs.find("pause")),
        ], directory=Path("/"))
        waiting.until(f"{self.name}'s namespaces", lambda: bool(processes.running(self.places, self.name, "pause")),
                      self.places.log(self.name), START_SECONDS, process)

    def _enter(self) -> list[str]:
        return ["nsenter", f"--target={self.pid}", "--mount", "--uts", "--ipc", "--net", "--pid", "--"]

    def _enter_and_run(self, *command: str) -> str:
        return run(*self._enter(), *command)

    def _spawn(self, program: str, command: list[str]) -> subprocess.Popen:
        return processes.start(self.places, self.addresses.slot, self._component(program),
                               [*self._enter(), *command], directory=Path("/"))

    def _log(self, program: str) -> Path:
        return self.places.log(self._component(program))

    def _start_containerd(self) -> None:
        self._files.cni()
        process = self._spawn("containerd", ["containerd", f"--config={self._files.containerd()}",
                                             "--log-level=warn"])
        waiting.until("containerd answering", self._containerd_answers, self._log("containerd"), START_SECONDS, process)

    def _containerd_answers(self) -> bool:
        command = ["ctr", f"--address={self.containerd_socket}", "--connect-timeout=1s", "version"]
        return subprocess.run(command, capture_output=True, check=False).returncode == 0

    def _start_the_rest(self) -> None:
        plane, program = self.control_plane, programs.find
        began = int(time.time())
        kubelet = self._spawn("kubelet", [
            str(program("kubelet")), f"--config={self._kubelet_config()}", f"--hostname-override={self.name}",
            f"--node-ip={self.ip}", "--root-dir=/var/lib/kubelet", "--cert-dir=/var/lib/kubelet/pki",
            f"--kubeconfig={plane.kubeconfig_for(self.name, f'system:node:{self.name}', 'system:nodes')}",
        ])
        proxy_kubeconfig = plane.kubeconfig_for("kube-proxy", "system:kube-proxy")
        proxy = self._spawn("kube-proxy", [str(program("kube-proxy")),
                                           f"--config={self._files.kube_proxy(proxy_kubeconfig)}"])
        self._allow_dns()
        dns_kubeconfig = plane.kubeconfig_for("coredns", "system:coredns")
        dns = self._spawn("coredns", [str(program("coredns")), f"-conf={self._files.coredns(dns_kubeconfig)}"])
        waiting.until(f"DNS answering at {self.ip}", lambda: waiting.answers(self.ip, DNS_PORT),
                      self._log("coredns"), START_SECONDS, dns)
        waiting.until("kube-proxy's health", lambda: waiting.is_healthy(self.ip, KUBE_PROXY_HEALTH_PORT),
                      self._log("kube-proxy"), START_SECONDS, proxy)
        waiting.until(f"{self.name} becoming Ready", lambda: plane.api.node_is_ready(self.name, began),
                      self._log("kubelet"), READY_SECONDS, kubelet)

    def _kubelet_config(self) -> Path:
        authority = self.control_plane.authority
        serving = authority.server(f"{self.name}-serving", [self.name], [self.ip])
        return self._files.kubelet(authority.pair.certificate, serving, f"/{self._cgroup}")

    def _allow_dns(self) -> None:
        group, base = "rbac.authorization.k8s.io", "/apis/rbac.authorization.k8s.io/v1"
        name = "local-cluster:coredns"
        self.control_plane.api.create(f"{base}/clusterroles", {"metadata": {"name": name}, "rules": DNS_RULES})
        self.control_plane.api.create(f"{base}/clusterrolebindings", {
            "metadata": {"name": name},
            "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": name},
            "subjects": [{"apiGroup": group, "kind": "User", "name": "system:coredns"}],
        })
