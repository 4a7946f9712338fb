"""poprun and a V-IPU controller that has several domains and allocations, or in which something goes wrong."""

import re

import pytest

from calls import untag
from faults import set_faults

ADMIN = "admin-listen: 127.0.0.1:0\nauto-reset-retries: 0\nclusters: [{id: cl1}]\n"
WIDE = """
clusters:
  - id: cl1
    ipulink-domains: 2
    topology: mesh
    allocations: [{id: small, agents: [ag1, ag2, ag3, ag4]}]
  - {id: cl2, agents: 4}
"""
CREATE = ["--vipu-partition=p", "--update-partition=yes"]
KEEP = [*CREATE, "--remove-partition=no"]


@pytest.fixture
def faulty(serve):
    return serve(ADMIN)


@pytest.fixture
def wide(serve):
    """Two clusters: of two IPU-Link domains with 64 IPUs each, and of 16 IPUs."""
    return serve(WIDE)


def lines_of(err):
    return [re.sub(r"^[\d:.]+ \d+ POPRUN ", "", line) for line in err.splitlines()]


def test_a_partition_that_fails_at_first_is_made_again(faulty):
    """On record: --vipu-partition-attempts is how often to try for a partition that does not become active, 1 unless
    given."""
    set_faults(faulty.server, "partitions: [{partition: p, on: create, times: 1, error: no clock}]")
    out, err = faulty("-v", *CREATE, "--vipu-partition-attempts=2", "echo", "x")
    assert untag(out) == ["x"]
    assert "[W] Attempt 1 of 2: partition p is in state ERROR: no clock" in lines_of(err)
    assert faulty.partitions() == {}


@pytest.mark.parametrize("attempts", [1, 3])
def test_a_partition_that_always_fails_is_reported_and_removed(faulty, attempts):
    set_faults(faulty.server, "partitions: [{partition: p, on: create, error: no clock}]")
    _, err = faulty(*KEEP, f"--vipu-partition-attempts={attempts}", "true", expect=1)
    output = lines_of(err)
    assert output[-1] == "[E] partition p cannot be created: partition p is in state ERROR: no clock"
    assert len(output) == attempts and faulty.partitions() == {}


@pytest.mark.parametrize("attempts", [1, 2])
def test_one_that_was_made_without_an_answer_does_not_stay(faulty, attempts):
    set_faults(faulty.server, "calls: [{method: CreatePartition, status: UNAVAILABLE, takes-effect: true, times: 1}]")
    faulty(*CREATE, f"--vipu-partition-attempts={attempts}", "true", expect=2 - attempts)
    assert faulty.partitions() == {}


def test_one_that_takes_too_long_does_not_stay(serve):
    slow = serve("clusters: [{id: cl1}]\n", times="create-ms: 600000\nremove-ms: 0\n")
    _, err = slow(*CREATE, "--vipu-server-timeout=5", "--vipu-partition-attempts=2", "true", expect=1)
    assert lines_of(err) == ["[W] Attempt 1 of 2: timed out after 5 s waiting for partition p to become active",
                             "[E] partition p cannot be created: timed out after 5 s waiting for partition p to become active"]  # fmt: skip
    assert slow.partitions() == {}


def test_a_removal_that_gets_lost_is_asked_for_again(faulty):
    set_faults(faulty.server, "calls: [{method: RemovePartition, status: UNAVAILABLE, times: 3}]")
    assert faulty(*CREATE, "true") == ("", "")
    assert faulty.partitions() == {}


def test_a_partition_that_cannot_be_removed_is_reported(faulty):
    """The run itself went well, and so says the exit status."""
    set_faults(faulty.server, "calls: [{method: RemovePartition, status: FAILED_PRECONDITION}]")
    _, err = faulty(*CREATE, "true")
    (line,) = lines_of(err)
    assert line.startswith("[E] Partition p could not be removed: ") and line.endswith("; vipu remove partition p")


def test_another_owners_partition_of_that_name_stays(faulty):
    """It was made after poprun had looked: the list that poprun sees lacks it."""
    faulty.vipu("create", "partition", "other", "--size", "1")
    set_faults(faulty.server, "calls: [{method: CreatePartition, status: ALREADY_EXISTS, takes-effect: true}]")
    _, err = faulty(*CREATE, "true", expect=1)
    assert "partition p cannot be created" in err
    assert faulty.partitions().keys() == {"other", "p"}


@pytest.mark.parametrize("kind,option,resets", [
    ("fixed", None, True),
    ("fixed", "no", False),
    ("fixed", "yes", True),
    ("reconfigurable", None, False),
    ("reconfigurable", "no", False),
    ("reconfigurable", "yes", True),
])  # fmt: skip
def test_a_partition_is_reset_first_or_not(faulty, kind, option, resets):
    """On record: --reset-partition is yes for fixed partitions and no for reconfigurable ones unless given."""
    faulty.vipu("create", "partition", "p", "--size", "4", *(["--reconfigurable"] if kind == "reconfigurable" else []))
    set_faults(faulty.server, "partitions: [{partition: p, on: reset, times: 1, error: no clock}]")
    words = ["--num-replicas=4", *([f"--reset-partition={option}"] if option else []), "true"]
    _, err = faulty(*words, expect=int(resets))
    if resets:
        assert lines_of(err) == ["[E] partition p did not become active: partition p is in state ERROR: no clock"]
        faulty(*words)  # the next reset works


def test_a_reset_is_tried_again(faulty):
    """On record: one that does not become active is tried again as often as asked."""
    faulty.vipu("create", "partition", "p", "--size", "4")
    set_faults(faulty.server, "partitions: [{partition: p, on: reset, times: 2, error: no clock}]")
    out, _ = faulty("--num-replicas=4", "--vipu-partition-attempts=3", "echo", "x")
    assert untag(out) == ["x"] and faulty.partitions() == {"p": (4, 1)}


def test_a_partition_in_error_is_reported_with_the_remedy(faulty):
    """On record: devices in error are cured by a reset of their partition."""
    faulty.vipu("create", "partition", "p", "--size", "4", "--reconfigurable")
    set_faults(faulty.server, "partitions: [{partition: p, on: now, times: 1, error: its cable is out}]")
    _, err = faulty("true", expect=1)
    assert lines_of(err) == ["[E] partition p did not become active (--reset-partition=yes may help): "
                             "partition p is in state ERROR: its cable is out"]  # fmt: skip
    assert untag(faulty("--reset-partition=yes", "echo", "x")[0]) == ["x"]


def test_a_controller_that_does_not_answer_is_waited_for_no_longer_than_asked(faulty):
    """The controller knows the deadline: on a busy machine it may be the first to say that it has passed."""
    set_faults(faulty.server, "stall: true")
    _, err = faulty("--vipu-server-timeout=1", "true", expect=1)
    assert re.search("no (response|connection) within 1000 ms|DEADLINE_EXCEEDED: the call's deadline passed", err)
    set_faults(faulty.server, "{}")


def test_what_is_created_has_a_domain_and_replicas_as_asked(wide):
    """On record: several instances on several pods, --num-ilds being their IPU-Link domains; one that does not fit is
    replaced under its name when updates are allowed, else the launch fails; PopRun never creates a reconfigurable
    partition; for 32 replicas, 2 instances and 2 domains it has 32 IPUs, 2 GCDs, 2 replicas and 2 domains."""
    out, _ = wide(*KEEP, "--print-topology=yes", "--num-replicas=32", "--num-instances=2", "--num-ilds=2", "--ipus-per-replica=1", "true")
    spec = wide.specs()["p"]
    assert (len(spec["ipus"]), spec["num_gcds"], spec["num_replicas"], spec["num_ipulink_segments"]) == (32, 2, 2, 2)
    assert not spec.get("reconfigurable")
    assert re.search(r"^\| ILDs +\| +0 +\| +1 +\|$", out, re.MULTILINE)
    # It fits the same run, and another that uses it differently does not: then it is replaced, when that is allowed.
    assert wide("--num-replicas=32", "--num-instances=2", "--num-ilds=2", "true") == ("", "")
    _, err = wide("--num-replicas=32", "--num-instances=2", "--num-ilds=1", "true", expect=1)
    assert "partition p has 2 IPU-Link domains and --num-ilds is 1; --update-partition=yes replaces it" in err
    wide(*KEEP, "--num-replicas=32", "--num-instances=2", "--num-ilds=1", "true")
    assert wide.specs()["p"]["num_ipulink_segments"] == 1


def test_a_run_spans_no_more_domains_than_it_has_instances(serve):
    """graphcore/examples, applications/pytorch/vit/README_Benchmarks.md: --num-ilds=8 and 4 instances of 16 IPUs, each of
    which is in one IPU-Link domain."""
    site = serve("clusters: [{id: cl1, ipulink-domains: 8}]\n")
    words = [*KEEP, "--ipus-per-replica=4", "--num-ilds=8", "--num-replicas=16", "--num-instances=4"]
    warning = "[W] --num-ilds=8: 4 instances span at most 4 IPU-Link domains, one for each instance; requesting 4"
    for _ in range(2):  # the second time it is there
        out, err = site(*words, "sh", "-c", "echo $IPUOF_VIPU_API_GCD_ID")
        assert (untag(out), lines_of(err)) == (["0", "1", "2", "3"], [warning])
        spec = site.specs()["p"]
        assert (len(spec["ipus"]), spec["num_gcds"], spec["num_ipulink_segments"]) == (64, 4, 4)
    out, _ = site.poprun.offline(*words, "--print-topology=yes", "true")
    assert re.search(r"^\| ILDs +(\| +[0-3] +){4}\|$", out, re.MULTILINE)


def test_domains_that_a_cluster_lacks_are_rejected_with_the_remedy(wide):
    """graphcore/examples, applications/pytorch/conformer/README_Benchmarks.md: 64 IPUs of one POD over 4 domains."""
    words = ["--ipus-per-replica=4", "--num-replicas=16", "--num-instances=4"]
    _, err = wide(*KEEP, "--num-ilds=4", *words, "true", expect=1)
    assert "64 IPUs over 4 IPU-Link domains can never fit: they fit over another number of domains, 144 IPUs in all" in err
    assert wide(*CREATE, *words, "true") == ("", "")
    _, err = wide(*CREATE, "--num-replicas=256", "--num-instances=4", "true", expect=1)
    assert "--num-ilds" not in err


def test_a_job_of_several_domains_needs_no_number_of_them(wide):
    """On record: --num-ilds is left to V-IPU unless given; a GCD is what one instance compiles for, and lies in one
    IPU-Link domain; programs read ipuLinkDomainSize out of POPLAR_TARGET_OPTIONS."""
    out, _ = wide(*CREATE, "--num-replicas=128", "--num-instances=2", "sh", "-c", 'echo "$IPUOF_VIPU_API_GCD_ID $POPLAR_TARGET_OPTIONS"')
    assert [line.split()[0] for line in untag(out)] == ["0", "1"]
    assert all('"ipuLinkDomainSize":"64"' in line and '"instanceSize":"64"' in line for line in untag(out))
    _, err = wide(*CREATE, "--num-replicas=128", "true", expect=1)
    assert "partition p cannot be created: " in err and wide.partitions() == {}


def test_replicas_of_the_partition_do_not_matter(wide):
    """Replicas that V-IPU counts are for synchronisation: any number fits."""
    wide.vipu("create", "partition", "p", "--size", "16", "--num-gcds", "2", "--gcd-sync-replicas", "16", "--cluster", "cl1")
    assert wide("--num-replicas=4", "--num-instances=2", "--ipus-per-replica=4", "true") == ("", "")


def test_a_partition_is_made_where_it_is_asked_for(wide):
    """On record: --vipu-cluster is the old form of --vipu-allocation, which says where to create."""
    wide(*KEEP, "--vipu-allocation=small", "--num-replicas=16", "true")
    assert wide.specs()["p"]["allocation_id"] == "small"
    _, err = wide("--vipu-partition=q", "--update-partition=yes", "--vipu-allocation=small", "true", expect=1)
    assert "not enough free IPUs: 1 IPU" in err
    wide("--vipu-partition=q", *KEEP[1:], "--vipu-cluster=cl2", "--num-replicas=4", "true")
    assert wide.specs()["q"]["cluster_id"] == "cl2"
    _, err = wide("--vipu-partition=r", "--update-partition=yes", "--vipu-allocation=elsewhere", "true", expect=1)
    assert "partition r cannot be created: " in err and "elsewhere" in err


def test_a_partition_that_does_not_fit_changes_nothing(wide):
    wide.vipu("create", "partition", "other", "--size", "64", "--cluster", "cl1", "--index", "0")
    _, err = wide(*CREATE, "--num-replicas=128", "--num-instances=2", "true", expect=1)
    assert "partition p cannot be created: " in err and "not enough free IPUs: 128 IPUs" in err
    assert wide.partitions() == {"other": (64, 1)}
