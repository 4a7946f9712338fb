"""Two and three hosts with networks, processes and temporary folders of their own, and a remote agent that passes nothing
on, as ssh does."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import calls
import programs
from lan import Lan
from test_run import LONG, in_tight_space

pytestmark = pytest.mark.skipif(os.getuid() != 0, reason="only root can make network namespaces")

SUBNET = "--host-subnet=10.123.0.0/24"


@pytest.fixture(scope="module", params=["Open MPI 4.1", "Open MPI 5"])
def lan(request, tmp_path_factory):
    newer = request.param.endswith("5")
    with Lan(tmp_path_factory.mktemp("lan"), open_mpi=request.getfixturevalue("open_mpi_5") if newer else "") as hosts:
        yield hosts


@pytest.fixture(autouse=True)
def nothing_is_left(request):
    yield
    if "lan" in request.fixturenames:
        request.getfixturevalue("lan").assert_clean()


def spread(lan, *words, instances, script, **options):
    out, _ = lan.offline(f"--num-replicas={instances}", f"--num-instances={instances}", *words, "sh", "-c", script, **options)
    lines = sorted(re.sub(r"<stdout>: ?", "", line) for line in out.splitlines())
    return [line.split("]", 1)[1] for line in lines]


@pytest.mark.parametrize("form", ["list", "ranges", "file", "Slurm"])
def test_instances_are_divided_in_blocks(lan, form):
    environment, words = {}, []
    if form == "file":
        (lan.folder / "hostfile").write_text("# both\nhost1 slots=2\nhost2\n")
        words = [f"--hostfile={lan.folder / 'hostfile'}"]
    elif form == "Slurm":
        environment = {"SLURM_JOB_NODELIST": "host[1-2]"}
    else:
        words = ["--host=host1,host2" if form == "list" else "--host=host[1-2]"]
    output = spread(lan, SUBNET, *words, instances=4, environment=environment,
                  script='echo "$(hostname) $POPDIST_LOCAL_INSTANCE_INDEX $POPDIST_REPLICA_INDEX_OFFSET"')  # fmt: skip
    assert output == ["host1 0 0", "host1 1 1", "host2 0 2", "host2 1 3"]


@pytest.mark.parametrize("instances", [1, 2, 4, 6, 8])
def test_one_to_eight_instances(lan, instances):
    hosts = "host2" if instances == 1 else "host[0-1]"
    count = 1 if instances == 1 else 2
    output = spread(lan, SUBNET, f"--host={hosts}", instances=instances, script="hostname")
    assert output == (["host2"] if count == 1 else ["host0"] * (instances // 2) + ["host1"] * (instances // 2))


def test_a_daemon_has_no_threads_of_their_own_for_starting_instances(lan):
    """With them it sometimes missed the end of an instance that was shorter than the start, and mpirun waited forever."""
    output = spread(lan, SUBNET, "--host=host1", instances=2, script="grep Threads: /proc/$PPID/status")
    assert len(output) == 2 and all(int(line.split()[1]) < 10 for line in output), output


def test_three_hosts(lan):
    assert spread(lan, SUBNET, "--host=host[0-2]", instances=6, script="hostname") == [
        name for name in lan.hosts.names for _ in range(2)
    ]


def test_what_reaches_other_hosts(lan):
    environment = {"PATH": "/first:" + os.environ["PATH"], "LD_LIBRARY_PATH": "/libraries", "PYTHONPATH": "/modules",
                   "POPLAR_ENGINE_OPTIONS": '{"a":"b"}', "OTHER": "stays here", "POPDIST_NODE_DEVICE_ID": "5"}  # fmt: skip
    script = (
        'echo "$PATH $LD_LIBRARY_PATH $PYTHONPATH $POPLAR_ENGINE_OPTIONS ${OTHER-none} '
        '${IPUOF_CONFIG_PATH-none} ${POPDIST_NODE_DEVICE_ID-none} ${POPDIST_AUTOREPORT_DIRECTORY-none}"'
    )
    for host in ("host1", "host2"):
        (output,) = spread(lan, f"--host={host}", instances=1, script=script, environment=environment)
        path, libraries, *rest = output.split(" ")
        assert "/first" in path.split(":") and "/libraries" in libraries.split(":")
        assert rest == ["/modules", '{"a":"b"}', *["none"] * 4]
    names = '-x A=1 -x "B=two words"'
    output = spread(lan, "--host=host[1-2]", f"--mpi-local-args={names}", instances=2, script='echo "$A $B"')
    assert output == ["1 two words"] * 2


SRUN = """#!/bin/sh
# Slurm's, as mpirun calls it: starts one daemon on each host of the allocation.
[ "$1" = --version ] && exec echo slurm 22.05.8
while [ "$1" != "${{1#-}}" ]; do shift; done
for node in 0 1; do
    {agent} host$((node + 1)) "SLURM_JOBID=7 SLURM_NODEID=$node $*" &
done
wait
"""


def test_a_command_that_is_too_long_reaches_other_hosts(lan, monkeypatch):
    """Another host's login knows neither the variables nor the file that mpirun reads here."""
    monkeypatch.setattr(lan, "prefix", [*lan.prefix, *in_tight_space()])
    words = [SUBNET, "--host=host1,host2", "--mpi-local-args=-x A='1  2#'", "--instance-mpi-local-args=3:-x B=3"]
    script = 'echo "$(hostname) $POPDIST_LOCAL_INSTANCE_INDEX $A $B ${POPDIST_NODE_DEVICE_ID-none}"'
    output = spread(lan, *words, instances=12, environment=LONG, script=script)
    assert sorted(output) == sorted(f"host{1 + i // 6} {i % 6} 1  2# {3 if i == 3 else ''} none" for i in range(12))


def test_in_an_allocation_slurm_starts_what_is_needed(lan, monkeypatch):
    """On record: SLURM_JOB_NODELIST has the hosts, in the form that --host takes."""
    monkeypatch.setattr(lan, "has_agent", False)
    (lan.folder / "bin").mkdir()
    srun = lan.folder / "bin" / "srun"
    srun.write_text(SRUN.format(agent=lan.hosts.agent))
    srun.chmod(0o755)
    path = f"{srun.parent}:{lan.environment()['PATH']}"
    allocation = {"SLURM_JOB_ID": "7", "SLURM_JOBID": "7", "SLURM_JOB_NODELIST": "host[1-2]", "SLURM_NODELIST": "host[1-2]",
                  "SLURM_TASKS_PER_NODE": "2(x2)", "SLURM_NNODES": "2", "PATH": path}  # fmt: skip
    output = spread(lan, instances=4, script="echo $(hostname) ${POPDIST_EXECUTABLE_CACHE_PATH##*-}", environment=allocation)
    assert output == ["host1 0", "host1 0", "host2 1", "host2 1"]


def test_a_host_without_an_ssh_server_is_named_with_the_reason(lan, monkeypatch):
    monkeypatch.setattr(lan, "has_agent", False)
    _, err = lan.offline("--host=host[0-2]", "--num-replicas=3", "--num-instances=3", "true", expect=1)
    rejected = "ssh: connect to host {0} port 22: Connection refused; for details run: ssh {0} true"
    output = [re.sub(r"^[\d:.]+ \d+ POPRUN ", "", line) for line in err.splitlines()]
    assert output == [f"[E] host {name} cannot be reached: {rejected.format(name)}" for name in ("host1", "host2")] + [
        "[E] 2 of 3 hosts cannot be reached; nothing was started"
    ]


@pytest.mark.parametrize("instances", [2, 6])
def test_collectives_between_hosts(lan, packages, instances):
    """PopDist is built for the system's Open MPI; another one's library has the same name and takes its place."""
    libraries = {"LD_LIBRARY_PATH": f"{lan.open_mpi}/lib"} if lan.open_mpi else {}
    program = Path(__file__).parents[1] / "popdist" / "programs" / "collectives.py"
    hosts = "--host=host[1-2]" if instances == 2 else "--host=host[0-2]"
    out, _ = lan.offline(SUBNET, hosts, f"--num-replicas={instances}", f"--num-instances={instances}", sys.executable, program,
                         environment={"PYTHONPATH": str(packages)} | libraries)  # fmt: skip
    assert calls.untag(out) == ["good"] * instances


def test_each_host_has_an_executable_cache_of_its_own(lan):
    """On record: several hosts have a unique directory each, removed at the end."""
    script = (
        'cd "$POPDIST_EXECUTABLE_CACHE_PATH" && touch $POPDIST_LOCAL_INSTANCE_INDEX && '
        "until test -e 0 -a -e 1; do sleep 0.02; done; echo $PWD $(stat -c %a .) $(ls | wc -l) $POPRUN_WRAPPER_CACHE"
    )
    output = spread(lan, "--host=host[0-2]", instances=6, script=script)
    base, _, _ = output[0].rpartition("-")
    assert base.startswith(f"{lan.temporary}/poprun-cache-")
    assert output == [f"{base}-{host} 700 2" for host in range(3) for _ in range(2)]


def test_the_cache_can_be_named_or_left_out(lan):
    show = "echo ${POPDIST_EXECUTABLE_CACHE_PATH-none}"
    assert spread(lan, "--host=host[1-2]", "--executable-cache-path=", instances=2, script=show) == ["none"] * 2
    named = lan.temporary / "kept"
    script = f"mkdir {named} && {show}"
    assert spread(lan, "--host=host[1-2]", f"--executable-cache-path={named}", instances=2, script=script) == [str(named)] * 2
    for name in ("host1", "host2"):
        (lan.own(name) / "kept").rmdir()


def test_a_host_without_space_for_the_cache_reports_it_and_continues(lan):
    only_here = lan.folder / "only-here"
    only_here.mkdir()
    lan.hosts.inside("host1", "mount", "-t", "tmpfs", "-o", "ro", "none", only_here)
    out, err = lan.offline("--host=host[0-1]", "--num-replicas=2", "--num-instances=2", "sh", "-c",
                           "echo $(hostname) ${POPDIST_EXECUTABLE_CACHE_PATH-none}", environment={"TMPDIR": str(only_here)})  # fmt: skip
    first, second = (re.sub("<stdout>: ?", "", line) for line in sorted(out.splitlines()))
    assert first.startswith(f"[1,0]host0 {only_here}/poprun-cache-") and second == "[1,1]host1 none"
    assert re.search(r"cannot use an executable cache on this host: cannot create .*-1: Read-only file system", err)
    calls.until(lambda: not list(only_here.glob("poprun-*")), "the cache of host0 is removed")


def test_the_status_comes_from_the_host_where_an_instance_fails(lan):
    lan.offline("--host=host[1-2]", "--num-replicas=2", "--num-instances=2", "sh", "-c",
                "test $POPDIST_REPLICA_INDEX_OFFSET = 0 || exit 7; exec sleep 1000", expect=7)  # fmt: skip


def test_what_programs_leave_in_the_background_ends_with_the_run(lan):
    lan.offline("--host=host[1-2]", "--num-replicas=2", "--num-instances=2", "sh", "-c",
                "sleep 1000 </dev/null >/dev/null 2>&1 & echo started")  # fmt: skip


# The kernel keeps fifteen letters of a name.
KINDS = {"orted": "daemon", "prted": "daemon", "orterun": "mpirun", "prterun": "mpirun", "poprun_numa_wra": "watcher"}


def parts(lan, process):
    """Every process of the run, by what it is and on which host."""
    (runner,) = calls.children(process.pid)
    found = {"poprun": process.pid, "runner": runner}
    hosts = {os.readlink(f"/proc/{lan.hosts.pid(name)}/ns/net"): name for name in lan.hosts.names}
    for pid in calls.processes_with(lan.mark):
        try:
            name, host = Path(f"/proc/{pid}/comm").read_text().strip(), hosts.get(os.readlink(f"/proc/{pid}/ns/net"))
        except OSError:
            continue
        found.setdefault(f"{KINDS.get(name, name)} of {host}", pid)
    return found


def start(lan, script):
    words = ["--host=host[0-2]", "--num-replicas=3", "--num-instances=3", "sh", "-c"]
    process = lan.start("--offline-mode=on", *words, script)
    ready = [process.stdout.readline() for _ in range(3)]
    assert all(re.search("<stdout>: ?ready /", line) for line in ready)
    return process


@pytest.mark.parametrize(
    "part,name",
    [("poprun", "SIGKILL"), ("poprun", "SIGTERM"), ("runner", "SIGKILL"), ("mpirun of host0", "SIGKILL"),
     ("mpirun of host0", "SIGTERM"), ("daemon of host1", "SIGKILL"), ("sleep of host0", "SIGKILL"),
     ("sleep of host2", "SIGKILL")],
)  # fmt: skip
def test_any_part_may_be_ended(lan, part, name):
    process = start(lan, "echo ready $POPDIST_EXECUTABLE_CACHE_PATH; exec sleep 1000")
    pid = calls.until(lambda: parts(lan, process).get(part), f"{part} runs")
    os.kill(pid, signal.Signals[name])
    process.communicate(timeout=calls.DEADLINE_S)
    assert process.returncode != 0


def test_a_daemon_that_ends_before_it_calls_back_ends_the_run(lan):
    """One that had left its session would have ended well as far as its agent can tell, and be awaited forever."""
    daemon = lan.folder / "daemon"
    daemon.write_text('#!/bin/sh\ncase "$*" in *"leave_session_attached 1"*) exit 1;; esac\n')  # as the real one's parent
    daemon.chmod(0o755)
    process = lan.start("--offline-mode=on", "--host=host[0-1]", "--num-replicas=2", "--num-instances=2", "true",
                        environment={"OMPI_MCA_orte_launch_agent": str(daemon), "PRTE_MCA_prte_launch_agent": str(daemon)})
    process.communicate(timeout=calls.DEADLINE_S)
    assert process.returncode != 0


@pytest.mark.parametrize("host", ["host0", "host1"])
def test_one_of_two_watchers_is_enough(lan, host):
    process = start(lan, "echo ready $POPDIST_EXECUTABLE_CACHE_PATH; exec sleep 1000")
    watcher = calls.until(lambda: parts(lan, process).get(f"watcher of {host}"), "a watcher runs")
    os.kill(watcher, signal.SIGKILL)
    calls.until(lambda: watcher not in calls.processes_with(lan.mark), "the watcher has ended")
    assert process.poll() is None
    process.terminate()
    process.communicate(timeout=calls.DEADLINE_S)


class ServerOnHost0(programs.Server):
    def __init__(self, lan, folder, config):
        self._prefix = lan.prefix
        super().__init__(folder, config, listen="10.123.0.1:0")

    def start(self):
        self.args = [*self._prefix, *self.args]
        super().start()


@pytest.fixture
def controller(lan, tmp_path):
    server = ServerOnHost0(lan, tmp_path, "create-ms: 0\nclusters: [{id: cl1}]\n")
    yield server
    assert server.stop() == 0, server.log()


def test_hosts_share_a_partition(lan, controller):
    """Each has a parent device of its own, and reaches the controller."""
    vipu = calls.program("vipu", "vipu")
    address = {"VIPU_CLI_API_HOST": "10.123.0.1", "VIPU_CLI_API_PORT": str(controller.port)}
    made = subprocess.run([*lan.prefix, vipu, "create", "partition", "p", "--size", "4", "--reconfigurable"],
                          env=lan.environment(**address, HOME=str(lan.folder)), capture_output=True, text=True, check=False,
                          timeout=calls.DEADLINE_S)  # fmt: skip
    assert made.returncode == 0, made.stderr
    script = (
        'echo "$(hostname) $POPDIST_NODE_DEVICE_ID $POPDIST_LOCAL_INSTANCE_INDEX $(VIPU_CLI_API_HOST=$IPUOF_VIPU_API_HOST '
        f'VIPU_CLI_API_PORT=$IPUOF_VIPU_API_PORT {vipu} get partition $IPUOF_VIPU_API_PARTITION_ID | grep -c Reconfigurable)"'
    )
    out, _ = lan(SUBNET, "--host=host[0-1]", "--num-replicas=4", "--num-instances=4", "sh", "-c", script, environment=address)
    assert calls.untag(out) == ["host0 4 0 1", "host0 4 1 1", "host1 5 0 1", "host1 5 1 1"]


def test_when_a_host_goes_down_the_others_are_left_clean(tmp_path):
    with Lan(tmp_path) as lan:
        process = start(lan, "echo ready $POPDIST_EXECUTABLE_CACHE_PATH; exec sleep 1000")
        os.kill(int(lan.hosts.pid("host1")), signal.SIGKILL)
        process.communicate(timeout=calls.DEADLINE_S)
        assert process.returncode != 0
        lan.assert_clean(but="host1")
