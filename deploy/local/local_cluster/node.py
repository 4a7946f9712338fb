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

from . import cgroups, images, network, processes, programs, wait
from .addresses import Addresses
from .control_plane import ControlPlane
from .subprocesses import run
from .node_files import NodeFiles
from .paths import ClusterPaths
from .errors import UserError

START_SECONDS = 180
READY_SECONDS = 180
SOCKET = "run/containerd/containerd.sock"
KUBE_PROXY_HEALTH_PORT = 10256
DNS_PORT = 53
WORKERS = ("kubelet", "kube-proxy", "coredns")
DNS_RULES = [
    {"apiGroups": [""], "resources": ["services", "namespaces", "pods", "endpoints"], "verbs": ["list", "watch"]},
    {"apiGroups": ["discovery.k8s.io"], "resources": ["endpointslices"], "verbs": ["list", "watch"]},
]


@dataclass(frozen=True)
class Node:
    paths: ClusterPaths
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
        return {self.name: "pause"} | {self._component(program): program for program in ("containerd", *WORKERS)}

    def start(self) -> None:
        self._hold_namespaces()
        network.connect_node(self.addresses, self.index, self.pid)
        cgroups.create(self._cgroup)
        self._enter_and_run(str(programs.SOURCES / "node-setup"), self.name, str(self.folder), self.ip,
                            self.addresses.bridge_ip, *self._ways_to_other_pods())
        self._start_containerd()
        images.load(self.containerd_socket, images.write_sandbox(self.folder / "pause.tar", programs.find("pause")))
        for program in WORKERS:
            self.start_program(program)

    def _ways_to_other_pods(self) -> list[str]:
        """Subnet and next hop of every other node's pods, one after the other."""
        others = [index for index in range(1, self.control_plane.nodes + 1) if index != self.index]
        return [word for index in others for word in (self.addresses.node_pods(index), self.addresses.node_ip(index))]

    @property
    def folder(self) -> Path:
        return self.paths.node(self.name)

    @cached_property
    def pid(self) -> int:
        """The node's process 1, as the host numbers it."""
        holder = processes.running(self.paths, self.name, "pause")
        if holder is None:
            raise UserError(f"{self.name} of the cluster '{self.paths.name}' does not run: "
                          f"`deploy/cluster up --name {self.paths.name}` brings it back.")
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
        process = processes.start(self.paths, self.addresses.slot, self.name, [
            "unshare", "--mount", "--propagation=private", "--pid", "--net", "--uts", "--ipc", "--fork",
            "--kill-child", "--mount-proc", str(programs.find("pause")),
        ], directory=Path("/"))
        wait.until(f"{self.name}'s namespaces", lambda: bool(processes.running(self.paths, self.name, "pause")),
                   self.paths.log(self.name), START_SECONDS, process)

    def _enter(self) -> list[str]:
        return ["nsenter", f"--target={self.pid}", "--mount", "--uts", "--ipc", "--net", "--pid", "--"]

    def _enter_and_run(self, *command: str) -> str:
        return run(*self._enter(), *command)

    def _spawn(self, program: str, command: list[str]) -> subprocess.Popen:
        return processes.start(self.paths, self.addresses.slot, self._component(program),
                               [*self._enter(), *command], directory=Path("/"))

    def _log(self, program: str) -> Path:
        return self.paths.log(self._component(program))

    def _start_containerd(self) -> None:
        self._files.cni()
        process = self._spawn("containerd", ["containerd", f"--config={self._files.containerd()}",
                                             "--log-level=warn"])
        wait.until("containerd answering", self._containerd_answers, self._log("containerd"), START_SECONDS, process)

    def _containerd_answers(self) -> bool:
        command = ["ctr", f"--address={self.containerd_socket}", "--connect-timeout=1s", "version"]
        return subprocess.run(command, capture_output=True, check=False).returncode == 0

    def start_program(self, program: str) -> None:
        """One of those that work through containerd; the node's containers do not notice when it was away."""
        {"kubelet": self._start_kubelet, "kube-proxy": self._start_proxy, "coredns": self._start_dns}[program]()

    def _start_kubelet(self) -> None:
        began = int(time.time())
        kubeconfig = self.control_plane.kubeconfig_for(self.name, f"system:node:{self.name}", "system:nodes")
        kubelet = self._spawn("kubelet", [
            str(programs.find("kubelet")), f"--config={self._kubelet_config()}", f"--hostname-override={self.name}",
            f"--node-ip={self.ip}", "--root-dir=/var/lib/kubelet", "--cert-dir=/var/lib/kubelet/pki",
            f"--kubeconfig={kubeconfig}",
        ])
        wait.until(f"{self.name} becoming Ready", lambda: self.control_plane.api.node_is_ready(self.name, began),
                   self._log("kubelet"), READY_SECONDS, kubelet)

    def _start_proxy(self) -> None:
        kubeconfig = self.control_plane.kubeconfig_for("kube-proxy", "system:kube-proxy")
        proxy = self._spawn("kube-proxy", [str(programs.find("kube-proxy")),
                                           f"--config={self._files.kube_proxy(kubeconfig)}"])
        wait.until("kube-proxy's health", lambda: wait.is_healthy(self.ip, KUBE_PROXY_HEALTH_PORT),
                   self._log("kube-proxy"), START_SECONDS, proxy)

    def _start_dns(self) -> None:
        self._allow_dns()
        kubeconfig = self.control_plane.kubeconfig_for("coredns", "system:coredns")
        dns = self._spawn("coredns", [str(programs.find("coredns")), f"-conf={self._files.coredns(kubeconfig)}"])
        wait.until(f"DNS answering at {self.ip}", lambda: wait.accepts_connections(self.ip, DNS_PORT),
                   self._log("coredns"), START_SECONDS, dns)

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
