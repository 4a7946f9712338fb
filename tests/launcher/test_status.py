"""How ipu-launch ends, and what it says when it is its own fault."""

import os
import signal

import pytest


def one_line(done):
    """The single line that a failing launcher says."""
    assert done.stdout == ""
    assert done.stderr.startswith("ipu-launch: ") and done.stderr.count("\n") == 1 and done.stderr.endswith("\n")
    return done.stderr


@pytest.mark.parametrize("status", [0, 1, 7, 124, 125, 255])
def test_the_commands_status_is_kept(start, status):
    assert start("sh", "-c", f"exit {status}").end() == (status, "", "")


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGSEGV, signal.SIGPIPE])
def test_a_signals_number_is_reported(start, number):
    assert start("sh", "-c", f"kill -{int(number)} $$").end() == (128 + number, "", "")


def test_streams_go_straight_through(start):
    launch = start("sh", "-c", "cat; echo err >&2")
    launch.process.stdin.write(b"in\n")
    assert launch.end() == (0, "in\n", "err\n")


def test_dashes_before_the_command_may_be_left_out(call):
    assert call("run", "echo", "--", "-n").stdout == "-- -n\n"
    assert call("run", "--", "echo", "--", "$(HOME)").stdout == "-- $(HOME)\n"
    assert call("run", "--", "--", "x").returncode == 127


@pytest.mark.parametrize("verb", ["run", "exec"])
class TestNotStarted:
    def test_a_missing_command_is_named_with_path(self, call, verb):
        done = call(verb, "--", "no-such-program", env={"PATH": "/bin:/nowhere"})
        assert done.returncode == 127
        assert '"no-such-program": no such program in PATH=/bin:/nowhere:' in one_line(done)

    def test_a_missing_file(self, call, verb):
        done = call(verb, "--", "/nowhere/train")
        assert done.returncode == 127
        assert '"/nowhere/train": no such file' in one_line(done)

    def test_an_empty_name(self, call, verb):
        done = call(verb, "--", "")
        assert done.returncode == 127
        assert one_line(done)

    def test_a_missing_interpreter(self, call, verb, tmp_path):
        script = tmp_path / "script"
        script.write_text("#!/nowhere/python\n")
        script.chmod(0o755)
        done = call(verb, "--", str(script))
        assert done.returncode == 127
        assert "interpreter or loader" in one_line(done)

    def test_no_permission(self, call, verb, tmp_path):
        (tmp_path / "script").write_text("#!/bin/sh\n")
        done = call(verb, "--", str(tmp_path / "script"))
        assert done.returncode == 126
        assert "not executable" in one_line(done)

    def test_no_permission_in_path_is_remembered(self, call, verb, tmp_path):
        (tmp_path / "script").write_text("#!/bin/sh\n")
        done = call(verb, "--", "script", env={"PATH": f"{tmp_path}:/nowhere"})
        assert done.returncode == 126
        assert "not executable" in one_line(done)

    def test_a_later_element_of_path_wins_over_no_permission(self, call, verb, tmp_path):
        (tmp_path / "true").write_text("#!/bin/sh\nexit 9\n")
        assert call(verb, "--", "true", env={"PATH": f"{tmp_path}:/usr/bin:/bin"}).returncode == 0

    def test_a_directory(self, call, verb):
        assert call(verb, "--", "/etc").returncode == 126

    def test_a_wrong_format(self, call, verb, tmp_path):
        (tmp_path / "train").write_bytes(b"\x7fELF of another machine")
        (tmp_path / "train").chmod(0o755)
        done = call(verb, "--", "train", env={"PATH": str(tmp_path)})
        assert done.returncode == 126
        assert "architecture" in one_line(done)

    def test_too_large(self, call, verb):
        # One string of the environment may have 128 KiB; the launcher's directory makes this one longer.
        done = call(verb, "--", "/bin/true", env={"PATH": "/" * (128 * 1024 - len("PATH=") - 1)})
        assert done.returncode == 126
        assert "larger than the system allows" in one_line(done)

    def test_a_name_with_line_breaks_stays_one_line(self, call, verb):
        assert call(verb, "--", "a\nb\x1b[31m").returncode == 127
        assert "\x1b" not in one_line(call(verb, "--", "a\nb\x1b[31m"))


@pytest.mark.parametrize(
    "words",
    [(), ("walk",), ("run",), ("run", "--"), ("run", "-x"), ("exec",), ("env", "x"), ("hold", "x"), ("install",), ("install", "a", "b", "c"), ("rank",), ("rank", "--master"), ("daemon",)],
)
def test_wrong_words(call, words):
    done = call(*words)
    assert done.returncode == 125
    assert "see ipu-launch --help" in one_line(done)


@pytest.mark.parametrize("words", [("run", "--", "echo", "ran"), ("exec", "--", "echo", "ran"), ("env",)])
def test_a_shape_without_sense_starts_nothing(call, words):
    done = call(*words, env={**os.environ, "IPU_JOB_WORKERS": "3", "IPU_JOB_IPUS_PER_INSTANCE": "4"})
    assert done.returncode == 125
    assert "4 IPUs cannot be divided among 3 workers" in one_line(done)


def test_help_and_version(call):
    assert "ipu-launch run [--] COMMAND" in call("--help").stdout
    assert call("--version").stdout.startswith("ipu-launch ")


def test_a_full_disk_behind_stdout_is_reported(call):
    with open("/dev/full", "wb") as full:
        done = call("--help", capture_output=False, stdout=full, stderr=-1)
    assert done.returncode == 125
    assert "cannot write to standard output" in done.stderr
