"""Command line of deploy/cluster."""

import argparse
import os
import shutil
import signal
import sys
from pathlib import Path

from . import cluster, fake_nodes, images, other_versions, programs
from .errors import UserError

DESCRIPTION = """\
Runs a real Kubernetes cluster on this machine: etcd, kube-apiserver, kube-controller-manager,
kube-scheduler, kubelet, containerd, runc, CNI, kube-proxy and DNS. Clusters with different names can run
side by side.
"""
EPILOG = """\
The first run builds the Kubernetes programs (about 10 minutes on 2 cores) and caches them in
${XDG_CACHE_HOME:-~/.cache}/ipu-operator; later runs start in seconds. The files of a cluster are in
${XDG_STATE_HOME:-~/.local/state}/ipu-operator/NAME until `down`. If KUBEBUILDER_ASSETS names a folder
with etcd and kube-apiserver, the programs in it are used instead of built ones.
Nodes have no network access beyond this machine: use `load` to import images.

  deploy/cluster up
  export KUBECONFIG=$(deploy/cluster kubeconfig) PATH=$(deploy/cluster bin):$PATH
  kubectl get nodes
  deploy/cluster down
"""

MAX_NODES = 8
INTERRUPTS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Parser(argparse.ArgumentParser):
    def error(self, message: str):
        raise UserError(f"{message[0].upper()}{message[1:]} (see `deploy/cluster --help`).")


def main(arguments: list[str]) -> int:
    # The PATH of users other than root lacks ip and iptables.
    os.environ["PATH"] = os.environ.get("PATH", "/usr/bin:/bin") + ":/usr/sbin:/sbin"
    for number in INTERRUPTS:
        signal.signal(number, _interrupt)
    try:
        chosen = _parser().parse_args(arguments)
        return chosen.run(chosen) or 0
    except UserError as error:
        print(f"deploy/cluster: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("deploy/cluster: interrupted; partial changes were rolled back.", file=sys.stderr)
        return 130


def _interrupt(_number, _frame):
    for number in INTERRUPTS:
        signal.signal(number, signal.SIG_IGN)  # a second signal must not interrupt the rollback
    raise KeyboardInterrupt


def _parser() -> argparse.ArgumentParser:
    parser = Parser(prog="deploy/cluster", description=DESCRIPTION, epilog=EPILOG,
                    formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(metavar="COMMAND", required=True, dest="command", parser_class=Parser)

    def command(name: str, run, help: str, named: bool = True) -> argparse.ArgumentParser:
        added = commands.add_parser(name, help=help, description=help)
        added.set_defaults(run=run)
        if named:
            added.add_argument("--name", default="local", help="name of the cluster (default: local)")
        return added

    up = command("up", _up, "create the cluster, or restart it after a crash")
    shape = up.add_mutually_exclusive_group()
    shape.add_argument("--nodes", type=_node_count, default=1, metavar="N",
                       help=f"number of nodes, 1 to {MAX_NODES} (default: 1); each has its own network, containerd and kubelet")
    shape.add_argument("--no-node", action="store_true", help="start the control plane only; pods stay Pending")
    up.add_argument("--bare", action="store_true", help="with --no-node: start etcd and the API server only")
    up.add_argument("--audit", action="store_true",
                    help="log API requests of ServiceAccounts as JSON lines; show them with `logs audit`")
    command("down", _down, "stop and remove the cluster")
    command("status", _status, "print the state of each component; exit status 1 unless all are running")
    command("kubeconfig", _kubeconfig, "print the path of the administrator's kubeconfig")
    load = command("load", _load, "import an image archive (docker-archive or OCI layout tar) into every node")
    load.add_argument("image", metavar="IMAGE.tar")
    fake = command("fake-nodes", _fake_nodes, "add fake nodes to a cluster without a node; their pods only appear to run (KWOK)")
    fake.add_argument("--count", type=int, default=10, metavar="N", help="number of fake nodes (default: 10)")
    logs = command("logs", _logs, "print the log of a component")
    logs.add_argument("component", metavar="COMPONENT")
    command("bin", _bin, "print the path of the folder with kubectl, helm (4), helm3 and the Kubernetes programs", named=False)
    build = command("build", _build, "build and cache the programs without starting a cluster", named=False)
    build.add_argument("--kubernetes", metavar="VERSION",
                       help="build the control plane of this version instead, such as v1.29.2, and print its folder, "
                            "for KUBEBUILDER_ASSETS")
    return parser


def _node_count(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= MAX_NODES:
        raise argparse.ArgumentTypeError(f"expected a number of nodes from 1 to {MAX_NODES}, got '{text}'; for none use --no-node")
    return int(text)


def _up(chosen) -> None:
    if chosen.bare and not chosen.no_node:
        raise UserError("--bare requires --no-node.")
    running = cluster.up(chosen.name, nodes=0 if chosen.no_node else chosen.nodes, bare=chosen.bare, audit=chosen.audit)
    print(f"cluster '{chosen.name}' is up: {running.control_plane.server} ({running.record.shape})\n"
          f"  export KUBECONFIG={running.paths.kubeconfig}", file=sys.stderr)


def _down(chosen) -> None:
    cluster.down(chosen.name)


def _status(chosen) -> int:
    found = cluster.find(chosen.name)
    dead = found.dead_components()
    healthy = found.is_healthy()
    print(f"cluster     {chosen.name} ({found.record.shape}): {'running' if healthy else 'degraded'}")
    print(f"api server  {found.control_plane.server}")
    print(f"kubeconfig  {found.paths.kubeconfig}")
    wanted = dict(found.control_plane.components)
    for node in found.nodes:
        wanted |= node.components
    for component in wanted:
        print(f"  {component:32} {'dead' if component in dead else 'running'}")
    if not healthy:
        print(f"Run `deploy/cluster up --name {chosen.name}` to restart it.")
    return 0 if healthy else 1


def _kubeconfig(chosen) -> None:
    print(cluster.find(chosen.name).paths.kubeconfig)


def _load(chosen) -> None:
    found = cluster.find(chosen.name)
    if not found.nodes:
        raise UserError(f"The cluster '{chosen.name}' has no node to load an image into.")
    for name in {name: None for node in found.nodes for name in images.load(node.containerd_socket, Path(chosen.image))}:
        print(name)


def _fake_nodes(chosen) -> None:
    found = cluster.find(chosen.name)
    with cluster.lock(chosen.name):
        fake_nodes.start(found, chosen.count)


def _logs(chosen) -> None:
    where = cluster.find(chosen.name).paths
    log = where.log(chosen.component)
    known = sorted(path.stem for path in where.logs.glob("*.log"))
    if chosen.component not in known:
        raise UserError(f"'{chosen.component}' is not a component of the cluster '{chosen.name}': "
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
