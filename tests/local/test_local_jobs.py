"""Jobs that ipu-run runs to their end: what the operator decides, and what programs find."""

import json
import re
import socket
import subprocess

from conftest import BUILD, job


def environment(line_of_rank):
    return dict(line.split(" ", 1)[1].split("=", 1) for line in line_of_rank if "=" in line)


def test_prints_the_log_and_the_end_of_a_job(run):
    done = run(job("echo hello; echo oops >&2"))
    assert done.code == 0, done.err
    assert sorted(done.lines) == ["[0.0] hello", "[0.0] oops"]
    assert done.out.splitlines()[-1].split(maxsplit=3)[2:] == ["Completed", "All instances done"]
    assert sorted((done.dir / "logs" / "hello-worker-0.main.log").read_text().split()) == ["hello", "oops"]
    kept = json.loads((done.dir / "hello.json").read_text())
    assert kept["status"]["launcherStatus"] == "Completed"
    assert sorted(path.name for path in done.dir.iterdir()) == ["hello.json", "lock", "logs"]


def test_reports_a_failure_with_its_last_lines(run):
    done = run(job("echo fine; echo the reason; exit 3"), options=["-o", "json"])
    assert done.code == 1
    status = done.final["status"]
    assert status["launcherStatus"] == "Failed"
    assert status["lastMessage"] == "Container main of pod hello-worker-0 exited with code 3: the reason"
    assert status["failures"][0]["exitCode"] == 3


def test_reports_a_signal(run):
    done = run(job("kill -9 $$$$"), options=["-o", "json"])
    assert "was killed by SIGKILL (exit code 137)" in done.final["status"]["lastMessage"]


def test_a_killed_python_program_has_lost_no_line(run):
    """As kubeflow/training-operator has it, pkg/controller.v1/pytorch/envvar.go."""
    done = run(job("", container={"command": ["python3", "-c", "import os; print('epoch 1'); os.kill(os.getpid(), 9)"]}))
    assert (done.code, done.lines) == (1, ["[0.0] epoch 1"])


def test_workers_find_each_other_and_their_share(run):
    """By the names that a cluster's DNS knows, of which every worker has the same list."""
    done = run(job('env | grep -E "^(RANK|WORLD_SIZE|POPDIST|MASTER_ADDR)"; getent hosts "$MASTER_ADDR" >/dev/null && echo found=1',
                   ipus=16, workersPerJobInstance="16", modelReplicasPerWorker="1"))
    assert done.code == 0, done.out + done.err
    for rank in range(16):
        found = environment([line for line in done.lines if line.startswith(f"[0.{rank}]")])
        assert (found["RANK"], found["WORLD_SIZE"], found["found"]) == (str(rank), "16", "1")
        assert found["POPDIST_REPLICA_INDEX_OFFSET"] == str(rank)
        assert found["MASTER_ADDR"] == "hello-worker-0.hello-workers.default.svc"


def test_a_launcher_starts_ranks_on_workers_by_mpirun(run):
    done = run(job("", workersPerJobInstance="4", ipus=8, container={"command": None},
                   launcher={"command": ["mpirun", "sh", "-c", "echo rank $OMPI_COMM_WORLD_RANK on $(hostname)"]}))
    assert done.code == 0, done.out + done.err
    assert done.ranks == [f"rank {n} on hello-worker-{n}" for n in range(4)]


def test_a_failure_of_mpirun_ends_the_job_soon(run):
    """An operator waits five seconds for a kubelet to report a worker's end as the cause."""
    done = run(job("", workersPerJobInstance="2", ipus=8, container={"command": None}, launcher={"command": ["mpirun", "sh", "-c", "exit 3"]}))
    said = [float(second) for second in re.findall(r"^ *([\d.]+) s  .*(?:Launcher pod hello-launcher failed|Failed .*exited with code 3)", done.out, re.MULTILINE)]
    assert done.code == 1 and done.states[-2:] == ["Running", "Failed"], done.out
    assert len(said) == 2 and said[1] - said[0] < 4, done.out


def test_instances_run_side_by_side_on_partitions_of_their_own(run):
    done = run(job("echo $IPUOF_VIPU_API_PARTITION_ID; vipu list partitions | grep -c ACTIVE", jobInstances=2))
    assert done.code == 0
    assert {"[0.0] p-hello-default-0", "[1.0] p-hello-default-1"} <= set(done.lines)


def test_a_failure_is_restarted_as_in_a_cluster(run, tmp_path):
    """The second start is ten seconds after the first."""
    done = run(job(f"echo try; test -e {tmp_path}/seen || {{ touch {tmp_path}/seen; exit 1; }}",
                   restartPolicy={"type": "OnFailure", "backOffLimit": 1}))
    assert done.code == 0, done.out
    assert (done.states[0], done.states[-1]) == ("Running", "Completed") and "Restarting" in done.states
    report = [line for line in done.lines if line.startswith("[0.0] ipu-launch: ")]  # standard error, which is read apart
    assert [line for line in done.lines if line not in report] == ["[0.0] try"] * 2
    assert report[0] == "[0.0] ipu-launch: This is restart 1 of instance 0."
    assert report[-2:] == ["[0.0] ipu-launch: try", "[0.0] ipu-launch: The output of this attempt follows."]


def test_a_deadline_ends_a_job(run):
    done = run(job("sleep 1000", activeDeadlineSeconds=1), options=["-o", "json"])
    assert done.code == 1
    assert done.final["status"]["reason"] == "DeadlineExceeded", done.final["status"]


def test_a_deadline_is_lowered_while_the_pod_runs(run):
    """The pod has one of its own; the operator stops it by a shorter one."""
    done = run(job("sleep 1000", activeDeadlineSeconds=1, template={"activeDeadlineSeconds": 100}), options=["-o", "json", "--timeout", "20"])
    assert done.final["status"]["reason"] == "DeadlineExceeded", done.err


def test_every_container_is_asked_to_end_once(run):
    side = {"name": "side", "restartPolicy": "Always", "command": ["sh", "-c", "trap 'echo asked' TERM; while :; do sleep 0.05; done"]}
    done = run(job("sleep 0.2", template={"initContainers": [side, side | {"name": "other"}]}))
    assert done.code == 0
    assert sorted(done.lines) == ["[0.0 other] asked", "[0.0 side] asked"]


def test_values_are_set_from_the_command_line(run):
    done = run(job("echo $IPU_JOB_IPUS_PER_INSTANCE"), options=["--set", "spec.ipusPerJobInstance=8"])
    assert done.lines == ["[0.0] 8"]


def test_the_simulated_system_has_as_many_ipus_as_asked_for(run):
    done = run(job("vipu list agents | grep -c '^ag' || true; vipu --version >/dev/null && echo ok", ipus=128), options=["--ipus", "128"])
    assert done.code == 0, done.out + done.err
    assert "[0.0] ok" in done.lines


def test_several_jobs_of_one_file(run):
    done = run(job("echo one", name="one"), job("echo two; exit 1", name="two"), options=["-o", "json"])
    assert done.code == 1
    assert {item["metadata"]["name"]: item["status"]["launcherStatus"] for item in done.final["items"]} == \
        {"one": "Completed", "two": "Failed"}


def test_jobs_wait_for_ipus_in_line(run):
    done = run(job("echo $(date +%s%N)", name="one", ipus=64), job("echo $(date +%s%N)", name="two", ipus=64))
    assert done.code == 0
    assert [line.split("]")[0] for line in done.lines] == ["[one 0.0", "[two 0.0"]


def test_the_output_of_a_long_line_and_of_a_last_line_without_end(run):
    done = run(job("head -c 100000 /dev/zero | tr '\\0' x; printf ' end'"))
    assert done.lines == ["[0.0] " + "x" * 65536, "[0.0]+ " + "x" * (100000 - 65536) + " end"]
    assert (done.dir / "logs" / "hello-worker-0.main.log").read_text() == "x" * 100000 + " end\n"


def test_colour_is_for_terminals_alone(run):
    assert "\x1b" not in run(job("echo hello")).out


def test_a_job_comes_from_standard_input(run):
    done = subprocess.run([run.program, "--run-dir", run.folder / "run", "-"], input=json.dumps(job("echo hello")), capture_output=True,
                          text=True, check=False)
    assert (done.returncode, "[0.0] hello" in done.stdout) == (0, True), done.stderr


def test_a_controller_that_exists_gets_its_ipus_back(run, tmp_path):
    vipu = BUILD / "vipu"
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    server = subprocess.Popen([vipu / "vipu-server", "--listen", f"127.0.0.1:{port}", "--storage", tmp_path / "vipu.db"],
                              stderr=subprocess.PIPE, text=True)
    try:
        while "serving" not in server.stderr.readline():
            pass
        ask = [vipu / "vipu", "--api-host", "127.0.0.1", "--api-port", str(port), "list", "partitions", "--showjson"]
        done = run(job(f"{' '.join(map(str, ask))}"), options=["--controller", f"127.0.0.1:{port}"])
        assert done.code == 0, done.out + done.err
        assert "p-hello-default-0" in "".join(done.lines)
        assert "p-hello" not in subprocess.run(ask, capture_output=True, text=True, check=True).stdout
    finally:
        server.terminate()
        server.communicate()


def test_a_controller_that_does_not_answer_is_told(run):
    done = run(job("true"), options=["--controller", "127.0.0.1:1", "--timeout", "2", "-o", "json"])
    assert done.code == 1
    assert "127.0.0.1:1" in done.err
