"""ipu-launch install: how the program gets from its own image into a pod's volume."""

import os
import stat
import subprocess

import pytest

from processes import as_init

NOBODY = 65534


def mounted(tmp_path, options, script):
    """Runs a script in a mount namespace where tmp_path/volume is a tmpfs with these options."""
    volume = tmp_path / "volume"
    volume.mkdir()
    mount = f"mount -t tmpfs -o {options} tmpfs {volume} && {script}"
    return subprocess.run(as_init(["sh", "-c", mount]), capture_output=True, text=True, timeout=20)


def test_the_copy_is_whole_and_for_everybody(call, launcher, tmp_path):
    done = call("install", str(tmp_path), preexec_fn=lambda: os.umask(0o077))
    copy = tmp_path / "ipu-launch"
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert copy.read_bytes() == launcher.read_bytes()
    assert stat.S_IMODE(copy.stat().st_mode) == 0o755
    assert os.listdir(tmp_path) == ["ipu-launch"]


def test_the_copy_runs_as_any_user(call, tmp_path_factory):
    # pytest's own directories are closed to other users.
    script = 'd=$(mktemp -d) && chmod 755 $d && "$0" install $d && setpriv --reuid 65534 --clear-groups $d/ipu-launch run -- id -u; rm -r $d'
    done = call("run", "--", "true")
    assert done.returncode == 0
    done = subprocess.run(["sh", "-c", script, done.args[0]], capture_output=True, text=True, timeout=20)
    assert (done.stdout, done.stderr) == (f"{NOBODY}\n", "")


def test_many_at_once(launcher, tmp_path):
    running = [subprocess.Popen([launcher, "install", tmp_path]) for _ in range(20)]
    assert [process.wait(20) for process in running] == [0] * 20
    assert os.listdir(tmp_path) == ["ipu-launch"]
    assert (tmp_path / "ipu-launch").read_bytes() == launcher.read_bytes()


def test_a_running_copy_can_be_replaced(call, tmp_path):
    call("install", str(tmp_path))
    with subprocess.Popen([tmp_path / "ipu-launch", "run", "--", "cat"], stdin=subprocess.PIPE) as running:
        assert call("install", str(tmp_path)).returncode == 0
        running.stdin.close()
        assert running.wait(20) == 0


def test_a_missing_directory(call, tmp_path):
    done = call("install", str(tmp_path / "none"))
    assert done.returncode == 125
    assert done.stderr == (
        f"ipu-launch: cannot write {tmp_path}/none/ipu-launch: No such file or directory; mount a volume at this directory\n"
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


def test_a_directory_of_somebody_else(launcher, tmp_path):
    script = f'd=$(mktemp -d); chmod 755 $d; setpriv --reuid {NOBODY} --clear-groups "$0" install $d; s=$?; rm -r $d; exit $s'
    readable = tmp_path / "ipu-launch"
    readable.write_bytes(launcher.read_bytes())
    done = subprocess.run(
        ["sh", "-c", f'c=$(mktemp) && cp "$0" $c && chmod 755 $c && set -- $c && {script.replace("$0", "$1")}', readable],
        capture_output=True,
        text=True,
        timeout=20,
    )
    assert done.returncode == 125
    assert done.stderr.endswith(f"Permission denied; let uid {NOBODY} write there\n")


def test_a_container_with_nothing_else(call, launcher, tmp_path):
    """No /proc, no libraries, a read-only root, no environment, any uid, no stdin: as in an image from scratch."""
    with open(launcher, "rb") as program:
        if b"libasan" in program.read():
            pytest.skip("a build with sanitizers is not static")
    root = tmp_path / "root"
    (root / "ipu").mkdir(parents=True)
    call("install", str(root / "ipu"))
    enter = (
        f"mount --bind {root} {root} && mount -o remount,bind,ro {root} && "
        f"exec env -i $(command -v chroot) --userspec=12345:12345 {root} /ipu/ipu-launch run -- ipu-launch run -- /ipu/ipu-launch env <&-"
    )
    done = subprocess.run(as_init(["sh", "-c", enter]), capture_output=True, text=True, timeout=20)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
