"""ipu-launch install: how the programs get from their own image into a pod's volume."""

import os
import re
import shutil
import stat
import subprocess
from pathlib import Path

import pytest

from processes import as_init
from waiting import DEADLINE_S

NOBODY = 65534
TOOLS = "ipu-tools"
LINKS = {"gc-info", "gc-monitor", "poprun", "poprun_numa_wrapper", "vipu"}
FILES = {"ipu-launch", TOOLS, "ipu-nopty.so"}
INSTALLED = FILES | LINKS


def read(folder):
    """What is there by name: a file's bytes, or where a link points."""
    return {path.name: path.readlink() if path.is_symlink() else path.read_bytes() for path in folder.iterdir()}


def read_installed(folder):
    """The same without a draft that was left."""
    drafts = [path for path in folder.iterdir() if path.name.startswith(".")]
    assert all(path.name.startswith(".ipu-launch.") for path in drafts)
    return {path.name: path.readlink() if path.is_symlink() else path.read_bytes()
            for path in folder.iterdir() if path not in drafts}


def whole(launcher):
    """What an installation consists of."""
    programs = {name: (launcher.parent / name).read_bytes() for name in FILES}
    return programs | dict.fromkeys(LINKS, Path(TOOLS))


def is_sanitized(launcher):
    return b"libasan" in launcher.read_bytes()


def mounted(tmp_path, options, script):
    """Runs a script in a mount namespace where tmp_path/volume is a tmpfs with these options."""
    volume = tmp_path / "volume"
    volume.mkdir()
    mount = f"mount -t tmpfs -o {options} tmpfs {volume} && {script}"
    return subprocess.run(as_init(["sh", "-c", mount]), capture_output=True, text=True, timeout=DEADLINE_S)


def test_the_copy_is_complete_and_readable_by_all_users(call, launcher, tmp_path):
    done = call("install", str(tmp_path), preexec_fn=lambda: os.umask(0o077))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert read(tmp_path) == whole(launcher)
    assert {stat.S_IMODE((tmp_path / name).stat().st_mode) for name in INSTALLED} == {0o755}


def test_each_name_is_the_program_of_that_name(call, launcher, tmp_path):
    call("install", str(tmp_path))
    for name in LINKS - {"poprun_numa_wrapper"}:
        printed = subprocess.run([tmp_path / name, "--version"], capture_output=True, text=True, timeout=DEADLINE_S,
                                 check=True).stdout
        alone = {"poprun": launcher.parent}.get(name, launcher.parents[1] / "vipu") / name
        assert printed == subprocess.run([alone, "--version"], capture_output=True, text=True, timeout=DEADLINE_S,
                                         check=True).stdout
        assert printed == subprocess.run([tmp_path / TOOLS, name, "--version"], capture_output=True, text=True, timeout=DEADLINE_S,
                                         check=True).stdout
    wrapped = subprocess.run([tmp_path / "poprun_numa_wrapper", "echo", "x"], capture_output=True, text=True, timeout=DEADLINE_S)
    assert (wrapped.returncode, wrapped.stdout) == (0, "x\n")


def test_an_unknown_name_lists_the_known_ones(call, tmp_path):
    call("install", str(tmp_path))
    done = subprocess.run([tmp_path / TOOLS], capture_output=True, text=True, timeout=DEADLINE_S)
    assert done.returncode == 127
    output = re.fullmatch(r"ipu-tools: unknown tool; expected one of:(.*)\n", done.stderr)
    assert set(output[1].split()) == LINKS
    (tmp_path / "other").symlink_to(TOOLS)
    assert subprocess.run([tmp_path / "other", "--help"], capture_output=True, text=True, timeout=DEADLINE_S).stderr == done.stderr


def test_the_copy_runs_as_any_user(call, tmp_path_factory):
    # pytest's own directories are closed to other users.
    script = 'd=$(mktemp -d) && chmod 755 $d && "$0" install $d && setpriv --reuid 65534 --clear-groups $d/ipu-launch run -- id -u; rm -r $d'
    done = call("run", "--", "true")
    assert done.returncode == 0
    done = subprocess.run(["sh", "-c", script, done.args[0]], capture_output=True, text=True, timeout=DEADLINE_S)
    assert (done.stdout, done.stderr) == (f"{NOBODY}\n", "")


def test_many_at_once(launcher, tmp_path):
    running = [subprocess.Popen([launcher, "install", tmp_path]) for _ in range(20)]
    assert [process.wait(DEADLINE_S) for process in running] == [0] * 20
    assert read(tmp_path) == whole(launcher)


def test_a_killed_one_leaves_nothing_half(launcher, tmp_path):
    """Killed at any moment: what is there under its own name is whole, and the next installation is complete."""
    wanted = whole(launcher)
    for moment in range(12):
        with subprocess.Popen([launcher, "install", tmp_path]) as process:
            try:
                process.wait(moment / 1000)
            except subprocess.TimeoutExpired:
                process.kill()
        found = {name: content for name, content in read_installed(tmp_path).items()}
        assert found.items() <= wanted.items()
        assert "ipu-launch" not in found or found == wanted
    subprocess.run([launcher, "install", tmp_path], check=True, timeout=DEADLINE_S)
    assert read_installed(tmp_path) == wanted


def test_an_older_installation_is_replaced(launcher, tmp_path):
    for name in INSTALLED:
        (tmp_path / name).write_text("old")
    subprocess.run([launcher, "install", tmp_path], check=True, timeout=DEADLINE_S)
    assert read(tmp_path) == whole(launcher)


def test_companions_that_are_not_there_are_named(launcher, tmp_path):
    alone, volume = tmp_path / "alone", tmp_path / "volume"
    alone.mkdir()
    volume.mkdir()
    shutil.copy(launcher, alone)
    done = subprocess.run([alone / "ipu-launch", "install", volume], capture_output=True, text=True, timeout=DEADLINE_S)
    assert done.returncode == 125
    assert done.stderr == f"ipu-launch: cannot read {alone}/ipu-tools: No such file or directory\n"
    assert os.listdir(volume) == []


def test_a_running_copy_can_be_replaced(call, tmp_path):
    call("install", str(tmp_path))
    with subprocess.Popen([tmp_path / "ipu-launch", "run", "--", "cat"], stdin=subprocess.PIPE) as running:
        assert call("install", str(tmp_path)).returncode == 0
        running.stdin.close()
        assert running.wait(DEADLINE_S) == 0


def test_a_missing_directory(call, tmp_path):
    done = call("install", str(tmp_path / "none"))
    assert done.returncode == 125
    assert done.stderr == (
        f"ipu-launch: cannot write to {tmp_path}/none: No such file or directory; mount a volume at this directory\n"
    )


def test_a_read_only_volume(launcher, tmp_path):
    done = mounted(tmp_path, "ro", f"{launcher} install {tmp_path}/volume")
    assert done.returncode == 125
    assert done.stderr.endswith("Read-only file system; mount the volume writable here\n")


def test_a_full_volume_keeps_nothing_half(launcher, tmp_path):
    script = f"{launcher} install {tmp_path}/volume; status=$?; ls -A {tmp_path}/volume; exit $status"
    done = mounted(tmp_path, "size=64k", script)
    assert (done.returncode, done.stdout) == (125, "")
    assert done.stderr.endswith("No space left on device; give the volume a larger size limit\n")


def test_a_directory_of_another_user(launcher, tmp_path):
    script = f'd=$(mktemp -d); chmod 755 $d; setpriv --reuid {NOBODY} --clear-groups "$0" install $d; s=$?; rm -r $d; exit $s'
    readable = tmp_path / "ipu-launch"
    shutil.copy(launcher, readable)
    done = subprocess.run(
        ["sh", "-c", f'c=$(mktemp) && cp "$0" $c && chmod 755 $c && set -- $c && {script.replace("$0", "$1")}', readable],
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
    )
    assert done.returncode == 125
    assert done.stderr.endswith(f"Permission denied; let uid {NOBODY} write there\n")


def test_a_container_with_nothing_else(call, launcher, tmp_path):
    """No /proc, no libraries, a read-only root, no environment, any uid, no stdin: as in an image from scratch."""
    if is_sanitized(launcher):
        pytest.skip("a build with sanitizers is not static")
    root = tmp_path / "root"
    (root / "ipu").mkdir(parents=True)
    call("install", str(root / "ipu"))
    enter = (
        f"mount --bind {root} {root} && mount -o remount,bind,ro {root} && "
        f"exec env -i $(command -v chroot) --userspec=12345:12345 {root} /ipu/ipu-launch run -- ipu-launch run -- /ipu/ipu-launch env <&-"
    )
    done = subprocess.run(as_init(["sh", "-c", enter]), capture_output=True, text=True, timeout=DEADLINE_S)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_companions_in_a_container_with_nothing_else(call, launcher, tmp_path):
    """They are static, in any image, and poprun says in one line what such an image lacks."""
    if is_sanitized(launcher):
        pytest.skip("a build with sanitizers is not static")
    (tmp_path / "ipu").mkdir()
    call("install", str(tmp_path / "ipu"))

    def enter(*words):
        command = ["chroot", "--userspec=12345:12345", tmp_path, *words]
        return subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE_S,
                              env={"PATH": f"{os.environ['PATH']}:/ipu"})

    tmp_path.chmod(0o755)
    for name in LINKS - {"poprun_numa_wrapper"}:
        done = enter("/ipu/ipu-launch", "run", "--", name, "--version")
        assert (done.returncode, done.stderr) == (0, ""), name
    done = enter("/ipu/ipu-launch", "run", "--", "poprun", "--offline-mode=on", "echo", "x")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        "POPRUN ERROR: mpirun not found in PATH; install Open MPI (Debian: openmpi-bin) or add the directory of its mpirun "
        "to PATH\n"
    )
