"""Command line of deploy/quickstart."""

import argparse
import os
import signal
import sys
import time
from contextlib import nullcontext

import long_command
from local_cluster.paths import REPOSITORY
from local_cluster.errors import UserError

from . import example, images, installation, local_run
from .progress import Stages, run_checked
from .target_cluster import TargetCluster, check_context

DESCRIPTION = """\
Runs a first IPUJob from scratch: installs missing packages, builds the programs, and runs
deploy/examples/digits.yaml without a cluster (ipu-run). Then it starts a local Kubernetes cluster,
installs the operator and a V-IPU controller with simulated IPUs by Helm, runs the job there and prints
its log. The exit status is 0 only if the job completed.
"""
EPILOG = """\
The first run builds Kubernetes (about 10 minutes on 2 cores); later runs take under a minute. Run it
again to apply changes in this tree and to restart the job.

`deploy/quickstart down` removes what quickstart created. Without --context, this is the local cluster
and everything in it; caches and build/ are kept. With --context, it is the example job, the Helm release,
its namespace and the node label. The CustomResourceDefinition is kept, because deleting it deletes all
IPUJobs.
"""
PROGRAMS = ["ipu-operator", "ipu-launch", "ipu-tools", "vipu-server", "vipu", *local_run.TARGETS]


class Parser(argparse.ArgumentParser):
    def error(self, message: str):
        raise UserError(f"{message[0].upper()}{message[1:]} (see `deploy/quickstart --help`).")


def main(arguments: list[str]) -> int:
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        os.chdir(REPOSITORY)
        chosen = _parser().parse_args(arguments)
        _check(chosen)
        (_down if chosen.command == "down" else _up)(chosen)
        return 0
    except UserError as error:
        print(f"deploy/quickstart: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("deploy/quickstart: interrupted. Run it again to continue.", file=sys.stderr)
        return 130


def _interrupt(_number, _frame):
    raise KeyboardInterrupt


def _parser() -> argparse.ArgumentParser:
    parser = Parser(prog="deploy/quickstart", description=DESCRIPTION, epilog=EPILOG,
                    formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", nargs="?", choices=["up", "down"], default="up", help="default: up")
    parser.add_argument("--local", action="store_true", help="stop after the job without a cluster, which needs no Kubernetes")
    parser.add_argument("--context", metavar="NAME", help="use the existing cluster of this kubeconfig context")
    parser.add_argument("--image-registry", metavar="PREFIX", help="with --context: push the images to this registry, such as "
                        "registry.example.com/team (default: print the commands to push them)")
    return parser


def _check(chosen) -> None:
    if chosen.image_registry and not chosen.context:
        raise UserError("--image-registry requires an existing cluster; also pass --context NAME.")
    if chosen.image_registry and chosen.command == "down":
        raise UserError("--image-registry does not apply to down; images in the registry are kept.")
    if chosen.local and (chosen.context or chosen.command == "down"):
        raise UserError("--local starts no cluster; leave out --context and down.")
    if chosen.context is not None:
        check_context(chosen.context)


def _up(chosen) -> None:
    begun = time.monotonic()
    target = TargetCluster(chosen.context)
    stages = Stages(3 if chosen.local else 8 if target.is_local else 7)
    with stages.stage("Installing packages", "1 s, first run 1 min"):
        groups = ["build"] + ([] if chosen.local else ["images"]) + (["examples"] if target.is_local else []) + \
            (["cluster"] if target.is_local and not chosen.local else [])
        run_checked("prerequisites", "deploy/prerequisites", *groups, echo=True)
    with stages.stage("Building the programs", "1 s, first run 1 min"):
        run_checked("configure", "cmake", "--preset", "release")
        run_checked("build", "cmake", "--build", "--preset", "release", "--target",
                    *(local_run.TARGETS if chosen.local else PROGRAMS))
    if chosen.local:
        _run_without_cluster(stages)
        print(f"\nDone in {long_command.format_duration(begun)}: the job completed.\n\n{_next_locally()}")
        return
    with local_run.kubernetes_being_built() if target.is_local else nullcontext():
        if target.is_local:
            _run_without_cluster(stages)
        with stages.stage(*_cluster_stage(target)):
            target.start()
    with stages.stage("Building and loading the container images", "5 s, first run 1 min"):
        archives = images.build()
        images.deliver(archives, target, chosen.image_registry)
    with stages.stage("Installing the operator and a V-IPU controller with Helm", "5 s, first run 15 s"):
        installation.label_node(target)
        installation.install(target, archives, chosen.image_registry)
    with stages.stage(f"Running {example.FILE.relative_to(REPOSITORY)}", "10 s"):
        example.apply(target, chosen.image_registry)
        example.follow(target)
    with stages.stage(f"Showing the worker's log: {target.short} logs {example.NAME}-worker-0", "1 s"):
        print(example.log(target))
    print(f"\nDone in {long_command.format_duration(begun)}: the job completed.\n\n{_next(target)}")


def _run_without_cluster(stages: Stages) -> None:
    with stages.stage(f"Running {example.FILE.relative_to(REPOSITORY)} without a cluster: ipu-run", "2 s"):
        local_run.run()


def _next_locally() -> str:
    return "\n".join(["Try next:", *(f"  {line}" for line in [
        f"{' '.join(local_run.ENVIRONMENT[:1])} build/release/local/ipu-run --bind {local_run.FILES.relative_to(REPOSITORY)}:/examples "
        f"{example.FILE.relative_to(REPOSITORY)}",
        "build/release/local/ipu-run --help",
        "deploy/quickstart",
    ])])


def _cluster_stage(target: TargetCluster) -> tuple[str, str]:
    if target.is_local:
        return "Starting a local Kubernetes cluster", "10 s, 1 s if it runs, first run 10 min"
    return f"Checking the cluster of context {target.context}", "1 s"


def _next(target: TargetCluster) -> str:
    down = "deploy/quickstart down" + ("" if target.is_local else f" --context {target.context}")
    kubectl = target.short
    return "\n".join(["Try next:", *(f"  {line}" for line in [
        *target.exports(),
        f"{kubectl} get ij",
        f"{kubectl} describe ij {example.NAME}",
        f"{kubectl} logs -l graphcore.ai/job-name={example.NAME} --prefix",
        f"{kubectl} delete ij {example.NAME} && {kubectl} apply -f {example.FILE.relative_to(REPOSITORY)}",
        f"{kubectl} wait --for=condition=Finished ipujob/{example.NAME} --timeout=3m",
        f"{kubectl} explain ipujob.spec",
        f"{kubectl} -n {installation.NAMESPACE} exec deployment/{installation.RELEASE}-vipu-server -- "
        "vipu list partitions",
        down,
    ])])


def _down(chosen) -> None:
    target = TargetCluster(chosen.context)
    if target.is_local:
        target.delete()
        return
    target.connect()
    _check_other_jobs(target)
    print("removing the example job and the Helm release (about 10 s)", flush=True)
    if target.exists("crd", "ipujobs.graphcore.ai"):
        example.delete(target)
    installation.remove(target)
    print("removed; the CustomResourceDefinition is kept. To delete it and all IPUJobs, run: "
          f"{target.short} delete crd ipujobs.graphcore.ai")


def _check_other_jobs(target: TargetCluster) -> None:
    """Without an operator the deletion of an IPUJob never completes, because no process releases its IPUs."""
    if not target.exists("crd", "ipujobs.graphcore.ai"):
        return
    others = [f"{item['metadata']['namespace']}/{item['metadata']['name']}"
              for item in target.get("ipujobs", "--all-namespaces")["items"]]
    others = [name for name in others if name != f"default/{example.NAME}"]
    if others:
        raise UserError(f"Other IPUJobs still exist: {', '.join(others[:5])}"
                      f"{' and more' if len(others) > 5 else ''}. Delete them first; the operator has to release their IPUs.")
