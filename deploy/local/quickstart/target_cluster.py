"""The cluster that quickstart installs to: the local one, which it starts, or an existing one."""

import json
import os
import shlex
import shutil
import subprocess
from pathlib import Path

from local_cluster.paths import REPOSITORY
from local_cluster.errors import UserError

from .progress import output_of, run_checked

CLUSTER = REPOSITORY / "deploy" / "cluster"


class TargetCluster:
    """kubectl and helm for one cluster: that of a kubeconfig context, or the local one if context is None."""

    def __init__(self, context: str | None):
        self.context = context
        self._programs: Path | None = None
        self._kubeconfig = ""

    @property
    def is_local(self) -> bool:
        return self.context is None

    def start(self) -> None:
        if self.is_local:
            run_checked("cluster", CLUSTER, "up", echo=True)
        self.connect()

    def connect(self) -> None:
        """Finds kubectl, helm and the kubeconfig; raises UserError if the API server does not respond."""
        if self.is_local or not (shutil.which("kubectl") and shutil.which("helm")):
            self._programs = Path(output_of(CLUSTER, "bin", limit_s=1800))
        if self.is_local:
            self._kubeconfig = output_of(CLUSTER, "kubeconfig")
        self.kubectl("get", "namespace", "default", "-o", "name", "--request-timeout=20s")

    def kubectl_command(self, *words: str) -> list[str]:
        return [self._program("kubectl"), *self._where("--context"), *words]

    def kubectl(self, *words: str, stdin: str | None = None) -> str:
        return output_of(*self.kubectl_command(*words), stdin=stdin)

    def get(self, *words: str) -> dict:
        return json.loads(self.kubectl("get", *words, "-o", "json"))

    def exists(self, *words: str) -> bool:
        return bool(self.kubectl("get", *words, "-o", "name", "--ignore-not-found"))

    def helm(self, *words: str) -> str:
        return output_of(self._program("helm"), *self._where("--kube-context"), *words, limit_s=600)

    def report(self, *words: str) -> str:
        """Output and errors of kubectl, whatever its exit status, for a failure report."""
        done = subprocess.run(self.kubectl_command(*words), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              check=False, timeout=60)
        return done.stdout.rstrip()

    def exports(self) -> list[str]:
        """Shell commands that select this cluster."""
        path = [f"export PATH={shlex.quote(str(self._programs))}:$PATH"] if self._programs else []
        return path + ([f"export KUBECONFIG={shlex.quote(self._kubeconfig)}"] if self.is_local else [])

    @property
    def short(self) -> str:
        """The kubectl command to type after the exports."""
        return "kubectl" if self.is_local else f"kubectl --context {self.context}"

    def load(self, archive: str) -> None:
        run_checked(f"load-{Path(archive).stem}", CLUSTER, "load", archive)

    def delete(self) -> None:
        if not self.is_local:
            raise UserError(f"The cluster of context '{self.context}' was not created by quickstart and is kept.")
        run_checked("down", CLUSTER, "down", echo=True)

    def _program(self, name: str) -> str:
        return str(self._programs / name) if self._programs else name

    def _where(self, option: str) -> list[str]:
        if self.is_local:
            return ["--kubeconfig", self._kubeconfig]
        return [option, self.context or ""]


def check_context(context: str) -> None:
    """Raises UserError for a context that is in no kubeconfig, before anything is built."""
    if not shutil.which("kubectl"):
        return  # checked by kubectl itself, once it is built
    known = output_of("kubectl", "config", "get-contexts", "-o", "name").split()
    if context not in known:
        raise UserError(f"Context '{context}' not found in {os.environ.get('KUBECONFIG', '~/.kube/config')}, "
                      f"which has: {', '.join(known) or 'none'}.")
