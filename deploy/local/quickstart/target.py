"""The cluster that quickstart works on: the local one, which it brings up, or one that is there already."""

import json
import os
import shlex
import shutil
import subprocess
from pathlib import Path

from local_cluster.places import REPOSITORY
from local_cluster.problem import Problem

from .stage import answer, must

CLUSTER = REPOSITORY / "deploy" / "cluster"


class Target:
    """kubectl and helm for one cluster. Without a context it is the local one."""

    def __init__(self, context: str | None):
        self.context = context
        self._programs: Path | None = None
        self._kubeconfig = ""

    @property
    def is_local(self) -> bool:
        return self.context is None

    def bring_up(self) -> None:
        if self.is_local:
            must("cluster", CLUSTER, "up", echo=True)
        self.find()

    def find(self) -> None:
        """Fails when there is no such cluster or it does not answer."""
        if self.is_local or not (shutil.which("kubectl") and shutil.which("helm")):
            self._programs = Path(answer(CLUSTER, "bin", limit_s=1800))
        if self.is_local:
            self._kubeconfig = answer(CLUSTER, "kubeconfig")
        self.kubectl("get", "namespace", "default", "-o", "name", "--request-timeout=20s")

    def kubectl_command(self, *words: str) -> list[str]:
        return [self._program("kubectl"), *self._where("--context"), *words]

    def kubectl(self, *words: str, stdin: str | None = None) -> str:
        return answer(*self.kubectl_command(*words), stdin=stdin)

    def get(self, *words: str) -> dict:
        return json.loads(self.kubectl("get", *words, "-o", "json"))

    def exists(self, *words: str) -> bool:
        return bool(self.kubectl("get", *words, "-o", "name", "--ignore-not-found"))

    def helm(self, *words: str) -> str:
        return answer(self._program("helm"), *self._where("--kube-context"), *words, limit_s=600)

    def said(self, *words: str) -> str:
        """What kubectl has to say, well or not: for a person who looks for a cause."""
        done = subprocess.run(self.kubectl_command(*words), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              check=False, timeout=60)
        return done.stdout.rstrip()

    def exports(self) -> list[str]:
        """The lines that let a shell use this cluster."""
        path = [f"export PATH={shlex.quote(str(self._programs))}:$PATH"] if self._programs else []
        return path + ([f"export KUBECONFIG={shlex.quote(self._kubeconfig)}"] if self.is_local else [])

    @property
    def short(self) -> str:
        """kubectl as a person types it after the exports."""
        return "kubectl" if self.is_local else f"kubectl --context {self.context}"

    def load(self, archive: str) -> None:
        must(f"load-{Path(archive).stem}", CLUSTER, "load", archive)

    def take_down(self) -> None:
        if not self.is_local:
            raise Problem(f"The cluster of context '{self.context}' is not quickstart's to take down.")
        must("down", CLUSTER, "down", echo=True)

    def _program(self, name: str) -> str:
        return str(self._programs / name) if self._programs else name

    def _where(self, option: str) -> list[str]:
        if self.is_local:
            return ["--kubeconfig", self._kubeconfig]
        return [option, self.context or ""]


def check_context(context: str) -> None:
    """Refuses a context that no kubeconfig has, before anything is built for it."""
    if not shutil.which("kubectl"):
        return  # kubectl is built first; it will tell
    known = answer("kubectl", "config", "get-contexts", "-o", "name").split()
    if context not in known:
        raise Problem(f"There is no context '{context}' in {os.environ.get('KUBECONFIG', '~/.kube/config')}: "
                      f"there is {', '.join(known) or 'none'}.")
