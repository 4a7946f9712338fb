"""The command line of deploy/cluster."""

import argparse
import os
import shutil
import signal
import sys
from pathlib import Path

from . import cluster, fake_nodes, images, other_versions, programs
from .problem import Problem

DESCRIPTION = """\
A real Kubernetes on this machine: etcd, kube-apiserver, kube-controller-manager, kube-scheduler,
kubelet, containerd, runc, CNI, kube-proxy and DNS. Several clusters of different names can run at once.
"""
EPILOG = """\
A first run builds the Kubernetes programs (usually 4-6 minutes on 2 cores) and keeps them in
${XDG_CACHE_HOME:-~/.cache}/ipu-operator; later ones start in seconds. A cluster keeps its files in
${XDG_STATE_HOME:-~/.local/state}/ipu-operator/NAME until `down`. KUBEBUILDER_ASSETS may name a folder
with ready etcd and kube-apiserver (and others); they are used instead of built ones.
A node cannot reach the network beyond this machine: its images come by `load`.

  deploy/cluster up
  export KUBECONFIG=$(deploy/cluster kubeconfig) PATH=$(deploy/cluster bin):$PATH
  kubectl get nodes
  deploy/cluster down
"""

MOST_NODES = 8
INTERRUPTS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Parser(argparse.ArgumentParser):
    def error(self, message: str):
        raise Problem(f"{message[0].upper()}{message[1:]} (`deploy/cluster --help` lists what there is).")


def main(arguments: list[str]) -> int:
    # Users other than root do not find ip and iptables by themselves.
    os.environ["PATH"] = os.environ.get("PATH", "/usr/bin:/bin") + ":/usr/sbin:/sbin"
    for number in INTERRUPTS:
        signal.signal(number, _interrupt)
    try:
        chosen = _parser().parse_args(arguments)
        return chosen.run(chosen) or 0
    except Problem as problem:
        print(f"deploy/cluster: {problem}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("deploy/cluster: interrupted; what was begun has been taken back.", file=sys.stderr)
        return 130


def _interrupt(_number, _frame):
    for number in INTERRUPTS:
        signal.signal(number, signal.SIG_IGN)  # what was begun is taken back in peace
    raise KeyboardInterrupt


def _parser() -> argparse.ArgumentParser:
    parser = Parser(prog="deploy/cluster", description=DESCRIPTION, epilog=EPILOG,
                    formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(metavar="COMMAND", required=True, dest="command", parser_class=Parser)

    def command(name: str, run, help: str, named: bool = True) -> argparse.ArgumentParser:
        added = commands.add_parser(name, help=help, description=help)
        added.set_defaults(run=run)
        if named:
            added.add_argument("--name", default="local", help="the cluster (default: local)")
        return added

    up = command("up", _up, "make the cluster, or bring it back after a crash; says so if it already runs")
    shape = up.add_mutually_exclusive_group()
    shape.add_argument("--nodes", type=_node_count, default=1, metavar="N",
                       help=f"nodes, 1 to {MOST_NODES} (default: 1); each has network, containerd and kubelet of its own")
    shape.add_argument("--no-node", action="store_true", help="the control plane only: pods are accepted, none runs")
    up.add_argument("--bare", action="store_true", help="with --no-node: etcd and the API server only")
    up.add_argument("--audit", action="store_true",
                    help="keep what ServiceAccounts ask of the API server; `logs audit` prints it, a line of JSON each")
    command("down", _down, "end and remove everything of the cluster")
    command("status", _status, "what runs; exit status 1 unless all of it is well")
    command("kubeconfig", _kubeconfig, "print the path of the administrator's kubeconfig")
    load = command("load", _load, "import an image archive (docker-archive or OCI layout tar) into every node")
    load.add_argument("image", metavar="IMAGE.tar")
    fake = command("fake-nodes", _fake_nodes, "give a cluster without a node fake ones, where pods only pretend to run")
    fake.add_argument("--count", type=int, default=10, metavar="N", help="how many (default: 10)")
    logs = command("logs", _logs, "print the log of a component")
    logs.add_argument("component", metavar="COMPONENT")
    command("bin", _bin, "print the folder with kubectl, helm (4), helm3 and the Kubernetes programs", named=False)
    build = command("build", _build, "build and cache the programs, start nothing", named=False)
    build.add_argument("--kubernetes", metavar="VERSION",
                       help="build etcd and the control plane of this version instead, such as v1.29.6, and print the folder "
                            "for KUBEBUILDER_ASSETS")
    return parser


def _node_count(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= MOST_NODES:
        raise argparse.ArgumentTypeError(f"'{text}' is no number of nodes: 1 to {MOST_NODES} (or --no-node)")
    return int(text)


def _up(chosen) -> None:
    if chosen.bare and not chosen.no_node:
        raise Problem("--bare is for a cluster without a node: say --no-node --bare.")
    running = cluster.up(chosen.name, nodes=0 if chosen.no_node else chosen.nodes, bare=chosen.bare, audit=chosen.audit)
    print(f"cluster '{chosen.name}' is up: {running.control_plane.server} ({running.record.shape})\n"
          f"  export KUBECONFIG={running.places.kubeconfig}", file=sys.stderr)


def _down(chosen) -> None:
    cluster.down(chosen.name)


def _status(chosen) -> int:
    found = cluster.find(chosen.name)
    dead = found.dead_components()
    healthy = found.is_healthy()
    print(f"cluster     {chosen.name} ({found.record.shape}): {'running' if healthy else 'not whole'}")
    print(f"api server  {found.control_plane.server}")
    print(f"kubeconfig  {found.places.kubeconfig}")
    wanted = dict(found.control_plane.components)
    for node in found.nodes:
        wanted |= node.components
    for component in wanted:
        print(f"  {component:32} {'dead' if component in dead else 'running'}")
    if not healthy:
        print(f"`deploy/cluster up --name {chosen.name}` brings it back.")
    return 0 if healthy else 1


def _kubeconfig(chosen) -> None:
    print(cluster.find(chosen.name).places.kubeconfig)


def _load(chosen) -> None:
    found = cluster.find(chosen.name)
    if not found.nodes:
        raise Problem(f"The cluster '{chosen.name}' has no node to load an image into.")
    for name in {name: None for node in found.nodes for name in images.load(node, Path(chosen.image))}:
        print(name)


def _fake_nodes(chosen) -> None:
    found = cluster.find(chosen.name)
    with cluster.lock(chosen.name):
        fake_nodes.start(found, chosen.count)


def _logs(chosen) -> None:
    where = cluster.find(chosen.name).places
    log = where.log(chosen.component)
    known = sorted(path.stem for path in where.logs.glob("*.log"))
    if chosen.component not in known:
        raise Problem(f"'{chosen.component}' is no component of the cluster '{chosen.name}': "
                      f"there is {', '.join(known)}.")
    with log.open("rb") as stream:
        shutil.copyfileobj(stream, sys.stdout.buffer)


def _bin(_chosen) -> None:
    print(programs.cached())


def _build(chosen) -> None:
    if chosen.kubernetes:
        print(other_versions.control_plane(chosen.kubernetes))
    else:
        print(f"the programs are in {programs.cached()}", file=sys.stderr)
