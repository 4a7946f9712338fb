"""Programs under the real mpirun, started as poprun starts them: one app context per instance."""

import os
import re
import subprocess
from pathlib import Path

DEADLINE_S = 300  # reached only when something is wrong, however busy the machine
BUILD = Path(__file__).resolve().parents[2] / os.environ.get("BUILD_DIR", "build/dev")


def sanitizer_flags():
    """What the build that is tested was compiled with to find bad memory; empty for most builds."""
    flags = re.search(r"^CMAKE_C_FLAGS:STRING=(.*-fsanitize=address.*)$", (BUILD / "CMakeCache.txt").read_text(), re.M)
    return flags[1] if flags else ""


def sanitized(environment):
    """A program that was compiled without a sanitizer (Python) loads its libraries first. What Python keeps to its end
    is no leak of ours."""
    found = [subprocess.run(["gcc", f"-print-file-name=lib{name}.so"], check=True, capture_output=True, text=True).stdout.strip()
             for name in ("asan", "ubsan")]  # fmt: skip
    return environment | {"LD_PRELOAD": ":".join(found), "ASAN_OPTIONS": "detect_leaks=0"}


def clean_environment(**more):
    """This process's environment without what a launcher may have left in it."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("POPDIST_", "OMPI_", "PMIX_"))}
    return (sanitized(kept) if sanitizer_flags() else kept) | more


def mpirun_words(instances, words, replicas=None, with_popdist=True, transport="self,vader,tcp", **variables):
    """The command line; replicas are those of all instances."""
    total = replicas or instances
    local = total // instances
    command = ["mpirun", "--bind-to", "none", "--allow-run-as-root", "--oversubscribe",
               "--mca", "btl", transport, "--mca", "oob_tcp_if_include", "lo", "--mca", "btl_tcp_if_include", "lo"]  # fmt: skip
    for index in range(instances):
        given = dict(variables)
        if with_popdist:
            given |= {
                "POPDIST_NUM_TOTAL_REPLICAS": total,
                "POPDIST_NUM_IPUS_PER_REPLICA": 1,
                "POPDIST_NUM_LOCAL_REPLICAS": local,
                "POPDIST_UNIFORM_REPLICAS_PER_INSTANCE": 1,
                "POPDIST_REPLICA_INDEX_OFFSET": index * local,
                "POPDIST_LOCAL_INSTANCE_INDEX": index,
            }
        exports = [word for name, value in given.items() for word in ("-x", f"{name}={value}")]
        command += [":"] * (index > 0) + ["-np", "1", *exports, *map(str, words)]
    return command


def mpirun(instances, words, expect=0, environment=None, **options):
    """Runs it to its end and returns the standard output; the error output is shown when it fails."""
    done = subprocess.run(
        mpirun_words(instances, words, **options), env=environment or clean_environment(),
        capture_output=True, text=True, check=False, timeout=DEADLINE_S,
    )  # fmt: skip
    assert done.returncode == expect, f"status {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout
