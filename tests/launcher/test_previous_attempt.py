"""A restarted pod's log begins with what the operator reports of the attempt before it."""

import pytest

REPORT = "It failed: $(HOME)\nLast lines:\n\nepoch 1\tof 9\nKeyError: \x1b[2J"
PRINTED = ("ipu-launch: It failed: $(HOME)\nipu-launch: Last lines:\nipu-launch: \nipu-launch: epoch 1\tof 9\n"
           "ipu-launch: KeyError: \\x1b[2J\nipu-launch: The output of this attempt follows.\n")


def test_the_report_comes_before_the_programs_output(call):
    ended = call("run", "--", "sh", "-c", "echo ${IPU_JOB_PREVIOUS_ATTEMPT-not set} >&2", env={"PATH": "/usr/bin:/bin", "IPU_JOB_PREVIOUS_ATTEMPT": REPORT})
    assert (ended.stdout, ended.stderr) == ("", PRINTED + "not set\n"), "it is of no use to the program"


@pytest.mark.parametrize("env", [{}, {"IPU_JOB_PREVIOUS_ATTEMPT": ""}], ids=["first", "empty"])
def test_a_first_attempt_has_none(call, env):
    assert call("run", "--", "true", env={"PATH": "/usr/bin:/bin", **env}).stderr == ""


def test_a_workers_agent_begins_with_it_too(call):
    ended = call("agent", env={"PATH": "/usr/bin:/bin", "IPU_JOB_PREVIOUS_ATTEMPT": REPORT})
    assert ended.stderr.startswith(PRINTED) and ended.returncode == 125, "it has no key, and says so next"


def test_the_init_container_prints_it_where_an_image_runs_its_own_entry_point(call, tmp_path):
    ended = call("install", str(tmp_path), env={"PATH": "/usr/bin:/bin", "IPU_JOB_PREVIOUS_ATTEMPT": REPORT})
    assert (ended.stderr, ended.returncode) == (PRINTED, 0)


def test_what_is_started_later_in_the_pod_prints_none(call):
    ended = call("exec", "--", "true", env={"PATH": "/usr/bin:/bin", "IPU_JOB_PREVIOUS_ATTEMPT": REPORT})
    assert ended.stderr == ""


def test_a_report_is_bounded(call):
    ended = call("run", "--", "true", env={"PATH": "/usr/bin:/bin", "IPU_JOB_PREVIOUS_ATTEMPT": "x" * 100_000})
    assert len(ended.stderr) < 5000 and ended.stderr.endswith("ipu-launch: The output of this attempt follows.\n")
