"""Calls of poprun, and what they leave behind."""

import json
import os
import re
import subprocess
from pathlib import Path

import programs

DEADLINE_S = 300  # reached only when something is wrong, however busy the machine


def program(name, room="launcher"):
    return programs.program(name, room)


def until(condition, what):
    """As the tests of V-IPU wait, but longer: mpirun starts many processes."""
    return programs.until(condition, what, DEADLINE_S)


def processes_with(variable):
    """The ids of all processes that have this NAME=value in their environment."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if variable.encode() in (entry / "environ").read_bytes().split(b"\0"):
                    found.append(int(entry.name))
            except OSError:
                continue
    return found


def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
        return [int(word) for word in file.read().split()]


def in_place(folder, of):
    """Words before a command, for which this folder stands in the place of another. Only root can."""
    script = f'mount --bind "{folder}" "{of}" && exec "$@"'
    return ["unshare", "--mount", "sh", "-c", script, "sh"]


class Poprun:
    """Every process that comes of a call has MARK in its environment, so that orphans are found."""

    prefix = ()
    open_mpi = ""  # the folder of another one than the system's

    def __init__(self, folder):
        self.folder = folder
        self.temporary = folder / "tmp"
        self.temporary.mkdir()
        self.mark = f"POPRUN_TEST_MARK={folder}"

    def environment(self, **more):
        dropped = ("POPDIST_", "OMPI_", "PMIX_", "IPUOF_", "VIPU_", "POPLAR_", "POPTORCH_", "IPU_JOB_")
        kept = {k: v for k, v in os.environ.items() if not k.startswith(dropped)}
        name, value = self.mark.split("=", 1)
        if self.open_mpi:
            kept["PATH"] = f"{self.open_mpi}/bin:{kept['PATH']}"
        return kept | {name: value, "TMPDIR": str(self.temporary), "VIPU_CLI_CONFIG": os.devnull,
                       "IPUOF_RUN_DIR": str(self.folder / "ipuof")} | more  # fmt: skip

    def start(self, *words, environment=None, **options):
        return subprocess.Popen(
            [*self.prefix, program("poprun"), *map(str, words)], env=self.environment(**(environment or {})), text=True,
            **{"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | options,
        )  # fmt: skip

    def __call__(self, *words, expect=0, environment=None, **options):
        process = self.start(*words, environment=environment, **options)
        try:
            out, err = process.communicate(timeout=DEADLINE_S)
        except subprocess.TimeoutExpired:
            process.terminate()  # it ends what it has started, which the tests behind this one would stumble over
            raise
        assert process.returncode == expect, f"status {process.returncode}\n{out}\n{err}"
        return out, err

    def offline(self, *words, **options):
        return self("--offline-mode=on", *words, **options)

    def assert_clean(self):
        """Nothing runs any more, and no directory is left."""
        until(lambda: not processes_with(self.mark), f"{processes_with(self.mark)} end")
        until(lambda: not list(self.temporary.glob("poprun-cache-*")), "the executable cache is removed")


class Site:
    """poprun and a V-IPU controller, which vipu's settings name."""

    def __init__(self, poprun, server, **settings):
        self.poprun = poprun
        self.server = server
        self.settings = {"VIPU_CLI_API_HOST": "127.0.0.1", "VIPU_CLI_API_PORT": str(server.port)} | settings

    def vipu(self, *words):
        done = subprocess.run(
            [program("vipu", "vipu"), *words], env=self.poprun.environment(**self.settings, HOME=str(self.poprun.folder)),
            capture_output=True, text=True, check=False, timeout=DEADLINE_S,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout

    def specs(self):
        """What each partition is, by its id."""
        return {row["partition"]["id"]: row["partition"]["spec"] for row in json.loads(self.vipu("list", "partitions", "--showjson"))}

    def partitions(self):
        """IPUs and GCDs of each partition."""
        return {name: (len(spec["ipus"]), spec["num_gcds"]) for name, spec in self.specs().items()}

    def __call__(self, *words, environment=None, **options):
        return self.poprun(*words, environment=self.settings | (environment or {}), **options)


def untag(out):
    """The lines without mpirun's tags, behind which version 5 has a blank; sorted: instances print when they like. What mpirun
    reads apart, as a line and its end now and then, has a tag each."""
    return sorted(re.sub(r"\[1,\d+\]<stdout>: ?", "", line) for line in out.splitlines())
