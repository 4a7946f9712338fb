"""Profiles under poprun: the listings of the user guide, section 2.6, with the real mpirun and Python programs."""

import json
import os
import subprocess
import sys

import pytest

import runs
from conftest import ROOT

POPRUN = ROOT / os.environ.get("BUILD_DIR", "build/dev") / "launcher" / "poprun"


def poprun(site, *words, **variables):
    done = subprocess.run(
        [POPRUN, "--offline-mode=on", *words, sys.executable, "-c", "import popdist"],
        env=runs.clean_environment(PYTHONPATH=str(site), PYTHONDONTWRITEBYTECODE="1", **variables),
        capture_output=True, text=True, check=False, timeout=runs.DEADLINE_S,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("instances,options,listing", [
    (4, None, ["0", "1", "2", "3"]),
    (4, {"allowOutOfMemory": "true"}, ["0", "1", "2", "3"]),
    (1, None, ["0"]),
    (4, {"autoReport.all": "false"}, None),
])  # fmt: skip
def test_each_listing_is_the_guides(site, tmp_path, instances, options, listing):
    """On record: --autoreport-dir makes each instance profile into a directory of its own; an instance writes to
    DIR/<its index>, the single one to DIR/0; with autoReport.all false there is no directory at all; other engine
    options stay, as allowOutOfMemory."""
    folder = tmp_path / "training-profile-directory"
    given = {"POPLAR_ENGINE_OPTIONS": json.dumps(options)} if options else {}
    poprun(site, f"--num-replicas={instances}", f"--num-instances={instances}", f"--autoreport-dir={folder}", **given)
    assert (sorted(os.listdir(folder)) if folder.exists() else None) == listing


@pytest.mark.parametrize("words", [
    """--mpi-local-args '-x POPLAR_ENGINE_OPTIONS='{"autoReport.directory":"/tmp/training/profile-directory"}''""",
    """--instance-mpi-local-args '0:-x POPLAR_ENGINE_OPTIONS='{"autoReport.directory":"/tmp/training-profile-directory/0"}''""",
])  # fmt: skip
def test_a_second_directory_is_rejected_as_a_shell_passes_it(words):
    command = f'{POPRUN} --offline-mode=on --mpi-global-args="--tag-output" --num-replicas=4 --num-instances=4 --autoreport-dir /tmp/training-profile-directory {words} true'
    done = subprocess.run(["bash", "-c", command], env=runs.clean_environment(), capture_output=True, text=True,
                          check=False, timeout=runs.DEADLINE_S)  # fmt: skip
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        "POPRUN ERROR: autoreport-dir command line argument cannot be specified when "
        "POPLAR_ENGINE_OPTIONS contains autoReport.directory setting.\n"
    )
