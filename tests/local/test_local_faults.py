"""Ends and faults: what is left behind, and what is told."""

import fcntl
import os
import re
import signal
import subprocess
from pathlib import Path

import pytest
import yaml
from conftest import NOBODY, job
from waiting import until

MARK = "IPU_RUN_TEST_MARK"
LASTING = "setsid sh -c 'trap \"\" TERM HUP; sleep 1000' & echo up; trap '' TERM; while :; do sleep 0.05; done"


def marked(mark):
    """The processes with this value of the mark in their environment."""
    found = []
    for folder in Path("/proc").iterdir():
        try:
            if folder.name.isdigit() and f"{MARK}={mark}".encode() in (folder / "environ").read_bytes().split(b"\0"):
                found.append(int(folder.name))
        except OSError:
            continue
    return found


def with_mark(mark):
    return {**os.environ, MARK: mark}


def test_nothing_lives_on_after_sigkill(run, prints, tmp_path):
    """Not even what has left its session and ignores signals."""
    mark = str(tmp_path)
    process = run.start(job(LASTING, ipus=8, workersPerJobInstance="2"), env=with_mark(mark))
    prints(process, "[0.0] up")
    prints(process, "[0.1] up")
    assert len(marked(mark)) > 4
    process.kill()
    process.wait()
    until(lambda: not marked(mark), "all processes gone", tell=lambda: str(marked(mark)))
    again = run(job("echo clean"), dir=process.dir)
    assert (again.code, again.lines) == (0, ["[0.0] clean"])
    assert sorted(path.name for path in again.dir.iterdir()) == ["hello.json", "lock", "logs"]


def test_interrupt_deletes_the_job(run, prints, tmp_path):
    process = run.start(job("trap 'echo bye; exit 0' TERM; echo up; while :; do sleep 0.05; done",
                            template={"terminationGracePeriodSeconds": 30}), env=with_mark(str(tmp_path)))
    prints(process, "up")
    process.send_signal(signal.SIGINT)
    done = run.finish(process)
    assert done.code == 130
    assert done.lines[0] == "[0.0] up" and "[0.0] bye" in done.lines
    assert done.states[-1] == "Terminating"
    assert marked(str(tmp_path)) == []


def test_a_second_interrupt_ends_it_at_once(run, prints, tmp_path):
    process = run.start(job(LASTING, template={"terminationGracePeriodSeconds": 1000}), env=with_mark(str(tmp_path)))
    prints(process, "up")
    process.send_signal(signal.SIGINT)
    until(lambda: "again" in process.errors.read_text(), "the first one is acknowledged")
    process.send_signal(signal.SIGINT)
    assert run.finish(process).code == 130
    assert marked(str(tmp_path)) == []


def test_a_time_limit(run, tmp_path):
    done = run(job(LASTING), options=["--timeout", "1"], env=with_mark(str(tmp_path)))
    assert done.code == 1
    assert "has not ended within 1 second" in done.err
    assert marked(str(tmp_path)) == []


def test_what_a_command_leaves_running_ends_with_it(run, tmp_path):
    done = run(job("setsid sleep 1000 >/dev/null 2>&1 & echo done"), env=with_mark(str(tmp_path)))
    assert done.code == 0
    assert marked(str(tmp_path)) == []


def test_two_runs_do_not_see_each_other(run):
    """Not their controllers, nor their ports, nor their files."""
    one = job("", workersPerJobInstance="4", ipus=8, container={"command": None},
              launcher={"command": ["mpirun", "sh", "-c", "echo $IPUOF_VIPU_API_PORT"]})
    processes = [run.start(one) for _ in range(3)]
    ports = []
    for process in processes:
        done = run.finish(process)
        assert done.code == 0, done.out + done.err
        ports.append(set(done.ranks))
    assert [len(found) for found in ports] == [1, 1, 1]
    assert len(set.union(*ports)) == 3


def test_a_directory_in_use(run, prints):
    process = run.start(job(LASTING))
    prints(process, "up")
    done = run(job("true"), dir=process.dir)
    assert done.code == 1
    assert "is in use by another ipu-run; name another directory with --run-dir" in done.err


def test_a_directory_that_is_used_again_has_nothing_of_the_earlier_run(run, prints):
    first = run(job("echo one", name="one"))
    assert (first.dir / "one.json").exists()
    process = run.start(job(LASTING, name="two"), dir=first.dir)
    prints(process, "up")
    assert not (first.dir / "one.json").exists()
    process.send_signal(signal.SIGINT)
    assert run.finish(process).code == 130
    assert sorted(path.name for path in first.dir.glob("**/*.*")) == ["two-worker-0.main.log", "two.json"]


def test_a_lock_that_is_a_symbolic_link_is_not_followed(run, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "precious").write_text("x")
    (tmp_path / "mine" / "lock").symlink_to(tmp_path / "precious")
    done = run(job("true"), dir=tmp_path / "mine")
    assert done.code == 1
    assert "mine/lock: Too many levels of symbolic links" in done.err


def test_a_directory_with_other_files_is_left_alone(run, tmp_path):
    (tmp_path / "mine" / "logs").mkdir(parents=True)
    (tmp_path / "mine" / "logs" / "precious").write_text("x")
    done = run(job("true"), dir=tmp_path / "mine")
    assert done.code == 1
    assert "is not empty, and not the directory of a run" in done.err
    assert (tmp_path / "mine" / "logs" / "precious").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_a_directory_that_is_read_only(run, tmp_path):
    for folder in [tmp_path, *tmp_path.parents][:4]:
        folder.chmod(folder.stat().st_mode | 0o711)
    done = run(job("true"), dir=tmp_path / "below", user=NOBODY, group=NOBODY)
    assert done.code == 1
    assert re.search(r"cannot create .*below: Permission denied; name a writable directory with --run-dir", done.err)


def test_a_machine_without_user_namespaces(run, tmp_path):
    file = tmp_path / "job.yaml"
    file.write_text(yaml.safe_dump(job("true")))
    script = ("echo 0 > /proc/sys/user/max_user_namespaces && exec setpriv --no-new-privs --inh-caps=-all --bounding-set=-all "
              f"{run.program} --run-dir {tmp_path}/run {file}")
    done = subprocess.run(["unshare", "--user", "--map-root-user", "sh", "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "this machine does not allow user namespaces" in done.stderr and "or run it as root" in done.stderr
    assert not (tmp_path / "run").exists()


def test_a_full_disk(run, tmp_path):
    """A log that cannot be written is told; the job goes on, and its output is shown."""
    small = tmp_path / "small"
    small.mkdir()
    (tmp_path / "job.yaml").write_text(yaml.safe_dump(job("head -c 20000000 /dev/zero | tr '\\0' x | fold -w 1000; echo; echo end")))
    script = (f"mount -t tmpfs -o size=12m tmpfs {small} && cd / && exec {run.program} --run-dir {small}/run {tmp_path}/job.yaml")
    done = subprocess.run(["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", script], capture_output=True, text=True,
                          check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "\n[0.0] end\n" in done.stdout
    assert "No space left on device; this log is incomplete" in done.stderr
    assert done.stderr.count("this log is incomplete") == 1


def test_a_working_directory_that_is_not_there(run):
    done = run(job("true", container={"workingDir": "/not/here"}))
    assert done.code == 1
    assert "cannot enter the working directory /not/here: No such file or directory" in done.out


def test_an_output_that_nobody_reads(run, tmp_path):
    """As in `ipu-run job.yaml | head -1`."""
    file = tmp_path / "job.yaml"
    file.write_text(yaml.safe_dump(job("while :; do echo line; sleep 0.01; done")))
    process = subprocess.Popen([run.program, "--run-dir", tmp_path / "run", file], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               env=with_mark(str(tmp_path)))
    process.stdout.readline()
    process.stdout.close()
    errors = process.stderr.read().decode()
    process.stderr.close()
    assert process.wait(timeout=60) == 1
    assert "\nipu-run: deleting the job, as its output cannot be written: Broken pipe\n" in errors
    assert marked(str(tmp_path)) == []


@pytest.mark.parametrize("options, message", [
    ([], "deleting the job, as its output cannot be written: No space left on device"),
    (["-o", "json"], "cannot print the final state: No space left on device"),
])
def test_an_output_that_is_full(run, tmp_path, options, message):
    file = tmp_path / "job.yaml"
    file.write_text(yaml.safe_dump(job("echo line")))
    with open("/dev/full", "w") as full:
        done = subprocess.run([run.program, "--run-dir", tmp_path / "run", *options, file], stdout=full, stderr=subprocess.PIPE, text=True,
                              check=False, timeout=60)
    assert done.returncode == 1
    assert done.stderr.count(f"ipu-run: {message}\n") == 1, done.stderr
    assert (tmp_path / "run" / "hello.json").exists()


def test_what_is_not_on_this_machine_is_told_at_the_start(run, tmp_path):
    (tmp_path / "file").touch()
    volumes = [{"name": f"v{n}", "hostPath": {"path": f"{tmp_path}/{path}", "type": kind}}
               for n, (path, kind) in enumerate([("none", ""), ("file", "Directory"), ("file", "File"), ("made", "DirectoryOrCreate"),
                                                 ("new", "FileOrCreate")])]
    mounts = [{"name": "v3", "mountPath": "/made", "subPathExpr": "a/../b"}]
    done = run(job("true", template={"volumes": volumes}, container={"volumeMounts": mounts}))
    assert done.code == 2
    spec = "spec.workers.template.spec"
    assert [line.partition("Invalid value: ")[2] for line in done.err.splitlines()] == [
        'must be a relative path without ".."',
        f'"{tmp_path}/none": No such file or directory on this machine; create it, or set type: DirectoryOrCreate',
        f'"{tmp_path}/file": is not a directory on this machine']
    assert f"{spec}.containers[0].volumeMounts[0].subPathExpr: " in done.err and f"{spec}.volumes[0].hostPath.path: " in done.err
    mounts[0]["subPathExpr"] = "b"
    done = run(job("[ -d /made ] && echo there", template={"volumes": volumes[2:]}, container={"volumeMounts": mounts}))
    assert done.lines == ["[0.0] there"], done.err
    assert (tmp_path / "new").is_file()


def test_what_shows_only_when_a_container_starts_ends_it(run):
    """Nobody here would change what is wrong."""
    container = {"env": [{"name": "WHERE", "value": ".."}], "volumeMounts": [{"name": "v", "mountPath": "/v", "subPathExpr": "a/$(WHERE)"}]}
    done = run(job("true", template={"volumes": [{"name": "v", "emptyDir": {}}]}, container=container), options=["-o", "json"])
    assert done.code == 1
    assert done.final["status"]["lastMessage"] == (
        'Pod hello-worker-0 failed: ContainerCannotStart: volume v: invalid subPath "a/.."')
    init = {"initContainers": [{"name": "first", "command": ["true"], **container}], "volumes": [{"name": "v", "emptyDir": {}}]}
    done = run(job("true", template=init), options=["-o", "json"])
    assert done.final["status"]["lastMessage"].endswith('ContainerCannotStart: volume v: invalid subPath "a/.."')


def test_the_newest_runs_are_kept(run, tmp_path):
    """Without those that still run, and nothing that is no run."""
    kept = tmp_path / "state" / "ipu-run"
    for n in range(55):
        (kept / f"20200101-0000{n:02}-1").mkdir(parents=True)
        (kept / f"20200101-0000{n:02}-1" / "lock").touch()
    (kept / "20200101-000000-1" / "logs").mkdir()
    (kept / "20200101-000002-1" / "lock").unlink()
    (kept / "mine").mkdir()
    held = open(kept / "20200101-000001-1" / "lock")
    fcntl.flock(held, fcntl.LOCK_EX)
    file = tmp_path / "job.yaml"
    file.write_text(yaml.safe_dump(job("true")))
    done = subprocess.run([run.program, file], env={**os.environ, "XDG_STATE_HOME": str(tmp_path / "state")}, capture_output=True, check=False)
    assert done.returncode == 0
    names = sorted(path.name for path in kept.iterdir())
    assert names[:3] == ["20200101-000001-1", "20200101-000002-1", "20200101-000006-1"]
    assert len(names) == 50 + 2 + 1 and "mine" in names and names[-2] > "2026"
