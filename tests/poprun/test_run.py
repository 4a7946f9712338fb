"""poprun in offline mode with the real mpirun: output, environment, exit status, cache."""

import json
import os
import re
from pathlib import Path
import shutil

import pytest

from calls import untag

SHOW = 'env | grep -E "^(POPDIST|IPUOF|POPLAR|POPRUN)_" | grep -v TEST_MARK'


def test_any_program_runs(poprun):
    """On record: poprun [options] program [program args] runs any program."""
    assert poprun.offline("echo", "Hello World")[0] == "[1,0]<stdout>:Hello World\n"


def test_each_instance_runs(poprun):
    """On record: it is used with 2 and 4 instances of 1 and 2 replicas."""
    out, _ = poprun.offline("--num-replicas", 8, "--num-instances", 4, "echo", "Hello World")
    assert sorted(out.splitlines()) == [f"[1,{rank}]<stdout>:Hello World" for rank in range(4)]


def test_more_instances_than_cpus_need_no_option(poprun):
    count = 2 * os.cpu_count() + 1
    out, _ = poprun.offline(f"--num-replicas={count}", f"--num-instances={count}", "echo", "x")
    assert untag(out) == ["x"] * count


@pytest.mark.parametrize("placement", ["spreadnuma", "scattersocket", "scatternuma", "close", "disabled"])
def test_every_placement_starts(poprun, placement):
    """On record: --process-placement is spreadnuma, scattersocket, scatternuma, close or disabled, and spreadnuma
    unless given."""
    out, _ = poprun.offline("--num-replicas=4", "--num-instances=4", f"--process-placement={placement}", "echo", "x")
    assert untag(out) == ["x"] * 4


def numbers(text):
    """Of a list as Linux writes it: 0-3,8."""
    ranges = [part.split("-") for part in text.split(",")]
    return frozenset(number for ends in ranges for number in range(int(ends[0]), int(ends[-1]) + 1))


@pytest.mark.parametrize("placement", ["scattersocket", "scatternuma", "close"])
def test_other_placements_bind_to_a_core(poprun, placement):
    """On record: all but spreadnuma bind to a single core, which does not suit programs with threads."""
    cores = {numbers(path.read_text()) for path in Path("/sys/devices/system/cpu").glob("cpu[0-9]*/topology/thread_siblings_list")}
    out, _ = poprun.offline("--num-replicas=2", "--num-instances=2", f"--process-placement={placement}",
                            "sh", "-c", "grep Cpus_allowed_list /proc/self/status | cut -f 2")  # fmt: skip
    bound = [numbers(line) for line in untag(out)]
    assert set(bound) <= cores
    assert len(set(bound)) == min(2, len({core for core in cores if core <= os.sched_getaffinity(0)}))


def test_an_instance_finds_its_part(poprun):
    """On record: --offline-mode runs without any IPU; an instance has num-replicas / num-instances replicas, from its
    index times that on; the instance's index is its first replica / its replicas, and its rank in mpirun's tags;
    POPDIST_UNIFORM_REPLICAS_PER_INSTANCE is 1; POPDIST_NUM_TOTAL_REPLICAS, _NUM_IPUS_PER_REPLICA, _NUM_LOCAL_REPLICAS,
    _REPLICA_INDEX_OFFSET and _LOCAL_INSTANCE_INDEX are always set; IPUOF_LOG_LEVEL is WARN; launchers of others take
    POPDIST_NUM_TOTAL_REPLICAS for a sign of poprun, and reckon size and rank from _NUM_LOCAL_REPLICAS and
    _REPLICA_INDEX_OFFSET; offline mode contacts neither V-IPU nor devices."""
    out, _ = poprun.offline(
        "--num-replicas=8", "--num-instances=2", "--ipus-per-replica=2", "--executable-cache-path=", "sh", "-c", SHOW,
        environment={"POPDIST_LOCAL_INSTANCE_INDEX": "7", "POPDIST_STALE": "1", "IPUOF_CONFIG_PATH": "/x"},
    )  # fmt: skip
    second = sorted(line.split(":", 1)[1] for line in out.splitlines() if line.startswith("[1,1]"))
    assert second == [
        "IPUOF_LOG_LEVEL=WARN",
        f"IPUOF_RUN_DIR={poprun.folder / 'ipuof'}",
        "POPDIST_LOCAL_INSTANCE_INDEX=1",
        "POPDIST_NUM_IPUS_PER_REPLICA=2",
        "POPDIST_NUM_LOCAL_REPLICAS=4",
        "POPDIST_NUM_TOTAL_REPLICAS=8",
        "POPDIST_REPLICA_INDEX_OFFSET=4",
        "POPDIST_UNIFORM_REPLICAS_PER_INSTANCE=1",
    ]


def test_words_for_mpirun_reach_it(poprun):
    """On record: --mpi-local-args are for every instance, mostly -x VAR; --instance-mpi-local-args N:words are for one
    instance; it is repeated, once for each instance."""
    out, _ = poprun.offline(
        "--num-replicas=2", "--num-instances=2", "--mpi-global-args=\n --tag-output\n --bind-to none",
        '--mpi-local-args=-x A="b c" -x PATH', "--instance-mpi-local-args=1:-x B={\"d\":\"e\"}",
        "sh", "-c", 'echo "$A $B"',
    )  # fmt: skip
    assert sorted(out.splitlines()) == ["[1,0]<stdout>:b c ", '[1,1]<stdout>:b c {"d":"e"}']


def test_what_poprun_forwards_may_be_asked_for_again(poprun):
    """On record: -x LD_LIBRARY_PATH -x PYTHONPATH -x PATH of the user's are harmless."""
    words = ["--mpi-local-args=-x LD_LIBRARY_PATH -x PYTHONPATH -x PATH", "sh", "-c", "echo $PYTHONPATH ${LD_LIBRARY_PATH##*:}"]
    out, err = poprun.offline(*words, environment={"PYTHONPATH": "/a", "LD_LIBRARY_PATH": "/b"})
    assert (untag(out), err) == (["/a /b"], "")


def test_options_for_vipu_mean_nothing_offline(poprun):
    """On record: options for V-IPU mean nothing then."""
    words = ["--vipu-server-host=127.0.0.1", "--vipu-server-port=1", "--vipu-partition=p", "--update-partition=yes"]
    out, _ = poprun.offline(*words, "sh", "-c", "echo ${IPUOF_VIPU_API_HOST-none} ${IPUOF_VIPU_API_PARTITION_ID-none}")
    assert untag(out) == ["none none"]


def test_nothing_is_printed_unless_requested(poprun):
    """On record: without -v nothing but the program's output is printed."""
    assert poprun.offline("true") == ("", "")


def test_v_prints_the_steps_and_vv_the_details(poprun):
    """On record: -v, --verbose tells more; -vv adds [D] lines and the topology table; Waiting for mpirun (PID n), then
    mpirun (PID n) terminated with exit code c; a line of log is HH:MM:SS.mmm PID POPRUN [L] text."""
    line = re.compile(r"\d\d:\d\d:\d\d\.\d{3} \d+ POPRUN \[([IDWE])\] .*")
    out, err = poprun.offline("-v", "true")
    assert out == "" and {line.fullmatch(text)[1] for text in err.splitlines()} == {"I"}
    out, err = poprun.offline("-vv", "true")
    assert "poprun topology" in poprun.offline("-vv", "--num-replicas=4", "true")[0]
    assert {line.fullmatch(text)[1] for text in err.splitlines()} == {"I", "D"}
    assert re.search(r"Waiting for mpirun \(PID (\d+)\)\n.*mpirun \(PID \1\) terminated with exit code 0\n$", err)


@pytest.mark.parametrize("words,environment", [(["--debug"], {}), ([], {"POPRUN_LOG_LEVEL": "TRACE"})])
def test_debug_prints_everything(poprun, words, environment):
    """On record: there is a debug mode that helps to find out why a launch fails; POPRUN_LOG_LEVEL may be TRACE."""
    _, err = poprun.offline(*words, "true", environment=environment)
    assert {line.split()[3] for line in err.splitlines()} == {"[I]", "[D]", "[T]"}
    assert "POPRUN [T] Variable for mpirun: OMPI_MCA_rmaps_base_oversubscribe=1\n" in err


@pytest.mark.parametrize("status", [1, 3, 77])
def test_the_status_is_that_of_mpirun(poprun, status):
    """On record: the exit status is not 0 when any instance fails."""
    poprun.offline("--num-replicas=2", "--num-instances=2", "sh", "-c", f"exit {status}", expect=status)
    poprun.assert_clean()


@pytest.mark.parametrize("instances,placement,program,status,reason", [
    (1, "spreadnuma", "/no/such/program", 127, "No such file or directory"),
    (1, "disabled", "no-such-program", 127, "No such file or directory"),
    (2, "disabled", "no-such-program", 127, "No such file or directory"),
    (1, "spreadnuma", "/etc/passwd", 126, "Permission denied"),
    (1, "spreadnuma", "/", 126, "Permission denied"),
])  # fmt: skip
def test_a_program_that_cannot_start_ends_as_in_a_shell(poprun, instances, placement, program, status, reason):
    """POSIX, Shell & Utilities, 2.8.2: 127 for a command that is not found, 126 for one that is not executable."""
    words = [f"--num-instances={instances}", f"--num-replicas={instances}", f"--process-placement={placement}"]
    _, err = poprun.offline(*words, program, expect=status)
    assert f"[1,0]<stderr>:poprun_numa_wrapper: cannot start {program}: {reason}\n" in err
    poprun.assert_clean()


def test_a_program_by_a_path_that_mpirun_alone_knows_runs(poprun, tmp_path):
    """poprun does not see it; mpirun and the wrapper do."""
    (tmp_path / "mine").write_text("#!/bin/sh\necho mine $1\n")
    (tmp_path / "mine").chmod(0o755)
    assert untag(poprun.offline(f"--mpi-local-args=--wdir {tmp_path}", "./mine", "a")[0]) == ["mine a"]


def test_a_lone_colon_is_an_argument_of_the_program(poprun):
    """For mpirun it separates programs."""
    assert untag(poprun.offline("echo", "a", ":", "b")[0]) == ["a : b"]
    out, _ = poprun.offline("--num-replicas=2", "--num-instances=2", "printf", r"%s|%s|%s|%s\n", ":", "", " a  b", r"\n#//")
    assert untag(out) == [r":|| a  b|\n#//"] * 2


def in_tight_space(*words):
    """A command with the smallest limit that Linux has for arguments and environment: 128 KiB."""
    return ["sh", "-c", 'ulimit -s 512; exec "$@"', "sh", *words]


LONG = {"LONG_1": "a" * 46000, "LONG_2": "b" * 46000}
SHOW_LONG = ["sh", "-c", 'echo $POPDIST_NUM_TOTAL_REPLICAS $POPDIST_LOCAL_INSTANCE_INDEX ${#LONG_1} "$A" "$B" "$@"; env | grep ^POPRUN_WRAPPER || :', "sh", "b  c", ""]


def test_a_command_that_is_too_long_for_the_system_starts_all_the_same(poprun):
    """mpirun reads the instances from a file (mpirun(1), --app)."""
    poprun.prefix = in_tight_space()
    words = ["-v", "--num-replicas=12", "--num-instances=12", "--mpi-local-args=-x A='1  2#'", "--instance-mpi-local-args=3:-x B=3"]
    out, err = poprun.offline(*words, *SHOW_LONG, environment=LONG)
    assert re.search(r"Running command: \S+/mpirun '--bind-to' 'none' '--tag-output' '--allow-run-as-root' '--app' '/proc/self/fd/\d+'\n", err)
    assert untag(out) == sorted(f"12 {i} 46000 1  2# {3 if i == 3 else ''} b  c " for i in range(12))
    poprun.assert_clean()


def test_what_a_command_that_is_too_long_cannot_have_is_named(poprun):
    poprun.prefix = in_tight_space()
    words = ["--num-replicas=12", "--num-instances=12", "--instance-mpi-local-args=3:-x B='a b'", "true"]
    _, err = poprun.offline(*words, environment=LONG, expect=1)
    assert 'mpirun has to read this command from a file, which cannot contain "B=a b"' in err
    poprun.assert_clean()


def test_the_most_instances_there_can_be_are_taken_by_mpirun(poprun):
    """4,096, which mpirun maps and does not start."""
    words = ["--num-replicas=4096", "--num-instances=4096", "--mpi-global-args=--do-not-launch", "true"]
    out, _ = poprun.offline(*words)
    assert re.findall(r"App: (\d+) Process rank: (\d+)", out) == [(str(i), str(i)) for i in range(4096)]
    poprun.assert_clean()


def test_a_dry_run_shows_the_file_too(poprun):
    out, _ = poprun.offline("--dry-run", "--num-replicas=4096", "--num-instances=4096", "echo", "a b")
    command, lines = out[out.index("/mpirun ") :].split("FILE:\n")
    assert command.endswith("'--allow-run-as-root' '--app' 'FILE'\n")
    lines = lines.splitlines()
    assert len([line for line in lines if line.startswith("-np 1 ")]) == 4096 and lines[-3:] == ["POPRUN_WRAPPER_PROGRAM:", "echo", "a b"]


def test_without_mpirun_the_cure_is_named(poprun):
    _, err = poprun.offline("true", expect=1, environment={"PATH": "/nowhere"})
    assert err.startswith("POPRUN ERROR: mpirun not found in PATH; install Open MPI") and err.count("\n") == 1


def test_one_host_needs_no_ssh(poprun, tmp_path):
    """As in a pod whose image has Open MPI and little else."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ["mpirun", "echo", "false"]:
        (folder / name).symlink_to(shutil.which(name))
    out, _ = poprun.offline("--num-replicas=2", "--num-instances=2", "echo", "x", environment={"PATH": str(folder)})
    assert untag(out) == ["x", "x"]


def test_instances_share_a_cache_that_goes_away(poprun):
    """On record: --executable-cache-path names a directory, and an empty one means no cache; one instance: one process
    on one host with one GCD, without a cache; POPDIST_EXECUTABLE_CACHE_PATH is set when there is a cache, and only
    then; TensorFlow reads POPDIST_EXECUTABLE_CACHE_PATH; one instance has no cache unless one is named; several
    instances on one host share a fresh directory, removed at the end, normal or not; a named directory stays."""
    words = ["--num-replicas=2", "--num-instances=2"]
    script = 'test -d "$POPDIST_EXECUTABLE_CACHE_PATH" && touch "$POPDIST_EXECUTABLE_CACHE_PATH/a" && echo $POPDIST_EXECUTABLE_CACHE_PATH'
    first, second = untag(poprun.offline(*words, "sh", "-c", script)[0])
    assert first == second and first.startswith(str(poprun.temporary))
    poprun.assert_clean()
    show = ["sh", "-c", "echo ${POPDIST_EXECUTABLE_CACHE_PATH-none}"]
    assert untag(poprun.offline(*words, "--executable-cache-path=", *show)[0]) == ["none"] * 2
    assert untag(poprun.offline(*words, "--executable-cache-path=/c", *show)[0]) == ["/c"] * 2
    assert untag(poprun.offline(*show)[0]) == ["none"]


def test_only_one_instance_is_heard(poprun):
    """On record: --only-output-from-instance drops what the others print, their errors too; output has mpirun's tag:
    [1,0]<stdout>: and [1,0]<stderr>:; errors of other instances are hidden by --only-output-from-instance."""
    words = ["--num-replicas=3", "--num-instances=3", "--only-output-from-instance=1"]
    out, err = poprun.offline(*words, "sh", "-c", "echo $POPDIST_LOCAL_INSTANCE_INDEX; echo bad >&2")
    assert (out, err) == ("[1,1]<stdout>:1\n", "[1,1]<stderr>:bad\n")


def test_reports_go_where_they_are_asked_to(poprun):
    """On record: two directories for reports: POPRUN ERROR: autoreport-dir command line argument cannot be specified
    when POPLAR_ENGINE_OPTIONS contains autoReport.directory setting.; POPDIST_AUTOREPORT_DIRECTORY is set by
    --autoreport-dir; POPLAR_ENGINE_OPTIONS is passed to all instances unchanged."""
    show = ["sh", "-c", "echo $POPDIST_AUTOREPORT_DIRECTORY $POPLAR_ENGINE_OPTIONS"]
    environment = {"POPLAR_ENGINE_OPTIONS": '{"allowOutOfMemory":"true"}'}
    out, _ = poprun.offline("--autoreport-dir=/r", *show, environment=environment)
    assert untag(out) == ['/r {"allowOutOfMemory":"true"}']
    environment = {"POPLAR_ENGINE_OPTIONS": '{"autoReport.directory":"/q"}'}
    _, err = poprun.offline("--autoreport-dir=/r", *show, environment=environment, expect=1)
    assert err == (
        "POPRUN ERROR: autoreport-dir command line argument cannot be specified when "
        "POPLAR_ENGINE_OPTIONS contains autoReport.directory setting.\n"
    )


def test_a_larger_machine_can_be_compiled_for(poprun):
    """On record: a larger machine is compiled for by POPLAR_TARGET_OPTIONS."""
    out, _ = poprun.offline(
        "sh", "-c", "echo $POPLAR_TARGET_OPTIONS", environment={"POPLAR_TARGET_OPTIONS": '{ "ipuLinkDomainSize": "64" }'}
    )
    assert untag(out) == ['{"ipuLinkDomainSize":"64"}']


def test_a_configuration_is_exported_and_imported(poprun):
    """On record: --import-config reads stored options and program, and the command line wins; --export-config stores
    them, then goes on and launches; without --overwrite-config=yes an export that meets a file adds the time to its own
    name; poprun --import-config FILE alone repeats a launch, program included; an overridden value is not written back."""
    path = poprun.folder / "training.conf"
    show = ["sh", "-c", 'echo "$POPDIST_NUM_TOTAL_REPLICAS $*"', "sh", "one", "two words"]
    words = [f"--export-config={path}", "--num-replicas=4", *show]
    assert untag(poprun.offline(*words)[0]) == ["4 one two words"]
    text = path.read_text()
    assert untag(poprun("--import-config", path)[0]) == ["4 one two words"]
    assert untag(poprun("--import-config", path, "--num-replicas=2")[0]) == ["2 one two words"]
    assert untag(poprun("--import-config", path, "echo", "other")[0]) == ["other"]
    poprun.offline(f"--export-config={path}", "--num-replicas=8", "true")
    (stamped,) = poprun.folder.glob("training.conf.*")
    assert path.read_text() == text and "num-replicas=8" in stamped.read_text()
    poprun.offline(f"--export-config={path}", "--overwrite-config=yes", "--num-replicas=16", "true")
    assert "num-replicas=16" in path.read_text()


def test_an_export_into_a_folder_is_rejected(poprun):
    _, err = poprun.offline("--export-config", poprun.folder, "true", expect=1)
    assert err == f"POPRUN ERROR: --export-config: {poprun.folder} is a directory; specify a file\n"
    assert not list(poprun.folder.parent.glob(f"{poprun.folder.name}.*"))


@pytest.mark.parametrize("instances", [1, 2])
def test_programs_are_found_as_path_says(poprun, instances):
    """The one that stands first, as python3 of a virtual environment does before the system's."""
    first = poprun.folder / "first"
    first.mkdir()
    own = first / "python3"
    own.write_text("#!/bin/sh\ntype python3\n")
    own.chmod(0o755)
    out, _ = poprun.offline(f"--num-replicas={instances}", f"--num-instances={instances}", "python3",
                            environment={"PATH": f"{first}:{os.environ['PATH']}"})  # fmt: skip
    assert untag(out) == [f"python3 is {own}"] * instances


def test_a_closed_input_is_an_empty_one(poprun):
    out, _ = poprun.offline("sh", "-c", "cat && echo done", preexec_fn=lambda: os.close(0))
    assert untag(out) == ["done"]


def test_a_dry_run_that_cannot_be_written_fails(poprun):
    with open("/dev/full", "w", encoding="ascii") as full:
        _, err = poprun.offline("--dry-run", "true", stdout=full, expect=1)
    assert err == "POPRUN ERROR: cannot write to standard output\n"


def test_a_dry_run_starts_nothing(poprun):
    out, err = poprun.offline("--dry-run", "--num-replicas=2", "--num-instances=2", "touch", poprun.folder / "made")
    assert out.startswith(" ====") and out.splitlines()[-1].endswith(f"'touch' '{poprun.folder / 'made'}'")
    assert err == "" and not (poprun.folder / "made").exists()


def test_every_mistake_is_reported_at_once(poprun):
    _, err = poprun("--num-replicas=x", "--offline-mode=perhaps", "--nope", "true", expect=1)
    lines = err.splitlines()
    assert len(lines) == 3 and all(line.startswith("POPRUN ERROR: ") for line in lines)


def test_the_version_has_three_formats(poprun):
    """On record: --version prints as --version-format says: text, full-text or full-json, the full forms with PopDist
    and what else is inside."""
    assert re.fullmatch(r"poprun \d+\.\d+\.\d+\n", poprun("--version")[0])
    full = poprun("--version", "--version-format", "full-text")[0]
    parts = json.loads(poprun("--version", "--version-format=full-json")[0])
    assert full == "".join(f"{name} {version}\n" for name, version in parts.items())
    assert {"poprun", "popdist", "libuv"} <= parts.keys()
