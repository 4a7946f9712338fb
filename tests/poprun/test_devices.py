"""The parent device that instances divide, when others on this host are attached to some of the IPUs."""

import subprocess

import pytest

from calls import program, untag

SHOW = ["sh", "-c", "echo $POPDIST_NODE_DEVICE_ID"]


@pytest.fixture
def hold(site):
    """Attaches a program to a run of IPUs of partition tut, which has 16."""
    site.vipu("create", "partition", "tut", "--size", "16", "--reconfigurable")
    environment = site.poprun.environment()
    started = []

    def begin(first, count):
        words = [program("vipu-attacher", "tests/unit/vipu/tools"), environment["IPUOF_RUN_DIR"], "tut", "0", str(first), str(count)]
        started.append(subprocess.Popen(words, env=environment, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE))
        assert started[-1].stdout.readline() == "attached\n"
        return started[-1]

    yield begin
    for process in started:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("held,words,parent", [
    ([], ["--num-replicas=8", "--num-instances=4", "--ipus-per-replica=2"], 30),
    ([], ["--num-replicas=4", "--num-instances=2", "--ipus-per-replica=2"], 28),
    ([(0, 1)], ["--num-replicas=4", "--num-instances=2", "--ipus-per-replica=2"], 29),
    ([(4, 4)], ["--num-replicas=4", "--num-instances=2", "--ipus-per-replica=2"], 29),
    ([(8, 8)], ["--num-replicas=4", "--num-instances=2", "--ipus-per-replica=2"], 28),
    ([(0, 4), (5, 1)], ["--num-replicas=2", "--num-instances=2"], 19),
    ([(0, 4), (8, 8)], ["--num-replicas=4"], 25),
    ([(0, 1), (2, 1)], [], 1),
])  # fmt: skip
def test_the_first_partition_without_an_owner_is_used(site, hold, held, words, parent):
    """On record: the first device of the size that can be attached to is taken."""
    for first, count in held:
        hold(first, count)
    out, _ = site(*words, *SHOW)
    assert set(untag(out)) == {str(parent)}


def test_when_all_are_held_the_holder_is_named(site, hold):
    """On record: a device that cannot be attached to fails the launch, and gc-monitor shows who has it."""
    holder = hold(5, 1)
    _, err = site("--num-replicas=16", "true", expect=1)
    assert "all devices with 16 IPUs of partition tut are in use; run gc-monitor to list the processes that use them" in err
    assert f"process {holder.pid} (vipu-attacher, " in err
    holder.kill()
    holder.communicate()
    assert untag(site("--num-replicas=16", *SHOW)[0]) == ["30"]


def test_a_fixed_partition_is_not_attached_to(site, hold):
    """Its instances have a compile domain each, and find their device in it themselves.
    On record: several instances on one host, each with a GCD of its own; a fixed partition is not attached to:
    IPUOF_VIPU_API_GCD_ID in place of POPDIST_NODE_DEVICE_ID; POPDIST_NODE_DEVICE_ID is set when there is a parent
    device, and only then."""
    site.vipu("create", "partition", "fixed", "--size", "16", "--num-gcds", "4")
    hold(0, 16)
    out, err = site("-vv", "--vipu-partition=fixed", "--num-replicas=16", "--num-instances=4",
                    "sh", "-c", "echo gcd $IPUOF_VIPU_API_GCD_ID ${POPDIST_NODE_DEVICE_ID-none}")  # fmt: skip
    assert [line for line in untag(out) if line.startswith("gcd")] == [f"gcd {index} none" for index in range(4)]
    assert "Attached" not in err and "Poplar device" not in err
