"""Runs on several hosts. The remote agent is a script that starts what it is told here, in place of ssh: mpirun then
has a daemon for each host, as on a real one."""

import os
import re

import pytest

from calls import in_place, untag
from programs import ROOT

AGENT = """#!/bin/sh
# An agent: HOST COMMAND..., as ssh takes them. Hosts have temporary folders of their own: daemons share theirs otherwise.
host=$1
shift
echo "$host" >>{folder}/asked
mkdir -p {folder}/$host
exec env POPRUN_TEST_HOST=$host IPUOF_CONFIG_PATH=/remote TMPDIR={folder}/$host sh -c "$*"
"""


@pytest.fixture
def agent(poprun):
    path = poprun.folder / "agent"
    path.write_text(AGENT.format(folder=poprun.folder))
    path.chmod(0o755)
    return str(path)


def mpirun_here(agent):
    return {"OMPI_MCA_plm_rsh_agent": agent, "OMPI_MCA_oob_tcp_if_include": "lo", "OMPI_MCA_btl_tcp_if_include": "lo"}


@pytest.mark.parametrize("form", ["list", "file"])
def test_instances_are_divided_among_hosts(poprun, agent, form):
    """On record: several instances on several hosts over ssh; instances are divided evenly among the hosts;
    IPUOF_CONFIG_PATH is unset on all instances, on remote hosts too."""
    hosts = poprun.folder / "hosts"
    hosts.write_text("far1 slots=2\nfar2\n")
    given = "--host=far[1-2]" if form == "list" else f"--hostfile={hosts}"
    out, _ = poprun.offline(
        given, "--num-replicas=8", "--num-instances=4",
        "sh", "-c", "echo $POPRUN_TEST_HOST $POPDIST_LOCAL_INSTANCE_INDEX $POPDIST_REPLICA_INDEX_OFFSET ${IPUOF_CONFIG_PATH-unset}",
        environment=mpirun_here(agent),
    )  # fmt: skip
    assert sorted(out.splitlines()) == [
        "[1,0]<stdout>:far1 0 0 unset",
        "[1,1]<stdout>:far1 1 2 unset",
        "[1,2]<stdout>:far2 0 4 unset",
        "[1,3]<stdout>:far2 1 6 unset",
    ]
    poprun.assert_clean()


def test_a_remote_host_gets_what_is_forwarded_and_no_more(poprun):
    """As over ssh, the other host has an environment of its own.
    On record: remote hosts get no other variables than these and the user's -x."""
    path = poprun.folder / "agent"
    name, value = poprun.mark.split("=", 1)
    path.write_text(f"#!/bin/sh\nshift\nmkdir -p {poprun.folder}/far\n"
                    f'exec env -i {name}={value} HOME=/ PATH=/usr/bin:/bin TMPDIR={poprun.folder}/far sh -c "$*"\n')  # fmt: skip
    path.chmod(0o755)
    given = {"PYTHONPATH": "/a", "LD_LIBRARY_PATH": "/b", "POPLAR_ENGINE_OPTIONS": "{}", "MINE": "1", "POPLAR_LOG_LEVEL": "INFO"}
    show = "LD_LIBRARY_PATH=${LD_LIBRARY_PATH##*:}; for name in PYTHONPATH LD_LIBRARY_PATH POPLAR_ENGINE_OPTIONS MINE POPLAR_LOG_LEVEL; do printenv $name || echo -; done"
    words = ["--host=far", "--mpi-local-args=-x POPLAR_LOG_LEVEL", "sh", "-c", show]
    out, _ = poprun.offline(*words, environment=mpirun_here(str(path)) | given)
    assert [line.split(":", 1)[1] for line in out.splitlines()] == ["/a", "/b", "{}", "-", "INFO"]


@pytest.mark.skipif(os.getuid() != 0, reason="only root can show a machine with RDMA ports")
def test_hosts_talk_where_rdma_is(poprun, agent):
    """The machine's one live port seems to be on lo; hosts are given by addresses there, or not."""
    poprun.prefix = in_place(ROOT / "tests" / "golden" / "poprun" / "rnic" / "one-live", "/sys/class")
    words = ["-vv", "--num-replicas=2", "--num-instances=2", "true"]
    _, err = poprun.offline("--host=127.0.0.2,127.0.0.3", *words, environment={"OMPI_MCA_plm_rsh_agent": agent})
    assert "Default network/RNIC for host communication: 127.0.0.0/8\n" in err
    assert "'--mca' 'oob_tcp_if_include' '127.0.0.0/8' '--mca' 'btl_tcp_if_include' '127.0.0.0/8' '-np'" in err
    _, err = poprun.offline("--host=127.0.0.2,far", *words, environment=mpirun_here(agent))
    assert "Default network/RNIC for host communication: None\n" in err and "'--mca'" not in err


def test_hosts_are_in_the_topology(poprun, agent):
    """On record: --print-topology prints the table; it may have --num-ilds and --host beside it."""
    words = ["--host=far1,far2", "--num-replicas=2", "--num-instances=2", "--num-ilds=2", "--print-topology=yes", "true"]
    out, _ = poprun.offline(*words, environment=mpirun_here(agent))
    assert "[0]: far1\n[1]: far2\n" in out and "| ILDs      | 0 | 1 |\n" in out


def test_an_unreachable_host_is_named_with_reason_and_cure(poprun):
    """On record: ssh is never interactive, and its Host key verification failed and Permission denied are reported."""
    path = poprun.folder / "agent"
    path.write_text(
        "#!/bin/sh\ncase $1 in\nfar1) exit 0 ;;\nfar2) echo 'Host key verification failed.' >&2 ;;\n"
        "*) echo 'Permission denied (publickey).' >&2 ;;\nesac\nexit 255\n"
    )
    path.chmod(0o755)
    words = ["--host=far[1-3]", "--num-replicas=3", "--num-instances=3", "true"]
    _, err = poprun.offline(*words, environment=mpirun_here(str(path)), expect=1)
    output = [re.sub(r"^[\d:.]+ \d+ POPRUN ", "", line) for line in err.splitlines()]
    assert len(output) == 3
    assert output[0].startswith("[E] host far2 cannot be reached: Host key verification failed; log in once with: ssh far2")
    assert output[1].startswith("[E] host far3 cannot be reached: Permission denied; add your public key to")
    assert output[2] == "[E] 2 of 3 hosts cannot be reached; nothing was started"


def test_a_missing_agent_is_reported(poprun):
    _, err = poprun.offline("--host=far1", "true", environment=mpirun_here("/no/agent"), expect=1)
    assert "host far1 cannot be reached: /no/agent: No such file or directory" in err


def test_this_host_is_not_asked(poprun, agent):
    out, _ = poprun.offline("--host=localhost", "echo", "x", environment=mpirun_here(agent))
    assert out == "[1,0]<stdout>:x\n"
    assert not (poprun.folder / "asked").exists()


def test_the_guides_example_of_a_stored_command_runs(poprun, agent):
    """PopRun's user guide, section 2.9 (docs.graphcore.ai, poprun-user-guide, launching.html): 2 instances with --host
    pod[1-4]; the stored command alone; and with 4 instances and one argument more."""
    conf = poprun.folder / "training.conf"
    show = ["sh", "-c", 'echo $POPRUN_TEST_HOST $POPDIST_REPLICA_INDEX_OFFSET "$@"', "train.py"]
    stored = ["--vipu-partition=my_partition", "--vipu-allocation=allocation1", "--vipu-server-host=vipu.my_domain",
              "--vipu-server-port=34521", "--update-partition=yes", "--remove-partition=no", "--num-replicas=32",
              "--num-instances=2", "--num-ilds=2", "--host", "pod[1-4]"]  # fmt: skip

    def run(*words):
        out, err = poprun(*words, environment=mpirun_here(agent))
        return untag(out), [re.sub(r"^[\d:.]+ \d+ POPRUN ", "", line) for line in err.splitlines()]

    two = (["pod1 0", "pod2 16"], ["[W] 2 of 4 hosts run an instance each; not used: pod3, pod4 (--num-instances=4 uses all)"])
    assert run("--offline-mode=on", "--export-config", conf, *stored, *show) == two
    assert run("--import-config", conf) == two
    four = ["pod1 0 --hyper-param=1", "pod2 8 --hyper-param=1", "pod3 16 --hyper-param=1", "pod4 24 --hyper-param=1"]
    assert run("--import-config", conf, "--num-instances=4", *show, "--hyper-param=1") == (four, [])
    poprun.assert_clean()


def test_one_instance_runs_on_the_first_host(poprun, agent):
    out, err = poprun.offline("--host=far1,far2", "sh", "-c", "echo $POPRUN_TEST_HOST", environment=mpirun_here(agent))
    assert untag(out) == ["far1"]
    assert "1 of 2 hosts runs the only instance; not used: far2 (--num-instances=2 uses all)" in err


@pytest.mark.parametrize("form", ["host_address_1,host_address_2", "_a,b_", "node_[1-2]_ib"])
def test_names_of_hosts_may_have_underscores(poprun, agent, form):
    """The README of BERT for TensorFlow in graphcore/examples has the first form. Open MPI 4.1 shortens names to ranges of
    numbers, and takes only letters, digits, dots and hyphens for it (open-mpi/ompi, orte/mca/regx/fwd/regx_fwd.c)."""
    words = ["--host", form, "--num-replicas=2", "--num-instances=2", "sh", "-c", "echo $POPRUN_TEST_HOST"]
    out, _ = poprun.offline(*words, environment=mpirun_here(agent))
    assert untag(out) == {"_a,b_": ["_a", "b_"], "node_[1-2]_ib": ["node_1_ib", "node_2_ib"]}.get(form, form.split(","))
    poprun.assert_clean()


def test_instances_must_divide_evenly(poprun):
    """On record: a number of instances that the hosts do not divide is refused."""
    _, err = poprun.offline("--host=a,b", "--num-replicas=3", "--num-instances=3", "true", expect=1)
    assert err == "POPRUN ERROR: --num-instances=3 cannot be divided evenly among 2 hosts; use a multiple of 2, or fewer hosts with --host\n"


def test_the_hosts_of_slurm_are_taken(poprun, agent):
    """On record: SLURM_JOB_NODELIST has the hosts, in the form that --host takes."""
    two = {"SLURM_JOB_NODELIST": "far[1-2]"}
    words = ["--dry-run", "--num-replicas=2", "--num-instances=2", "true"]
    out, _ = poprun.offline(*words, environment=two)
    assert "'--host' 'far1'" in out and "'--host' 'far2'" in out
    out, _ = poprun.offline("--host=near", *words, environment=two)
    assert "'--host' 'near'" in out and "far" not in out


def test_a_lone_host_of_slurm_is_shown_by_its_name(poprun):
    """On record: in a Slurm job it shows the node's name."""
    one = {"SLURM_JOB_NODELIST": "gc-poplar-02"}
    out, _ = poprun.offline("--dry-run", "--num-replicas=4", "true", environment=one)
    assert "| hosts     | gc-poplar-02  |\n" in out and "--host" not in out
    _, err = poprun.offline("true", environment={"SLURM_JOB_NODELIST": "a[1"}, expect=1)
    assert err.startswith("POPRUN ERROR: variable SLURM_JOB_NODELIST: ")
