"""The command line of deploy/quickstart."""

import argparse
import os
import signal
import sys
import time

import steps
from local_cluster.places import REPOSITORY
from local_cluster.problem import Problem

from . import example, images, installation
from .stage import Stages, must
from .target import Target, check_context

DESCRIPTION = """\
From nothing to a completed IPUJob: installs what is missing, builds, brings up a local Kubernetes,
installs the operator with Helm next to a V-IPU controller over simulated IPUs, runs
deploy/examples/digits.yaml and prints its log. Exit status 0 only if the job completed.
"""
EPILOG = """\
The first run builds Kubernetes (usually 4-6 minutes on 2 cores); later ones take under a minute, most
of it the job itself. Running it again takes up what changed in this tree, and runs the job anew.

`deploy/quickstart down` removes what it made. Without --context that is the local cluster, with
everything in it; caches and build/ stay. With --context it is the example job, the Helm release, its
namespace, and the label of the node; the definition of IPUJobs stays, because deleting it would delete
everybody's jobs.
"""
PROGRAMS = ["ipu-operator", "ipu-launch", "ipu-tools", "vipu-server", "vipu", "mpi-ring"]


class Parser(argparse.ArgumentParser):
    def error(self, message: str):
        raise Problem(f"{message[0].upper()}{message[1:]} (`deploy/quickstart --help` lists what there is).")


def main(arguments: list[str]) -> int:
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        os.chdir(REPOSITORY)
        chosen = _parser().parse_args(arguments)
        _check(chosen)
        (_down if chosen.verb == "down" else _up)(chosen)
        return 0
    except Problem as problem:
        print(f"deploy/quickstart: {problem}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("deploy/quickstart: interrupted; running it again goes on from here.", file=sys.stderr)
        return 130


def _interrupt(_number, _frame):
    raise KeyboardInterrupt


def _parser() -> argparse.ArgumentParser:
    parser = Parser(prog="deploy/quickstart", description=DESCRIPTION, epilog=EPILOG,
                    formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("verb", nargs="?", choices=["up", "down"], default="up", help="up is meant when it is left out")
    parser.add_argument("--context", metavar="NAME", help="use the existing cluster of this kubeconfig context")
    parser.add_argument("--image-registry", metavar="PREFIX", help="with --context: push the images there, such as "
                        "registry.example.com/team; without it, the commands to do so are printed")
    return parser


def _check(chosen) -> None:
    if chosen.image_registry and not chosen.context:
        raise Problem("--image-registry is for an existing cluster: say --context NAME too.")
    if chosen.image_registry and chosen.verb == "down":
        raise Problem("--image-registry has no meaning for down, which leaves the registry alone.")
    if chosen.context is not None:
        check_context(chosen.context)


def _up(chosen) -> None:
    begun = time.monotonic()
    target, stages = Target(chosen.context), Stages(7)
    with stages.stage("Installing missing packages", "a second, 1 min the first time"):
        groups = ["build", "images"] + (["cluster"] if target.is_local else [])
        must("prerequisites", "deploy/prerequisites", *groups, echo=True)
    with stages.stage("Building the programs", "a second, 1 min the first time"):
        must("configure", "cmake", "--preset", "release")
        must("build", "cmake", "--build", "--preset", "release", "--target", *PROGRAMS)
    with stages.stage(*_cluster_stage(target)):
        target.bring_up()
    with stages.stage("Making the container images and handing them over", "5 s, 1 min the first time"):
        archives = images.build()
        images.deliver(archives, target, chosen.image_registry)
    with stages.stage("Installing the operator and a V-IPU controller with Helm", "5 s, 15 s the first time"):
        installation.label_node(target)
        installation.install(target, archives, chosen.image_registry)
    with stages.stage(f"Running {example.FILE.relative_to(REPOSITORY)}", "10 s"):
        example.apply(target, chosen.image_registry)
        example.follow(target)
    with stages.stage(f"Reading the worker's log: {target.short} logs {example.NAME}-worker-0", "a second"):
        print(example.log(target))
    print(f"\nThe job completed; all of this took {steps.spent(begun)}.\n\n{_next(target)}")


def _cluster_stage(target: Target) -> tuple[str, str]:
    if target.is_local:
        return "Bringing up a local Kubernetes", "a second if it runs, 10 s if not, 4-6 min the first time"
    return f"Looking at the cluster of context {target.context}", "a second"


def _next(target: Target) -> str:
    down = "deploy/quickstart down" + ("" if target.is_local else f" --context {target.context}")
    kubectl = target.short
    return "\n".join(["Try next:", *(f"  {line}" for line in [
        *target.exports(),
        f"{kubectl} get ij",
        f"{kubectl} describe ij {example.NAME}",
        f"{kubectl} logs -l graphcore.ai/job-name={example.NAME} --prefix",
        f"{kubectl} delete ij {example.NAME} && {kubectl} apply -f {example.FILE.relative_to(REPOSITORY)}",
        f"{kubectl} wait --for=condition=Completed ipujob/{example.NAME} --timeout=3m",
        f"{kubectl} explain ipujob.spec",
        f"{kubectl} -n {installation.NAMESPACE} exec deployment/{installation.RELEASE}-vipu-server -- "
        "vipu list partitions",
        down,
    ])])


def _down(chosen) -> None:
    target = Target(chosen.context)
    if target.is_local:
        target.take_down()
        return
    target.find()
    _check_other_jobs(target)
    print("removing the example job, the release and what belongs to it (usually 10 s)", flush=True)
    if target.exists("crd", "ipujobs.graphcore.ai"):
        example.delete(target)
    installation.remove(target)
    print("removed; the definition stays, and goes with all jobs by: "
          f"{target.short} delete crd ipujobs.graphcore.ai")


def _check_other_jobs(target: Target) -> None:
    """Without an operator nobody could delete them: each waits for its IPUs to be given back."""
    if not target.exists("crd", "ipujobs.graphcore.ai"):
        return
    others = [f"{item['metadata']['namespace']}/{item['metadata']['name']}"
              for item in target.get("ipujobs", "--all-namespaces")["items"]]
    others = [name for name in others if name != f"default/{example.NAME}"]
    if others:
        raise Problem(f"There are other IPUJobs, which need the operator to end in order: {', '.join(others[:5])}"
                      f"{' and more' if len(others) > 5 else ''}. Delete them first.")
