"""Builds the wheel's three libraries: libpopdist, its Open MPI backend, and the extension that calls libpopdist.

libpopdist is a library of its own in the wheel, so that frameworks in C++ that link with libpopdist.so.1 share
its one backend with Python. Without Open MPI's development files (mpicc) the wheel has no backend for several
instances, and popdist.init() says so.
"""

import shlex
import shutil
import subprocess
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

try:
    from setuptools.command.bdist_wheel import bdist_wheel
except ImportError:  # setuptools before 70.1
    from wheel.bdist_wheel import bdist_wheel

FLAGS = ["-std=c17", "-O3", "-fvisibility=hidden", "-D_GNU_SOURCE", "-Wall", "-Wextra"]
# What is no Python module has its usual name, so that the linker and libpopdist find it.
FILES = {"libpopdist": "libpopdist.so.1", "libpopdist_mpi": "libpopdist_mpi.so"}
VIEW = Path("build") / "view"


def mpi_words(kind):
    return shlex.split(subprocess.run(["mpicc", f"--showme:{kind}"], check=True, capture_output=True, text=True).stdout)


def extensions():
    include = [str(VIEW), "include"]
    depends = [str(p) for folder in ("src", "include/popdist") for p in Path(folder).rglob("*.h")]
    yield Extension(
        "popdist.libpopdist", sorted(str(p) for p in Path("src").rglob("*.c")), include_dirs=include, depends=depends,
        extra_compile_args=FLAGS, libraries=["pthread", "dl"],
        extra_link_args=["-Wl,--version-script=src/popdist.map", "-Wl,-soname,libpopdist.so.1"],
    )  # fmt: skip
    if shutil.which("mpicc"):
        yield Extension(
            "popdist.libpopdist_mpi", ["mpi/mpi.c"], include_dirs=include, depends=depends,
            extra_compile_args=FLAGS + mpi_words("compile"), extra_link_args=mpi_words("link"),
        )  # fmt: skip
    yield Extension(
        "popdist._popdist", sorted(str(p) for p in Path("python/ext").glob("*.c")),
        include_dirs=include, depends=depends, extra_compile_args=FLAGS,
        py_limited_api=True, extra_link_args=["-Wl,-rpath,$ORIGIN"],
    )  # fmt: skip


class BuildLibraries(build_ext):
    def get_ext_filename(self, fullname):
        *packages, name = fullname.split(".")
        return "/".join([*packages, FILES[name]]) if name in FILES else super().get_ext_filename(fullname)

    def run(self):
        # Sources name their headers from the top of the tree: "popdist/src/core/wire.h".
        VIEW.mkdir(parents=True, exist_ok=True)
        link = VIEW / "popdist"
        if link.is_symlink():
            link.unlink()
        link.symlink_to(Path.cwd(), target_is_directory=True)
        super().run()

    def build_extension(self, ext):
        if ext.name == "popdist._popdist":
            ext.extra_objects = [self.get_ext_fullpath("popdist.libpopdist")]
        super().build_extension(ext)


class Wheel(bdist_wheel):
    def finalize_options(self):
        self.py_limited_api = "cp38"
        super().finalize_options()


# In pyproject.toml, setuptools of Python 3.8 and of today want the license in different forms.
setup(license="Apache-2.0", ext_modules=list(extensions()), cmdclass={"build_ext": BuildLibraries, "bdist_wheel": Wheel})
