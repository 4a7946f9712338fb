"""Control planes of other Kubernetes versions, for tests of the oldest one that the operator supports.

A version is not pinned by a file here: its own go.mod pins what it is built from, and only its staging modules
need versions. The programs are kept in the cache in a folder that KUBEBUILDER_ASSETS can name.
"""

import json
import re
import shutil
import tempfile
from pathlib import Path

from . import locks, places, programs
from .external import run
from .problem import Problem

# What a cluster without a node runs of Kubernetes itself; etcd comes from the ordinary build.
COMPONENTS = ("kube-apiserver", "kube-controller-manager", "kube-scheduler")


def control_plane(version: str) -> Path:
    """The folder with etcd and the control plane of this version, such as v1.29.6; built now if it is not cached."""
    if not re.fullmatch(r"v1\.\d+\.\d+", version):
        raise Problem(f"'{version}' is not a Kubernetes version: expected one such as v1.29.6.")
    home = places.cache_home()
    folder = home / f"control-plane-{version}"
    if not folder.exists():
        with locks.held(home / "control-plane.lock", "another command is building a control plane"):
            if not folder.exists():
                _build(version, folder)
    return folder


def _build(version: str, folder: Path) -> None:
    programs.say(f"building the control plane of Kubernetes {version} from source "
                 "(once per machine, usually 5 minutes on 2 cores)")
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix="building-") as temporary:
        module, new = Path(temporary) / "module", Path(temporary) / "programs"
        module.mkdir()
        new.mkdir()
        _write_module(version, module)
        run("go", "mod", "tidy", directory=module)
        packages = [f"k8s.io/kubernetes/cmd/{component}" for component in COMPONENTS]
        run("nice", "env", "CGO_ENABLED=0", "go", "build", "-trimpath", "-buildvcs=false", "-ldflags",
            programs.version_flags(version), "-o", f"{new}/", *packages, directory=module)
        shutil.copy2(programs.cached() / "etcd", new / "etcd")
        run(str(new / "kube-apiserver"), "--version")
        new.rename(folder)


def _write_module(version: str, module: Path) -> None:
    """A module that needs the components, with the replacements that the version's own go.mod has."""
    printed = run("go", "mod", "download", "-json", f"k8s.io/kubernetes@{version}", directory=module)
    upstream = (Path(json.loads(printed)["Dir"]) / "go.mod").read_text()
    staging = sorted(set(re.findall(r"^\s*(k8s\.io/[\w-]+) => \./staging/", upstream, re.MULTILINE)))
    go = re.search(r"^go (\S+)$", upstream, re.MULTILINE)
    lines = ["module control-plane", f"go {go[1]}", f"require k8s.io/kubernetes {version}"]
    lines += [f"replace {name} => {name} v0{version.removeprefix('v1')}" for name in staging]
    (module / "go.mod").write_text("\n".join(lines) + "\n")
    imports = "\n".join(f'import _ "k8s.io/kubernetes/cmd/{component}/app"' for component in COMPONENTS)
    (module / "components.go").write_text(f"package components\n\n{imports}\n")
