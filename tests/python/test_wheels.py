"""The wheels of deploy/wheels: they run on old systems, and need no compiler where they are installed."""

import ast
import os
import re
import subprocess
import sys
import zipfile

import pytest
from conftest import ROOT
from packages import DEADLINE_S

SUM = """
import sys, numpy, popdist, popdist.collectives
popdist.init()
data = numpy.ones(3, dtype=numpy.float16)
popdist.collectives.allReduceSum(data, id="sum")
sys.stdout.write(f"{data.tolist()}\\n")  # print writes the end of a line apart where Python does not buffer
"""
LIBRARIES = {"popdist/libpopdist.so.1", "popdist/libpopdist_mpi.so", "popdist/_popdist.abi3.so"}
OLDEST_PYTHON = (3, 8)
OLDEST = (2, 17)  # glibc of manylinux2014


@pytest.fixture(scope="module")
def wheels(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheels")
    done = subprocess.run([ROOT / "deploy" / "wheels", "--output", folder], capture_output=True, text=True, check=False, timeout=DEADLINE_S)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == sorted(map(str, folder.iterdir()))
    return {path.name.partition("-")[0]: path for path in folder.iterdir()}


@pytest.fixture(scope="module")
def site(wheels, tmp_path_factory):
    """Installed from the wheels alone where no compiler can be found."""
    folder = tmp_path_factory.mktemp("site")
    subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--target", folder, *wheels.values()],
                   env={**os.environ, "PATH": "/nonexistent", "CC": "/bin/false"}, check=True, timeout=DEADLINE_S)
    return folder


def test_names_and_tags(wheels):
    machine = os.uname().machine
    assert {name: path.name for name, path in wheels.items()} == {
        "popdist": f"popdist-0.1.0-cp38-abi3-manylinux2014_{machine}.manylinux_2_17_{machine}.whl",
        "horovod_popart": "horovod_popart-0.1.0-py3-none-any.whl",
        "ipu_jobs": "ipu_jobs-0.1.0-py3-none-any.whl",
        "ipu_jobs_torchx": "ipu_jobs_torchx-0.1.0-py3-none-any.whl",
    }


def pip_for(version, platform, wheels, folder):
    """What pip of such an interpreter does with the wheels alone."""
    machine = os.uname().machine
    return subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--only-binary=:all:",
                           "--python-version", version, "--platform", f"{platform}_{machine}", "--target", folder, *wheels],
                          capture_output=True, text=True, check=False, timeout=DEADLINE_S)


@pytest.mark.parametrize("version", ["3.8", "3.11", "3.15"])
def test_old_and_new_interpreters_take_all_of_them(wheels, version, tmp_path):
    done = pip_for(version, "manylinux_2_17", wheels.values(), tmp_path)
    assert done.returncode == 0, done.stderr
    assert {"popdist", "horovod", "ipu_jobs", "ipu_jobs_torchx.py"} <= {path.name for path in tmp_path.iterdir()}
    for source in tmp_path.rglob("*.py"):
        ast.parse(source.read_text(), str(source), feature_version=OLDEST_PYTHON)


@pytest.mark.parametrize("version, platform", [("3.7", "manylinux_2_17"), ("3.11", "musllinux_1_2"), ("3.11", "manylinux_2_12")])
def test_older_interpreters_and_systems_do_not_take_popdist(wheels, version, platform, tmp_path):
    done = pip_for(version, platform, [wheels["popdist"]], tmp_path)
    assert done.returncode != 0
    assert "is not a supported wheel on this platform" in done.stderr


def test_the_library_is_inside_and_needs_an_old_glibc_only(wheels, tmp_path):
    with zipfile.ZipFile(wheels["popdist"]) as wheel:
        assert {name for name in wheel.namelist() if ".so" in name} == LIBRARIES
        wheel.extractall(tmp_path)
    for library in LIBRARIES:
        told = subprocess.run(["readelf", "--wide", "--dynamic", "--version-info", tmp_path / library], check=True, capture_output=True,
                              text=True, timeout=60).stdout
        versions = {tuple(map(int, found.split("."))) for found in re.findall(r"GLIBC_([\d.]+)", told)}
        assert versions and max(versions) <= OLDEST, library
        assert set(re.findall(r"R(?:UN)?PATH.*\[(.*)\]", told)) <= {"$ORIGIN"}, library


def test_nothing_tells_where_they_were_built(wheels):
    for path in wheels.values():
        with zipfile.ZipFile(path) as wheel:
            for name in wheel.namelist():
                content = wheel.read(name)
                assert not any(word.encode() in content for word in (str(ROOT), sys.base_prefix + "/lib", "/tmp/")), name


@pytest.mark.parametrize("command,instances", [([], 1), (["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "2"], 2)])
def test_popdist_runs_alone_and_with_several_instances(site, command, instances):
    done = subprocess.run([*command, sys.executable, "-c", SUM], env={**os.environ, "PYTHONPATH": str(site)}, capture_output=True, text=True,
                          check=False, timeout=DEADLINE_S)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines() == [str([float(instances)] * 3)] * instances


def test_a_missing_mpicc_is_named(tmp_path):
    done = subprocess.run([ROOT / "deploy" / "wheels"], env={**os.environ, "PATH": str(path_without("mpicc", tmp_path))}, capture_output=True,
                          text=True, check=False, timeout=DEADLINE_S)
    assert done.returncode == 1 and done.stderr == "deploy/wheels: mpicc is missing; deploy/prerequisites build installs it\n"


def path_without(program, folder):
    for name in ("bash", "dirname", "readlink"):
        (folder / name).symlink_to(f"/usr/bin/{name}")
    return folder
