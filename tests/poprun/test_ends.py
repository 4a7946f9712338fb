"""However a run ends, no process and no directory is left."""

import os
import signal
from pathlib import Path

import pytest

from calls import DEADLINE_S, children, processes_with, until

WAIT = ["--offline-mode=on", "--num-replicas=2", "--num-instances=2", "sh", "-c", "echo ready; exec sleep 1000"]


def start(poprun):
    process = poprun.start(*WAIT)
    ready = [process.stdout.readline() for _ in range(2)]
    assert all(line.endswith("ready\n") for line in ready)
    return process


def parts(process):
    """The runner, mpirun and an instance of it."""
    (runner,) = children(process.pid)
    (mpirun,) = children(runner)
    instances = until(lambda: len(children(mpirun)) == 2 and children(mpirun), "both instances run")
    return {"poprun": process.pid, "runner": runner, "mpirun": mpirun, "instance": instances[0]}


@pytest.mark.parametrize("part", ["poprun", "runner", "mpirun", "instance"])
@pytest.mark.parametrize("name", ["SIGKILL", "SIGTERM"])
def test_any_part_may_be_ended(poprun, part, name):
    process = start(poprun)
    os.kill(parts(process)[part], signal.Signals[name])
    status = process.wait(DEADLINE_S)
    assert status != 0
    poprun.assert_clean()
    process.stdout.close()
    process.stderr.close()


@pytest.mark.parametrize("end", ["exit 3", "kill -KILL $$", "kill -ABRT $$", "kill -SEGV $$"])
def test_the_cache_goes_away_however_the_program_ends(poprun, end):
    """On record: abnormal ends are exit codes other than 0 and signals such as SIGKILL and SIGABRT."""
    script = f'touch "$POPDIST_EXECUTABLE_CACHE_PATH/$POPDIST_LOCAL_INSTANCE_INDEX" && echo made >&2 && ulimit -c 0 && {end}'
    process = poprun.start("--offline-mode=on", "--num-replicas=2", "--num-instances=2", "sh", "-c", script)
    _, err = process.communicate(timeout=DEADLINE_S)
    assert process.returncode not in (0, None) and "made" in err
    poprun.assert_clean()


def test_what_a_killed_run_leaves_goes_with_the_next(poprun):
    """If runner and guard are killed, the next run cleans up; what a live run has stays."""
    killed, lives = start(poprun), start(poprun)
    runner, stays = parts(killed)["runner"], parts(lives)["instance"]
    kept = {path for path in poprun.temporary.glob("poprun-cache-*") if str(path).encode() in Path(f"/proc/{stays}/environ").read_bytes()}
    os.kill(runner, signal.SIGSTOP)  # or it would tidy up when its guard ends
    killed.kill()
    killed.wait(DEADLINE_S)
    os.kill(runner, signal.SIGKILL)  # mpirun is told once, by this; a second time would have it leave its instances
    killed.communicate(timeout=DEADLINE_S)
    assert len(kept) == 1 and len(list(poprun.temporary.glob("poprun-cache-*"))) == 2
    poprun.offline("--num-replicas=2", "--num-instances=2", "true")
    assert set(poprun.temporary.glob("poprun-cache-*")) == kept
    lives.terminate()
    lives.communicate(timeout=DEADLINE_S)
    poprun.assert_clean()


def test_an_interrupt_ends_the_run(poprun):
    process = start(poprun)
    process.send_signal(signal.SIGINT)
    assert process.wait(DEADLINE_S) != 0
    poprun.assert_clean()
    process.communicate()


def patient(seconds):
    """mpirun wakes instances up that are to end, waits that long, asks them to end, waits again and kills them."""
    return ["--offline-mode=on", "--num-replicas=2", "--num-instances=2",
            f"--mpi-global-args=--mca odls_base_sigkill_timeout {seconds}"]  # fmt: skip


def to_the_group(process, name):
    os.killpg(process.pid, signal.Signals[name])


def to_poprun(process, name):
    process.send_signal(signal.Signals[name])


@pytest.mark.parametrize("send, name", [(to_the_group, "SIGTERM"), (to_the_group, "SIGINT"), (to_poprun, "SIGTERM")])
def test_instances_have_time_to_end(poprun, send, name):
    """As in a pod: its parent there signals the whole group, which is one request all the same."""
    script = "trap 'echo saved; exit 0' TERM; echo ready; while :; do sleep 0.1; done"
    process = poprun.start(*patient(5), "bash", "-c", script, start_new_session=True)
    assert all(process.stdout.readline().endswith("ready\n") for _ in range(2))
    send(process, name)
    out, err = process.communicate(timeout=DEADLINE_S)
    assert out.count("saved") == 2, err
    assert process.returncode != 0
    poprun.assert_clean()


def test_a_second_request_is_an_order(poprun, tmp_path):
    heard = tmp_path / "heard"
    script = f"trap 'touch {heard}' CONT; echo ready; while :; do sleep 0.1; done"
    process = poprun.start(*patient(600), "bash", "-c", script, start_new_session=True)
    assert all(process.stdout.readline().endswith("ready\n") for _ in range(2))
    to_the_group(process, "SIGTERM")
    until(heard.exists, "mpirun wakes the instances up, before it asks them to end")
    to_the_group(process, "SIGTERM")
    assert process.wait(DEADLINE_S) == 128 + signal.SIGKILL
    poprun.assert_clean()
    process.communicate()


def test_what_a_program_leaves_in_the_background_ends_with_the_run(poprun):
    poprun.offline("sh", "-c", "setsid sleep 1000 >/dev/null 2>&1 </dev/null & echo started")
    assert processes_with(poprun.mark) == []
