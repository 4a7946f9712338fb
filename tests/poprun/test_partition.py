"""poprun and vipu-server: partitions found, made, replaced, reset and removed."""

import os
import re
import signal

import pytest

from calls import DEADLINE_S, in_place, untag, until
from programs import ROOT

GOLDEN = ROOT / "tests" / "golden" / "poprun"
SHOW = ["sh", "-c", "echo $IPUOF_VIPU_API_PARTITION_ID $IPUOF_VIPU_API_GCD_ID $POPDIST_NODE_DEVICE_ID"]


def test_the_only_partition_is_used(site):
    """On record: --vipu-server-host is what vipu is configured with unless given."""
    site.vipu("create", "partition", "tut", "--size", "16", "--reconfigurable")
    assert site("echo", "Hello World")[0] == "[1,0]<stdout>:Hello World\n"
    assert site("--vipu-partition=", "echo", "Hello World")[0] == "[1,0]<stdout>:Hello World\n"
    out, _ = site("--num-replicas", 8, "--num-instances", 4, "--ipus-per-replica", 2, *SHOW)
    assert untag(out) == ["tut 30"] * 4
    assert site.partitions() == {"tut": (16, 1)}


@pytest.mark.skipif(os.getuid() != 0, reason="only root can show a machine with RDMA ports")
def test_the_log_is_that_of_the_record(site):
    """On record: --host-subnet is ignored with a line of log when there are no hosts; the address of V-IPU is said to
    be picked up from 'vipu'; the only partition is used, and that is told before Connecting; Status for partition X: OK
    (error 0), then Partition X already exists and is in state: PS_ACTIVE; Preparing parent device d is an [I] line; No
    hosts specified; ignoring host-subnet setting; Default network/RNIC for host communication: None; the table comes
    after the partition and before the target options; a good run has 21 steps in the recorded order, with the recorded
    levels."""
    site.vipu("create", "partition", "p64", "--size", "64", "--reconfigurable")
    site.poprun.prefix = [*in_place(GOLDEN / "rnic" / "two-dead", "/sys/class"), "sh", "-c", 'exec "$@" 2>&1', "sh"]
    out, _ = site("-vv", "--num-replicas=2", "--num-instances=2", "true")
    output = [re.sub(r"^[\d:.]+ \d+ POPRUN ", "", line) for line in out.splitlines()]
    skipped = r"\[D\] Skipping port 1 of IB device uverbs{} because its state \(1\) doesn't seem active. Information .* might not exist"
    expected = [
        rf"\[I\] V-IPU server address picked up from 'vipu': 127.0.0.1:{site.server.port}",
        r"\[I\] Using V-IPU partition p64 as it is the only one available",
        rf"\[D\] Connecting to 127.0.0.1:{site.server.port}",
        r"\[D\] Status for partition p64: OK \(error 0\)",
        r"\[I\] Partition p64 already exists and is in state: PS_ACTIVE",
        r"\[D\] The reconfigurable partition p64 is OK",
        *map(re.escape, (GOLDEN / "table-2x2.txt").read_text().splitlines()),
        r"\[D\] Target options from environment: \{\}",
        r'\[D\] Target options from V-IPU partition: \{"ipuLinkDomainSize":"64",.*"instanceSize":"32"\}',
        r"\[D\] Found 32 devices with 2 IPUs",
        r"\[D\] Attached to device 64",
        r"\[D\] Found 2 children \(expected 2\) of device 64 with 1 IPUs each",
        r"\[I\] Preparing parent device 64",
        r"\[D\] Device 64 ipuLinkDomainSize=64, .*, instanceSize=1",
        r'\[D\] Target options from Poplar device: \{.*"instanceSize":"1"\}',
        r'\[D\] Using target options: \{.*"instanceSize":"32"\}',
        skipped.format(0),
        skipped.format(1),
        r"\[D\] No hosts specified; ignoring host-subnet setting",
        r"\[D\] Default network/RNIC for host communication: None",
        r"\[I\] Running command: \S+/mpirun '--bind-to' .*",
        r"\[I\] Waiting for mpirun \(PID \d+\)",
        r"\[I\] mpirun \(PID \d+\) terminated with exit code 0",
    ]
    assert len(output) == len(expected)
    for line, pattern in zip(output, expected, strict=True):
        assert re.fullmatch(pattern, line)


def test_a_missing_partition_is_made_only_when_that_is_allowed(site):
    """On record: --update-partition lets poprun remove and create anew under the same name, and create what is absent;
    no unless given; one that is absent is created when updates are allowed."""
    _, err = site("--vipu-partition=p", *SHOW, expect=1)
    assert "create it with --update-partition=yes" in err
    out, _ = site("--vipu-partition=p", "--update-partition=yes", "--num-replicas=4", "--num-instances=2", *SHOW)
    assert untag(out) == ["p 0", "p 1"]
    assert site.partitions() == {}


def test_a_partition_may_stay(site):
    """On record: --remove-partition removes what poprun created, and is yes unless given; what this run has created is
    removed at its end, unless it is to stay."""
    words = ["--vipu-partition=p", "--update-partition=yes", "--remove-partition=no"]
    site(*words, "--num-replicas=32", "--num-instances=2", "true")
    assert site.partitions() == {"p": (32, 2)}
    site(*words, "--num-replicas=8", "--num-instances=4", "true")
    assert site.partitions() == {"p": (8, 4)}


def test_a_partition_that_was_there_is_never_removed(site):
    """On record: one that is there and fits is used."""
    site.vipu("create", "partition", "p", "--size", "4")
    site("--update-partition=yes", "--num-replicas=4", "true")
    assert site.partitions() == {"p": (4, 1)}


@pytest.mark.parametrize("instances", [1, 2, 4])
def test_a_partition_that_does_not_fit_is_reported_with_the_remedy(site, instances):
    """On record: a partition that is absent or does not fit fails the launch, with the advice to update it; a fixed
    partition that was made for another shape ends in a host sync timeout."""
    site.vipu("create", "partition", "p", "--size", "16")
    words = [f"--num-instances={instances}", "--num-replicas=16", "true"]
    job = {"IPU_JOB_IPUS_PER_INSTANCE": "16", "IPUOF_VIPU_API_PARTITION_ID": "p"}
    if instances == 1:
        site(*words, environment=job)
        return
    _, err = site(*words, environment=job, expect=1)
    assert f"set spec.partition.reconfigurable: true or spec.partition.gcds: {instances} in the IPUJob" in err
    _, err = site(*words, expect=1)
    assert "--update-partition=yes replaces it" in err


@pytest.mark.parametrize("instances", [1, 2, 4])
@pytest.mark.parametrize("remedy", ["reconfigurable", "gcds"])
def test_the_remedy_works(site, instances, remedy):
    """A partition as the operator makes it when an IPUJob has the field that the message names."""
    site.vipu("create", "partition", "p", "--size", "16", *(["--reconfigurable"] if remedy == "reconfigurable" else ["--num-gcds", str(instances)]))
    job = {"IPU_JOB_IPUS_PER_INSTANCE": "16", "IPUOF_VIPU_API_PARTITION_ID": "p"}
    out, _ = site(f"--num-instances={instances}", "--num-replicas=16", *SHOW, environment=job)
    assert untag(out) == [f"p {30 if remedy == 'reconfigurable' else index}" for index in range(instances)]


def test_two_partitions_need_a_name(site):
    """On record: --vipu-partition names the partition to use or to create, else there must be exactly one; an option
    for the partition leaves that line out; no partition, or several without a name, is an error."""
    for name in "ab":
        site.vipu("create", "partition", name, "--size", "1", "--reconfigurable")
    _, err = site("true", expect=1)
    assert "several partitions are visible" in err and "--vipu-partition" in err
    out, err = site("-v", "--vipu-partition=b", *SHOW)
    assert untag(out) == ["b 0"] and "Partition b already exists" in err and "only one available" not in err
    assert untag(site(*SHOW, environment={"IPUOF_VIPU_API_PARTITION_ID": "a"})[0]) == ["a 0"]


def test_an_address_by_options_is_stronger(site, poprun):
    site.vipu("create", "partition", "p", "--size", "1", "--reconfigurable")
    wrong = {"VIPU_CLI_API_HOST": "127.0.0.1", "VIPU_CLI_API_PORT": "1"}
    options = ["--vipu-server-host=127.0.0.1", f"--vipu-server-port={site.server.port}"]
    assert untag(poprun(*options, *SHOW, environment=wrong)[0]) == ["p 0"]
    _, err = poprun("true", environment=wrong, expect=1)
    assert "unable to connect to VIRM/V-IPU Controller at 127.0.0.1:1" in err


def test_a_dry_run_changes_nothing(site):
    out, _ = site("--dry-run", "--vipu-partition=p", "--update-partition=yes", "--num-replicas=4", "true")
    assert "'IPUOF_VIPU_API_PARTITION_ID=p'" in out and site.partitions() == {}


@pytest.mark.parametrize("kind", ["ST_POD_NATIVE_DEFAULT", "pod-native-default"])
def test_a_sync_type_is_given_by_either_name(site, kind):
    """On record: --sync-type takes V-IPU's own name for it, as ST_POD_NATIVE_DEFAULT; scripts make such a partition with
    a GCD for each instance and sync type pod-native-default."""
    site("--vipu-partition=p", "--update-partition=yes", "--remove-partition=no", f"--sync-type={kind}",
         "--num-replicas=4", "--num-instances=2", "true")  # fmt: skip
    spec = site.specs()["p"]
    assert (spec["sync_type"], spec["num_gcds"]) == ("ST_POD_NATIVE_DEFAULT", 2)


def test_what_no_partition_can_have_is_rejected(site):
    _, err = site("--vipu-partition=p", "--update-partition=yes", "--num-replicas=3", "true", expect=1)
    assert "partition p cannot be created: " in err
    _, err = site("--vipu-partition=p", "--update-partition=yes", "--sync-type=ST_NONE", "true", expect=1)
    assert "--sync-type" in err and "ST_POD_NATIVE_DEFAULT" in err


@pytest.mark.parametrize("part", ["poprun", "runner"])
def test_a_killed_run_leaves_no_partition(site, poprun, part):
    words = ["--vipu-partition=p", "--update-partition=yes", "sh", "-c", "echo ready; exec sleep 1000"]
    process = poprun.start(*words, environment=site.settings)
    assert process.stdout.readline().endswith("ready\n")
    assert site.partitions() == {"p": (1, 1)}
    with open(f"/proc/{process.pid}/task/{process.pid}/children", encoding="ascii") as file:
        runner = int(file.read())
    os.kill(process.pid if part == "poprun" else runner, signal.SIGKILL)
    process.wait(DEADLINE_S)
    until(lambda: site.partitions() == {}, "the partition is removed")
    poprun.assert_clean()
    process.communicate()
