"""Programs that are each built from a Go module of their own, once per machine.

A folder beside this package pins the module. The program is kept in the cache under the hash of what pins it.
"""

import hashlib
import json
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from . import locks, paths
from .subprocesses import run
from .errors import UserError


@dataclass(frozen=True)
class GoProgram:
    """`name` names the program and its folder; `title` is used in messages."""

    name: str
    title: str
    package: str
    minutes: str
    tags: tuple[str, ...] = ()  # for the build

    @property
    def module(self) -> Path:
        return paths.REPOSITORY / "deploy" / "local" / self.name

    def path(self) -> Path:
        """Path of the program; builds it if it is not cached."""
        kept = self.cached_path()
        locks.build_once(kept, paths.cache_home() / f"{self.name}.lock", f"another command is building {self.title}",
                         lambda: self._build(kept))
        return kept

    def cached_path(self) -> Path:
        """Path in the cache; includes a hash of go.mod, go.sum, tags and main.go."""
        files = [self.module / "go.mod", self.module / "go.sum", *self.module.glob("main.go")]
        pins = b"\0".join([*(file.read_bytes() for file in files), *(tag.encode() for tag in self.tags)])
        return paths.cache_home() / f"{self.name}-{hashlib.sha256(pins).hexdigest()[:16]}"

    def _build(self, kept: Path) -> None:
        if not shutil.which("go"):
            raise UserError(f"Go is required to build {self.title}: install Go and put it in PATH.")
        print(f"building {self.title} from source (once per machine, about {self.minutes} on 2 cores)",
              file=sys.stderr, flush=True)
        new = kept.with_suffix(".new")
        run("nice", "env", "CGO_ENABLED=0", "go", "build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w",
            "-tags", ",".join(self.tags), "-o", str(new), self.package, directory=self.module)
        new.replace(kept)


def sources(pins: str, module: str) -> Path:
    """The sources of a Go module, in the version that the folder of this name beside this package pins."""
    printed = run("go", "mod", "download", "-json", module, directory=paths.REPOSITORY / "deploy" / "local" / pins)
    return Path(json.loads(printed)["Dir"])


def kubernetes_api() -> Path:
    """The OpenAPI document of the local Kubernetes, which comes with its sources."""
    return sources("kubernetes", "k8s.io/kubernetes") / "api" / "openapi-spec" / "swagger.json"


KWOK = GoProgram("kwok", "KWOK", "sigs.k8s.io/kwok/cmd/kwok", "2-3 minutes")
KUBECONFORM = GoProgram("kubeconform", "kubeconform", "github.com/yannh/kubeconform/cmd/kubeconform", "10 seconds")
PROMQL = GoProgram("promql", "the engine of Prometheus", ".", "1-2 minutes")
CERT_MANAGER = GoProgram("cert-manager", "cert-manager's controllers", ".", "3-5 minutes")
# Only Kubernetes service discovery.
PROMETHEUS = GoProgram("prometheus", "Prometheus", "github.com/prometheus/prometheus/cmd/prometheus", "5-8 minutes",
                       ("remove_all_sd", "enable_kubernetes_sd"))
