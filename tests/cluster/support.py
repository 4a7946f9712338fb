"""Driving deploy/cluster as a person would, and looking at the machine around it."""

import hashlib
import io
import json
import os
import re
import subprocess
import tarfile
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
CLUSTER = str(REPOSITORY / "deploy" / "cluster")
BUSYBOX = Path("/bin/busybox")
IMAGE = "ipu-operator.local/busybox:1"


class Deployment:
    """deploy/cluster with a state folder of its own."""

    def __init__(self, state: Path, name: str, **environment: str):
        self.state, self.name = state, name
        self.folder = state / "ipu-operator" / name
        self.environment = os.environ | {"XDG_STATE_HOME": str(state)} | environment
        self.environment.pop("KUBECONFIG", None)

    def start(self, *arguments: str) -> subprocess.Popen:
        return subprocess.Popen([CLUSTER, *arguments], env=self.environment, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def run(self, command: str, *arguments: str) -> subprocess.CompletedProcess:
        return subprocess.run([CLUSTER, command, *arguments, "--name", self.name], env=self.environment, text=True,
                              capture_output=True, check=False, timeout=900)

    def must(self, command: str, *arguments: str) -> str:
        done = self.run(command, *arguments)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def kubectl(self, *arguments: str, stdin: str | None = None) -> str:
        done = subprocess.run([self.program("kubectl"), f"--kubeconfig={self.folder / 'kubeconfig'}", *arguments],
                              env=self.environment, text=True, input=stdin, capture_output=True, check=False,
                              timeout=120)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def program(self, name: str) -> str:
        done = subprocess.run([CLUSTER, "bin"], env=self.environment, text=True, capture_output=True, check=True)
        return str(Path(done.stdout.strip()) / name)

    @property
    def slot(self) -> int:
        return json.loads((self.folder / "cluster.json").read_text())["slot"]

    def processes(self, program: str = "") -> list[int]:
        """The processes marked as this cluster's, of that program or of any."""
        mark = f"IPU_OPERATOR_LOCAL_CLUSTER={self.folder}\0".encode()
        return [pid for pid in all_processes() if mark in read(f"/proc/{pid}/environ")
                and (not program or read(f"/proc/{pid}/comm").decode().strip() == program[:15])]


def all_processes() -> list[int]:
    return [int(entry) for entry in os.listdir("/proc") if entry.isdigit()]


def read(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError:
        return b""


def traces(deployment: Deployment, slot: int) -> dict[str, list[str]]:
    """Everything on this machine that shows that cluster: nothing, once it is down."""
    shows = re.compile(rf"ipuop-{slot}\b|\b10\.{slot}\.|{re.escape(str(deployment.folder))}")
    found = {
        "links": output("ip", "link").splitlines(),
        "routes": output("ip", "route", "show", "table", "all").splitlines(),
        "mounts": Path("/proc/self/mountinfo").read_text().splitlines(),
        "packet filter": [line for program in ("iptables-save", "iptables-legacy-save")
                          for line in output(program).splitlines()],
        "control groups": [folder for folder, _, _ in os.walk("/sys/fs/cgroup")],
        "command lines": [read(f"/proc/{pid}/cmdline").decode(errors="replace").replace("\0", " ")
                          for pid in all_processes() if pid != os.getpid()],
        "files": [str(path) for path in deployment.folder.glob("**/*")],
    }
    kept = {kind: [line for line in lines if shows.search(line)] for kind, lines in found.items()}
    kept["processes"] = [str(pid) for pid in deployment.processes()]
    return {kind: lines for kind, lines in kept.items() if lines}


def machine() -> dict[str, set[str]]:
    """What a forgetful cluster would leave behind without a name on it. Other clusters may come
    and go meanwhile, so what says it is theirs is left out."""
    def named(kind: str) -> set[str]:
        return {link["ifname"] for link in json.loads(output("ip", "-json", "link", "show", "type", kind) or "[]")
                if "ifname" in link and not link["ifname"].startswith("ipuop-")}

    return {
        "veths": named("veth"),
        "bridges": named("bridge"),
        "named namespaces": set(output("ip", "netns", "list").split()),
        "mounts": {line.split()[4] for line in Path("/proc/self/mountinfo").read_text().splitlines()
                   if re.search(r"kubelet|containerd|netns|/run/|/cni", line)},
        "kubepods": {folder for folder, _, _ in os.walk("/sys/fs/cgroup")
                     if "kubepods" in folder and "ipuop-" not in folder},
    }


def namespace_members(link: str) -> list[int]:
    """The processes in that network namespace ('net:[...]')."""
    members = []
    for pid in all_processes():
        try:
            if os.readlink(f"/proc/{pid}/ns/net") == link:
                members.append(pid)
        except OSError:
            continue  # ended meanwhile
    return members


def output(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout


def write_busybox_image(target: Path) -> Path:
    """A docker-archive of the static busybox and its names."""
    names = [name for name in output(str(BUSYBOX), "--list").split() if name != "busybox"]
    layer = io.BytesIO()
    with tarfile.open(fileobj=layer, mode="w") as tar:
        _add(tar, "bin/busybox", BUSYBOX.read_bytes(), 0o755)
        for name in names:
            link = tarfile.TarInfo(f"bin/{name}")
            link.type, link.linkname = tarfile.SYMTYPE, "busybox"
            tar.addfile(link)
    digest = "sha256:" + hashlib.sha256(layer.getvalue()).hexdigest()
    config = {"architecture": "amd64", "os": "linux", "config": {"Env": ["PATH=/bin"]},
              "rootfs": {"type": "layers", "diff_ids": [digest]}}
    manifest = [{"Config": "config.json", "RepoTags": [IMAGE], "Layers": ["layer.tar"]}]
    with tarfile.open(target, "w") as tar:
        _add(tar, "manifest.json", json.dumps(manifest).encode())
        _add(tar, "config.json", json.dumps(config).encode())
        _add(tar, "layer.tar", layer.getvalue())
    return target


def _add(tar: tarfile.TarFile, name: str, content: bytes, mode: int = 0o644) -> None:
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = len(content), mode
    tar.addfile(entry, io.BytesIO(content))


def pod(name: str, script: str, labels: dict | None = None, container: dict | None = None, **spec) -> dict:
    return {
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": labels or {}},
        "spec": {"restartPolicy": "Never", "terminationGracePeriodSeconds": 0,
                 "containers": [{"name": "main", "image": IMAGE, "command": ["sh", "-euc", script]} | (container or {})]}
                | spec,
    }
