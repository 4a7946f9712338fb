"""Control planes of other Kubernetes versions, for tests of the oldest one that the operator supports.

The go.mod of a Kubernetes version pins its dependencies except for its staging modules. The programs are cached in a
folder for KUBEBUILDER_ASSETS.
"""

import json
import re
import shutil
import tempfile
from pathlib import Path

from . import locks, paths, programs
from .subprocesses import run
from .errors import UserError

# The Kubernetes programs of a cluster without a node; etcd comes from the ordinary build.
COMPONENTS = ("kube-apiserver", "kube-controller-manager", "kube-scheduler")


def control_plane(version: str) -> Path:
    """The folder with etcd and the control plane of this version, such as v1.29.2; built now if it is not cached."""
    if not re.fullmatch(r"v1\.\d+\.\d+", version):
        raise UserError(f"'{version}' is not a Kubernetes version: expected one such as v1.29.2.")
    home = paths.cache_home()
    folder = home / f"control-plane-{version}"
    locks.build_once(folder, home / "control-plane.lock", "another command is building a control plane",
                     lambda: _build(version, folder))
    return folder


def _build(version: str, folder: Path) -> None:
    programs.check_go()
    programs.say(f"building the control plane of Kubernetes {version} from source "
                 "(once per machine, about 5 minutes on 2 cores)")
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
    """Writes a Go module that requires the components, with the replacements of the version's own go.mod."""
    printed = run("go", "mod", "download", "-json", f"k8s.io/kubernetes@{version}", directory=module)
    upstream = (Path(json.loads(printed)["Dir"]) / "go.mod").read_text()
    staging = sorted(set(re.findall(r"^\s*(k8s\.io/[\w-]+) => \./staging/", upstream, re.MULTILINE)))
    go = re.search(r"^go (\S+)$", upstream, re.MULTILINE)
    lines = ["module control-plane", f"go {go[1]}", f"require k8s.io/kubernetes {version}"]
    lines += [f"replace {name} => {name} v0{version.removeprefix('v1')}" for name in staging]
    (module / "go.mod").write_text("\n".join(lines) + "\n")
    imports = "\n".join(f'import _ "k8s.io/kubernetes/cmd/{component}/app"' for component in COMPONENTS)
    (module / "components.go").write_text(f"package components\n\n{imports}\n")
