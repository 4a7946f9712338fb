"""etcd, the API server, the controller manager and the scheduler, as processes of the host."""

import json
import subprocess
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from . import processes, programs, wait
from .addresses import Addresses
from .api import Api
from .certificates import Authority, Pair, write_kubeconfig
from .paths import ClusterPaths

LOOPBACK = "127.0.0.1"
READY_SECONDS = 180
# Clusters with several nodes are used to test the loss of one.
LOSES_NODES_SOON = ["--node-monitor-grace-period=30s"]
# Nodes that a test simulates have no kubelet that reports every few seconds; after 50 s the controller manager would
# mark them and their pods not ready.
NEVER_LOSES_NODES = ["--node-monitor-grace-period=24h"]
# The default of 15 s makes tests of autoscaling slow.
SCALES_SOON = ["--horizontal-pod-autoscaler-sync-period=2s"]
# Clusters without a node serve component tests and benchmarks, which the default limits of 20 and 50 requests a
# second would dominate.
UNLIMITED = ["--kube-api-qps=2000", "--kube-api-burst=4000"]

# Requests without bodies; those of the cluster's own controllers are left out.
AUDITED = [{"level": "None", "userGroups": ["system:serviceaccounts:kube-system"]},
           {"level": "Metadata", "userGroups": ["system:serviceaccounts"], "omitStages": ["RequestReceived"]}]
AUDIT_MEGABYTES = 1000


@dataclass(frozen=True)
class ControlPlane:
    paths: ClusterPaths
    addresses: Addresses
    nodes: int
    bare: bool
    audit: bool

    @cached_property
    def authority(self) -> Authority:
        return Authority(self.paths.pki)

    @property
    def host(self) -> str:
        """With nodes, the bridge's address, which nodes and host can reach."""
        return self.addresses.bridge_ip if self.nodes else LOOPBACK

    @property
    def server(self) -> str:
        return f"https://{self.host}:{self.addresses.api_port}"

    @property
    def components(self) -> dict[str, str]:
        """Component -> program."""
        names = ["etcd", "kube-apiserver"]
        if not self.bare:
            names += ["kube-controller-manager", "kube-scheduler"]
        return {name: name for name in names}

    @cached_property
    def api(self) -> Api:
        return Api(self.host, self.addresses.api_port, self.authority.pair.certificate, self._admin())

    def prepare(self) -> None:
        """Keys, certificates and the administrator's kubeconfig."""
        self.authority.create()
        write_kubeconfig(self.paths.kubeconfig, f"ipu-{self.paths.name}", self.server, self.authority, self._admin())

    def start_store(self) -> None:
        address, peer = (f"http://{LOOPBACK}:{port}" for port in
                         (self.addresses.etcd_port, self.addresses.etcd_peer_port))
        self.paths.etcd.mkdir(mode=0o700, exist_ok=True)
        process = self._spawn("etcd", [
            "--name=local", f"--data-dir={self.paths.etcd}", "--unsafe-no-fsync",
            f"--listen-client-urls={address}", f"--advertise-client-urls={address}",
            f"--listen-peer-urls={peer}", f"--initial-advertise-peer-urls={peer}", f"--initial-cluster=local={peer}",
            "--quota-backend-bytes=4294967296", "--auto-compaction-retention=10m", "--log-level=warn",
        ])
        # etcd listens before it has read its data.
        wait.until("etcd's health", lambda: wait.is_healthy(LOOPBACK, self.addresses.etcd_port, "/health"),
                   self.paths.log("etcd"), READY_SECONDS, process)

    def start_servers(self) -> None:
        """Starts the API server and, once it is ready, the controller manager and the scheduler."""
        self.start("kube-apiserver")
        if not self.bare:
            self.start("kube-controller-manager")
            self.start("kube-scheduler")
            wait.until("The service account of the default namespace",
                       lambda: self.api.exists("/api/v1/namespaces/default/serviceaccounts/default"),
                       self.paths.log("kube-controller-manager"), READY_SECONDS)

    def start(self, component: str) -> None:
        """One of the servers, once etcd runs."""
        if component == "kube-apiserver":
            process = self._spawn(component, self._api_server_options())
            wait.until("The API server's readiness", self.api.is_ready, self.paths.log(component),
                       READY_SECONDS, process)
        elif component == "kube-controller-manager":
            self._start_worker(component, self._controller_manager_options(), self.addresses.controller_manager_port)
        else:
            self._start_worker(component, self._scheduler_options(), self.addresses.scheduler_port)

    def kubeconfig_for(self, component: str, user: str, group: str = "") -> Path:
        """Writes the component's kubeconfig."""
        client = self.authority.client(component, user, group)
        return write_kubeconfig(self.paths.pki / f"{component}.kubeconfig", self.paths.name, self.server,
                                self.authority, client)

    def _admin(self) -> Pair:
        return self.authority.client("admin", "admin", "system:masters")

    def _api_server_options(self) -> list[str]:
        own = self.addresses
        serving = self.authority.server(
            "kube-apiserver",
            ["localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc",
             "kubernetes.default.svc.cluster.local"],
            [LOOPBACK, own.kubernetes_service_ip, own.bridge_ip])
        to_kubelet = self.authority.client("kube-apiserver-kubelet-client", "kube-apiserver", "system:masters")
        front_proxy = self.authority.client("front-proxy", "front-proxy")
        authority, key = self.authority.pair, self.authority.service_account_key
        return [
            f"--bind-address={self.host}", f"--secure-port={own.api_port}", f"--advertise-address={own.bridge_ip}",
            f"--etcd-servers=http://{LOOPBACK}:{own.etcd_port}", f"--service-cluster-ip-range={own.services}",
            f"--tls-cert-file={serving.certificate}", f"--tls-private-key-file={serving.key}",
            f"--client-ca-file={authority.certificate}",
            f"--kubelet-client-certificate={to_kubelet.certificate}", f"--kubelet-client-key={to_kubelet.key}",
            f"--kubelet-certificate-authority={authority.certificate}",
            "--kubelet-preferred-address-types=InternalIP",
            f"--requestheader-client-ca-file={authority.certificate}", "--requestheader-allowed-names=front-proxy",
            "--requestheader-username-headers=X-Remote-User", "--requestheader-group-headers=X-Remote-Group",
            "--requestheader-extra-headers-prefix=X-Remote-Extra-",
            f"--proxy-client-cert-file={front_proxy.certificate}", f"--proxy-client-key-file={front_proxy.key}",
            "--service-account-issuer=https://kubernetes.default.svc.cluster.local",
            f"--service-account-key-file={key}", f"--service-account-signing-key-file={key}",
            "--authorization-mode=Node,RBAC", "--allow-privileged=true", "--profiling=false",
            "--enable-admission-plugins=NodeRestriction,OwnerReferencesPermissionEnforcement",
        ] + (self._audit_options() if self.audit else [])

    def _audit_options(self) -> list[str]:
        policy = self.paths.folder / "audit-policy.json"
        policy.write_text(json.dumps({"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "rules": AUDITED}))
        return [f"--audit-policy-file={policy}", f"--audit-log-path={self.paths.log('audit')}",
                f"--audit-log-maxsize={AUDIT_MEGABYTES}"]

    def _controller_manager_options(self) -> list[str]:
        kubeconfig = self.kubeconfig_for("kube-controller-manager", "system:kube-controller-manager")
        return self._worker_options(kubeconfig, self.addresses.controller_manager_port) + [
            "--use-service-account-credentials", f"--root-ca-file={self.authority.pair.certificate}",
            f"--service-account-private-key-file={self.authority.service_account_key}",
            *SCALES_SOON, *self._patience_with_nodes(), *self._signing_options(),
        ]

    def _signing_options(self) -> list[str]:
        """Only kubelets request certificates. Each of the four signers takes one of the 128 inotify instances that Linux
        grants a user, so without nodes there are none."""
        signer = self.authority.pair
        options = [f"--cluster-signing-cert-file={signer.certificate}", f"--cluster-signing-key-file={signer.key}"]
        return options if self.nodes else []

    def _patience_with_nodes(self) -> list[str]:
        if self.nodes == 0:
            return NEVER_LOSES_NODES
        return LOSES_NODES_SOON if self.nodes > 1 else []

    def _scheduler_options(self) -> list[str]:
        kubeconfig = self.kubeconfig_for("kube-scheduler", "system:kube-scheduler")
        return self._worker_options(kubeconfig, self.addresses.scheduler_port)

    def _worker_options(self, kubeconfig: Path, port: int) -> list[str]:
        return [
            f"--kubeconfig={kubeconfig}", f"--authentication-kubeconfig={kubeconfig}",
            f"--authorization-kubeconfig={kubeconfig}", f"--bind-address={LOOPBACK}", f"--secure-port={port}",
            "--leader-elect=false", "--profiling=false",
        ] + ([] if self.nodes else UNLIMITED)

    def _start_worker(self, component: str, options: list[str], port: int) -> None:
        process = self._spawn(component, options)
        wait.until(f"{component} listening on {LOOPBACK}:{port}", lambda: wait.accepts_connections(LOOPBACK, port),
                   self.paths.log(component), READY_SECONDS, process)

    def _spawn(self, component: str, options: list[str]) -> subprocess.Popen:
        return processes.start(self.paths, self.addresses.slot, component,
                               [str(programs.find(component)), *options], directory=self.paths.folder)
