"""What PopDist's tests share. BUILD_DIR names the build that is tested (build/dev if unset)."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import runs

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "lib"))

from packages import install, wheel_of  # noqa: E402


@pytest.fixture(scope="session")
def installed(tmp_path_factory):
    """PopDist for users: headers, libraries, pkg-config and CMake files in a folder of their own."""
    folder = tmp_path_factory.mktemp("installed")
    build = runs.BUILD
    assert (build / "popdist" / "libpopdist.so").exists(), f"{build} has no libpopdist.so: build it, or set BUILD_DIR"
    subprocess.run(
        ["cmake", "--install", build, "--component", "popdist", "--prefix", folder],
        check=True, capture_output=True, timeout=runs.DEADLINE_S,
    )  # fmt: skip
    return folder


@pytest.fixture(scope="session")
def libraries(installed):
    return next(installed.rglob("libpopdist.so")).parent


@pytest.fixture(scope="session")
def compiled(installed, libraries, tmp_path_factory):
    """Compiles a program of this folder against the installed PopDist and returns its path."""
    folder = tmp_path_factory.mktemp("compiled")

    def compile_it(name, compiler="g++", *flags):
        program = folder / f"{Path(name).stem}-{compiler}"
        done = subprocess.run(
            [compiler, "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Werror", *flags,
             Path(__file__).parent / name, "-o", program, *pkg_config(libraries), f"-Wl,-rpath,{libraries}"],
            capture_output=True, text=True, check=False, timeout=runs.DEADLINE_S,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return program

    return compile_it


def pkg_config(libraries):
    return subprocess.run(
        ["pkg-config", "--cflags", "--libs", "popdist"],
        env={**os.environ, "PKG_CONFIG_PATH": str(libraries / "pkgconfig")},
        check=True, capture_output=True, text=True, timeout=runs.DEADLINE_S,
    ).stdout.split()  # fmt: skip


@pytest.fixture(scope="session")
def wheel(tmp_path_factory):
    """PopDist's, compiled as the build that is tested."""
    flags = runs.sanitizer_flags()
    with pytest.MonkeyPatch.context() as patch:
        if flags:
            patch.setenv("CFLAGS", flags)
            patch.setenv("LDFLAGS", flags)
        return wheel_of(ROOT / "popdist", tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="session")
def site(wheel, tmp_path_factory):
    """A folder for PYTHONPATH in which the wheel is installed."""
    return install(wheel, tmp_path_factory.mktemp("site"))
