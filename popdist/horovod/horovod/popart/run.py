"""horovodrun for PopART programs: `horovodrun [--gloo|--mpi] -np N [-H HOST:SLOTS,...] PROGRAM ARG...`.

It is a short way to write mpirun. --gloo and --mpi choose what carries Horovod's own messages and mean nothing
here: PopDist's collectives do. With any other option the official horovodrun is asked, if it is installed.
"""

import argparse
import os
import shutil
import sys
from typing import List

FORWARDED = ("PATH", "LD_LIBRARY_PATH", "PYTHONPATH")


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(prog="horovodrun", allow_abbrev=False)
    made.add_argument("-np", "--num-proc", type=int, required=True, metavar="N", dest="ranks", help="processes in all")
    made.add_argument("-H", "--hosts", metavar="HOST:SLOTS,...", help="where they run (default: localhost:N)")
    made.add_argument("--gloo", action="store_true", help="accepted; the processes are started in the same way")
    made.add_argument("--mpi", action="store_true", help="likewise")
    made.add_argument("--verbose", action="store_true", help="print the command that is run")
    made.add_argument("program", nargs=argparse.REMAINDER, metavar="PROGRAM ...", help="the program and its arguments")
    return made


def command(chosen: argparse.Namespace, environment) -> List[str]:
    names = [*FORWARDED, *(name for name in environment if name.startswith("HOROVOD_"))]
    exports = [word for name in names if name in environment for word in ("-x", name)]
    return ["mpirun", "--allow-run-as-root", "--tag-output", "--bind-to", "none", "--map-by", "slot",
            "-np", str(chosen.ranks), "-H", chosen.hosts or f"localhost:{chosen.ranks}", *exports, *chosen.program]  # fmt: skip


def has_unknown(words: List[str]) -> bool:
    known = ("-np", "--num-proc", "-H", "--hosts", "--gloo", "--mpi", "--verbose", "-h", "--help")
    with_value = known[:4]
    at = 0
    while at < len(words) and words[at].startswith("-"):
        if words[at].split("=")[0] not in known:
            return True
        at += 2 if words[at] in with_value else 1
    return False


def ask_official(words: List[str]) -> None:
    try:
        from horovod.runner.launch import run_commandline
    except ImportError:
        parser().error(f"this horovodrun does not know {' '.join(words[:4])} ...; pip install horovod brings the official one")
    sys.argv[1:] = words
    sys.exit(run_commandline())


def main() -> None:
    words = sys.argv[1:]
    if has_unknown(words):
        ask_official(words)
    chosen = parser().parse_args(words)
    if chosen.ranks < 1 or not chosen.program:
        parser().error("give the number of processes and a program: horovodrun -np 2 python train.py")
    if not shutil.which("mpirun"):
        parser().error("mpirun is not in PATH; install Open MPI (Debian: openmpi-bin)")
    run = command(chosen, os.environ)
    if chosen.verbose:
        print(*run, file=sys.stderr, flush=True)
    os.execvp(run[0], run)
