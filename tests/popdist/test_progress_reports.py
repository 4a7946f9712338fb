"""popdist.progress, with the words that ipu-launch gets from it."""

import subprocess

import pytest
import runs
from test_python import python

URL = {"KUBEFLOW_TRAINER_SERVER_URL": "https://operator/"}


@pytest.fixture
def launcher(tmp_path):
    """An ipu-launch that notes its words, and ends as the file `result` says."""
    program = tmp_path / "ipu-launch"
    program.write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/words\necho never shown >&2\nexit $(cat {tmp_path}/result 2>/dev/null)\n')
    program.chmod(0o755)
    return program


def words_of(launcher):
    noted = launcher.parent / "words"
    return noted.read_text().splitlines() if noted.exists() else []


def in_a_job(launcher):
    return {**URL, "PATH": f"{launcher.parent}:{runs.clean_environment()['PATH']}"}


def test_a_report_has_what_was_said(site, launcher):
    code = "import popdist; print(popdist.progress(100, eta=2.5, loss=0.25, step='7/9'))"
    assert python(site, code, **in_a_job(launcher)) == "True\n"
    assert words_of(launcher) == ["progress 100 --eta 2 loss=0.25 step=7/9"]


def test_a_loop_sends_few_reports_and_the_last(site, launcher):
    code = "import popdist\nfor n in range(101): assert popdist.progress(n * 1.0)"
    python(site, code, **in_a_job(launcher))
    assert words_of(launcher)[0] == "progress 0" and words_of(launcher)[-1] == "progress 100"
    assert len(words_of(launcher)) <= 3, "at most one in five seconds, and the last"


def test_the_program_does_not_wait_for_a_report(site, launcher):
    """It would never end."""
    launcher.write_text(f"#!/bin/sh\nmkfifo {launcher.parent}/pipe\nexec cat {launcher.parent}/pipe\n")
    code = ("import os, time, popdist; popdist.progress(1)\n"
            f"while not os.path.exists({str(launcher.parent / 'pipe')!r}): time.sleep(0.01)\n"
            f"print(popdist.progress(2)); os.close(os.open({str(launcher.parent / 'pipe')!r}, os.O_WRONLY))")
    assert python(site, code, **in_a_job(launcher)) == "True\n"


def test_a_report_that_does_not_arrive_is_told_of(site, launcher):
    (launcher.parent / "result").write_text("125")
    assert python(site, "import popdist; print(popdist.progress(100))", **in_a_job(launcher)) == "False\n"
    launcher.unlink()
    nothing = {**in_a_job(launcher), "PATH": str(launcher.parent)}
    assert python(site, "import popdist; print(popdist.progress(1))", **nothing) == "False\n"


def test_others_do_not_report(site, launcher):
    code = "import popdist; print(popdist.progress(100))"
    outside = {name: value for name, value in in_a_job(launcher).items() if name not in URL}
    assert python(site, code, **outside) == "True\n"
    second = {"POPDIST_NUM_TOTAL_REPLICAS": "2", "POPDIST_NUM_LOCAL_REPLICAS": "1", "POPDIST_REPLICA_INDEX_OFFSET": "1"}
    assert python(site, code, **second, **in_a_job(launcher)) == "True\n"
    assert words_of(launcher) == []


@pytest.mark.parametrize("call, message", [
    ("progress(101)", "the progress must be from 0 to 100 percent, got 101"),
    ("progress(-1)", "-1"),
    ("progress(1, eta=-5)", "the remaining time must be up to 315360000 s, got -5"),
    ("progress(1, loss='')", 'a metric must be NAME=VALUE, got "loss="'),
    ("progress(1, **{'-x': 1})", 'a metric must be NAME=VALUE, got "-x=1"'),
    ("progress(1, loss='a\\0b')", "null"),
    ("progress(1, **{f'm{n}': n for n in range(257)})", "at most 256 metrics"),
])
def test_what_is_no_report_is_an_error(site, launcher, call, message):
    assert message in python(site, f"import popdist; popdist.{call}", expect=1, **in_a_job(launcher))
    assert words_of(launcher) == []


def test_programs_in_c_and_cxx(compiled, launcher):
    done = subprocess.run([compiled("progress.cpp", "g++", "-std=c++11")], env=runs.clean_environment(**in_a_job(launcher)),
                          capture_output=True, text=True, check=False, timeout=runs.DEADLINE_S)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert words_of(launcher) == ["progress 100 loss=0.5", "progress 100 --eta 0"]
