"""The C and C++ interface as users get it: installed, found by pkg-config or CMake, and run by real mpirun."""

import re
import subprocess
from pathlib import Path

import pytest

import runs

STANDINS = Path(__file__).parent / "standins"


@pytest.mark.parametrize("compiler,standard", [("g++", "c++11"), ("g++", "c++20"), ("clang++", "c++17")])
def test_the_headers_compile_and_a_single_program_needs_no_mpi(compiled, compiler, standard):
    program = compiled("collectives.cpp", compiler, f"-std={standard}", "-pthread")
    done = subprocess.run([program], env=runs.clean_environment(), capture_output=True, text=True, check=False,
                          timeout=runs.DEADLINE_S)  # fmt: skip
    assert (done.returncode, done.stdout) == (0, "good\n"), done.stderr
    needed = subprocess.run(["ldd", program], capture_output=True, text=True, check=True, timeout=runs.DEADLINE_S).stdout
    assert "libpopdist.so.1" in needed and "libmpi" not in needed


def test_poplars_own_types_are_used_where_it_is_installed(compiled):
    program = compiled("collectives.cpp", "clang++", "-std=c++17", "-pthread", "-isystem", STANDINS)
    assert runs.mpirun(2, [program]) == "good with Poplar's types\n" * 2


@pytest.mark.parametrize("instances", [2, 3, 8])
def test_all_operations_under_mpirun(compiled, instances):
    """On record: isBackendInitialized tells; registerCommunicator(participants, id) is called by all instances alike;
    errors are popdist::popdist_error; broadcast(data, n, type, root, id) in place; allGather(in, out, n, type, id,
    inplace), where in is null when the block is in its place; an id names a communicator, or else keys the operation;
    release 3.0 had collectives::parallel and collectives::sequential."""
    program = compiled("collectives.cpp", "g++", "-std=c++11", "-pthread")
    assert runs.mpirun(instances, [program]) == "good\n" * instances


@pytest.mark.parametrize("header,call", [
    ("backend.hpp", "popdist::run(engine, 7)"),
    ("popdist_poplar.hpp", "popdist::run(engine, 7 + popdist::getDeviceId(1))"),
])  # fmt: skip
def test_one_header_is_enough_where_public_code_includes_only_one(compiled, tmp_path, header, call):
    """On record: run is declared by popdist/backend.hpp alone (graphcore/tensorflow, poplar_executor.cc; graphcore/poptorch,
    lower_to_poplar/PoplarExecutor.cpp); popdist/popdist_poplar.hpp declares everything (PaddlePaddle/Paddle,
    paddle/fluid/platform/device/ipu/ipu_executor.cc)."""
    source = tmp_path / f"{header}.cpp"
    source.write_text(
        f"#include <popdist/{header}>\n#include <cstdio>\n"
        'struct Engine { void run(unsigned program, const std::string &) { std::printf("ran %u\\n", program); } };\n'
        f"int main() {{ Engine engine; {call}; }}\n"
    )
    program = compiled(source, "g++", "-std=c++11")
    done = subprocess.run([program], env=runs.clean_environment(), capture_output=True, text=True, check=False,
                          timeout=runs.DEADLINE_S)  # fmt: skip
    assert (done.returncode, done.stdout) == (0, "ran 7\n"), done.stderr


def test_cmake_finds_the_package(installed, tmp_path):
    """On record: the library is libpopdist.so, the CMake package and target are popdist."""
    (tmp_path / "main.c").write_text(
        "#include <popdist/popdist.h>\n"
        "int main(void) { uint32_t n = 0; return popdist_num_instances(&n, NULL) || n != 1; }\n"
    )
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.25)\nproject(user C)\nfind_package(popdist REQUIRED)\n"
        "add_executable(shared main.c)\ntarget_link_libraries(shared popdist)\n"
        "add_executable(static main.c)\ntarget_link_libraries(static popdist::static)\n"
    )
    for words in (["cmake", "-S", tmp_path, "-B", tmp_path / "build", f"-DCMAKE_PREFIX_PATH={installed}"],
                  ["cmake", "--build", tmp_path / "build"], [tmp_path / "build" / "shared"], [tmp_path / "build" / "static"]):  # fmt: skip
        done = subprocess.run(words, env=runs.clean_environment(), capture_output=True, text=True, check=False,
                              timeout=runs.DEADLINE_S)  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr


def test_the_library_exports_what_its_header_declares_and_nothing_else(installed, libraries):
    listing = subprocess.run(["nm", "-D", "--defined-only", libraries / "libpopdist.so"], check=True,
                             capture_output=True, text=True, timeout=runs.DEADLINE_S).stdout  # fmt: skip
    exported = {line.split()[2] for line in listing.splitlines() if line.split()[1] != "A"}
    header = (installed / "include" / "popdist" / "popdist.h").read_text()
    declared = set(re.findall(r"POPDIST_API [^;(]*?\b(popdist_\w+)\(", header))
    assert exported == {f"{name}@@POPDIST_1" for name in declared}
    plugin = subprocess.run(["nm", "-D", "--defined-only", libraries / "libpopdist_mpi.so"], check=True,
                            capture_output=True, text=True, timeout=runs.DEADLINE_S).stdout  # fmt: skip
    assert [line.split()[2] for line in plugin.splitlines()] == ["popdist_backend"]


def test_a_run_that_does_not_fit_the_environment_is_rejected(compiled):
    program = compiled("collectives.cpp", "g++", "-std=c++11", "-pthread")
    done = subprocess.run([program], env=runs.clean_environment(POPDIST_NUM_TOTAL_REPLICAS="2"), capture_output=True,
                          text=True, check=False, timeout=runs.DEADLINE_S)  # fmt: skip
    assert done.returncode == 1
    assert "the environment says instance 0 of 2, but the backend connects 1" in done.stderr


def test_a_backend_of_ones_own_is_opened_and_closed(compiled):
    """On record: registerBackend(path) loads another; at the end a backend is finalised or was never there."""
    plugin = compiled("plugin.c", "gcc", "-std=c17", "-shared", "-fPIC")
    program = compiled("plugin.cpp", "g++", "-std=c++11")
    done = subprocess.run([program, plugin], env=runs.clean_environment(), capture_output=True, text=True, check=False,
                          timeout=runs.DEADLINE_S)  # fmt: skip
    assert (done.returncode, done.stdout) == (0, "open\nclose 1\n")
    rejected = subprocess.run([program, plugin], env=runs.clean_environment(POPDIST_NUM_TOTAL_REPLICAS="3"),
                             capture_output=True, text=True, check=False, timeout=runs.DEADLINE_S)  # fmt: skip
    assert rejected.stdout == (
        "open\nclose 0\nthe environment says instance 0 of 3, but the backend connects 1 and this is number 0; "
        "start the program with poprun\n"
    )
