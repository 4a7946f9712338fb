"""What the command finds in its environment. The arithmetic is in the unit tests; here is the real program."""

import os

SHAPE = {
    "IPU_JOB_IPUS_PER_INSTANCE": "16",
    "IPU_JOB_WORKERS": "2",
    "IPU_JOB_WORKER_INDEX": "1",
    "IPU_JOB_REPLICAS_PER_WORKER": "2",
    "IPU_JOB_TARGET_OPTIONS": '{"instanceSize":"8"}',
    "IPU_JOB_MASTER_ADDR": "job-worker-0.job",
    "IPU_JOB_MASTER_PORT": "29500",
    "IPU_DEFAULT_IPUOF_LOG_LEVEL": "WARN",
}
WANTED = {
    "POPDIST_NUM_TOTAL_REPLICAS": "4",
    "POPDIST_NUM_IPUS_PER_REPLICA": "4",
    "POPDIST_NUM_LOCAL_REPLICAS": "2",
    "POPDIST_UNIFORM_REPLICAS_PER_INSTANCE": "1",
    "POPDIST_REPLICA_INDEX_OFFSET": "2",
    "POPDIST_LOCAL_INSTANCE_INDEX": "0",
    "POPLAR_TARGET_OPTIONS": '{"instanceSize":"8"}',
    "RANK": "1",
    "WORLD_SIZE": "2",
    "LOCAL_RANK": "0",
    "MASTER_ADDR": "job-worker-0.job",
    "MASTER_PORT": "29500",
    "IPUOF_LOG_LEVEL": "WARN",
}


def of_mpirun(launcher):
    """How mpirun starts ranks, in every pod."""
    rank = f"{launcher} rank --"
    return {"OMPI_MCA_orte_fork_agent": rank, "PRTE_MCA_odls_base_exec_agent": rank, "OMPI_MCA_orte_tag_output": "1"}


def entries(text):
    return dict(line.split("=", 1) for line in text.splitlines())


def test_run_exec_and_env_agree(call, launcher):
    env = {**SHAPE, "PATH": "/usr/bin:/bin", "HOME": "/root"}
    path = {"PATH": f"/usr/bin:/bin:{launcher.parent}", **of_mpirun(launcher)}
    kept = {name: value for name, value in env.items() if not name.startswith("IPU_DEFAULT_")}

    assert entries(call("env", env=env).stdout) == {**WANTED, **path}
    for verb in ["run", "exec"]:
        assert entries(call(verb, "--", "env", env=env).stdout) == {**kept, **WANTED, **path}


def test_a_launcher_in_a_launcher_changes_nothing(call, launcher):
    env = {**SHAPE, "PATH": "/usr/bin:/bin"}
    once = call("run", "--", "env", env=env).stdout
    assert call("run", "--", str(launcher), "run", "--", "env", env=env).stdout == once


def test_the_images_programs_win_over_the_launchers(call, launcher, tmp_path):
    copy = tmp_path / "ipu"
    copy.mkdir()
    call("install", str(copy))
    (copy / "true").write_text("#!/bin/sh\nexit 9\n")
    (copy / "poprun").write_text("#!/bin/sh\nexit 8\n")
    for name in ["true", "poprun"]:
        (copy / name).chmod(0o755)
    env = {"PATH": "/usr/bin:/bin"}
    for name, status in [("true", 0), ("poprun", 8)]:
        assert os.spawnve(os.P_WAIT, copy / "ipu-launch", ["ipu-launch", "run", "--", name], env) == status


def test_an_empty_environment(call, launcher):
    done = call("run", "--", "env", env={})
    path = f"/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:{launcher.parent}"
    assert entries(done.stdout) == {"PATH": path, **of_mpirun(launcher)}


def test_a_large_environment_and_arguments(call):
    env = {"PATH": "/usr/bin:/bin", **{f"N{i}": "v" * 100_000 for i in range(5)}}
    words = ["w" * 100_000] * 6
    done = call("run", "--", "sh", "-c", 'echo $# ${#1} ${#6} ${#N4}', "sh", *words, env=env)
    assert done.stdout == "6 100000 100000 100000\n"


def test_a_mebibyte_of_short_arguments(call):
    done = call("run", "--", "sh", "-c", "echo $#", "sh", *["x"] * (1024 * 1024 // 10))
    assert done.stdout == f"{1024 * 1024 // 10}\n"
