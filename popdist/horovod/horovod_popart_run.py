"""horovodrun for PopART programs: `horovodrun [--gloo|--mpi] -np N [-H HOST:SLOTS,...] PROGRAM ARG...`.

It is a short way to write mpirun. --gloo and --mpi choose what carries Horovod's own messages and mean nothing
here: PopDist's collectives do. With any other option the official horovodrun is asked, if it is installed.
"""

import argparse
import difflib
import os
import shlex
import shutil
import sys
from importlib import metadata
from typing import Any, Callable, List, Mapping

FORWARDED = ("PATH", "LD_LIBRARY_PATH", "PYTHONPATH")

# Options of the official horovodrun that have no meaning here, by how their names begin, and what to do instead.
CURES = {
    "--min-np --max-np --slots --elastic --host-discovery --reset-limit --blacklist --cooldown":
        "runs that grow and shrink need the official horovodrun: pip install horovod",
    "--fusion --cycle --cache --hierarchical --no-hierarchical --autotune --timeline --num-nccl --thread-affinity --stall "
    "--no-stall --gloo-timeout --disable-cache --tcp --binding --log --no-log --mpi-threads --num-streams":
        "it tunes Horovod's own engine, which PopART programs do not use: remove it",
    "--start-timeout": "the processes wait for each other as long as it takes: remove it",
    "--config-file": "give the options on the command line",
    "--jsrun": "only mpirun starts PopART programs: remove it",
    "-cb --check-build": "see `horovodrun --version`, and `mpirun --version` for what carries the messages",
}  # fmt: skip


def port(text: str) -> int:
    number = int(text)
    if not 1 <= number <= 65535:
        raise argparse.ArgumentTypeError(f"there is no port {number}")
    return number


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog="horovodrun", allow_abbrev=False, usage="horovodrun -np N [-H HOST:SLOTS,... | --hostfile FILE] [OPTION...] PROGRAM ...",
        description="Starts N processes of a PopART program that uses horovod.popart.",
    )  # fmt: skip
    option: Callable[..., Any] = made.add_argument
    option("-v", "--version", action="version", version=f"horovod-popart {metadata.version('horovod-popart')}")
    option("-np", "--num-proc", type=int, metavar="N", dest="ranks", help="processes in all")
    option("-H", "--hosts", metavar="HOST:SLOTS,...", help="where they run (default: localhost:N)")
    option("-hostfile", "--hostfile", metavar="FILE", help="likewise, a line `HOST slots=SLOTS` for each host")
    option("-p", "--ssh-port", type=port, metavar="PORT", help="the port of ssh on the other hosts")
    option("-i", "--ssh-identity-file", metavar="FILE", help="the key that ssh shows there")
    option("--network-interfaces", metavar="NAME,...", help="those that carry messages between hosts")
    option("--output-filename", metavar="FOLDER", help="also write each process's output below it")
    option("--mpi-args", metavar="WORDS", default="", help="more words for mpirun")
    option("--gloo", action="store_true", help="accepted; the processes are started in the same way")
    option("--mpi", action="store_true", help="likewise")
    option("--verbose", action="store_true", help="print the mpirun command")
    option("program", nargs=argparse.REMAINDER, metavar="PROGRAM ...", help="the program and its arguments")
    return made


def command(chosen: argparse.Namespace, environment: Mapping[str, str]) -> List[str]:
    names = [*FORWARDED, *(name for name in environment if name.startswith("HOROVOD_"))]
    words = ["mpirun", "--allow-run-as-root", "--tag-output", "--bind-to", "none", "--map-by", "slot", "-np", str(chosen.ranks)]
    words += ["--hostfile", chosen.hostfile] if chosen.hostfile else ["-H", chosen.hosts or f"localhost:{chosen.ranks}"]
    ssh = ["-p", str(chosen.ssh_port)] if chosen.ssh_port else []
    ssh += ["-i", chosen.ssh_identity_file] if chosen.ssh_identity_file else []
    if ssh:
        words += ["--mca", "plm_rsh_args", " ".join(ssh)]
    if chosen.network_interfaces:
        for part in ("btl", "oob"):
            words += ["--mca", f"{part}_tcp_if_include", chosen.network_interfaces]
    if chosen.output_filename:
        words += ["--output-filename", chosen.output_filename]
    words += [word for name in names if name in environment for word in ("-x", name)]
    return [*words, *shlex.split(chosen.mpi_args), *chosen.program]


def cure(option: str) -> str:
    name = option.split("=")[0]
    for beginnings, what in CURES.items():
        if name.startswith(tuple(beginnings.split())):
            return f"{name} is not for PopART programs: {what}"
    known = [word for action in parser()._actions for word in action.option_strings]
    near = difflib.get_close_matches(name, known, 1)
    return f"{name} is not known" + (f"; did you mean {near[0]}?" if near else "; `horovodrun --help` lists what is")


def problems(chosen: argparse.Namespace) -> List[str]:
    found = []
    if chosen.ranks is None or chosen.ranks < 1:
        found.append("give the number of processes: -np 2")
    if not chosen.program:
        found.append("give a program: horovodrun -np 2 python train.py")
    if chosen.hosts and chosen.hostfile:
        found.append("-H and --hostfile exclude each other")
    if chosen.hostfile and not os.path.isfile(chosen.hostfile):
        found.append(f"the host file {chosen.hostfile} cannot be found")
    if not shutil.which("mpirun"):
        found.append("mpirun is not in PATH; install Open MPI (Debian: openmpi-bin)")
    return found


def ask_official(words: List[str]) -> None:
    try:
        from horovod.runner.launch import run_commandline
    except ImportError:
        return
    sys.argv[1:] = words
    sys.exit(run_commandline())


def main() -> None:
    words = sys.argv[1:]
    chosen, unknown = parser().parse_known_args(words)
    if unknown:
        ask_official(words)
        parser().error("; ".join(map(cure, unknown)))
    wrong = problems(chosen)
    if wrong:
        parser().error("; ".join(wrong))
    run = command(chosen, os.environ)
    if chosen.verbose:
        print(shlex.join(run), file=sys.stderr, flush=True)
    os.execvp(run[0], run)
