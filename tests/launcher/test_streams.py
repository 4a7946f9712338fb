"""Descriptors: what the launcher inherits the command inherits, and nothing else."""

import os
import subprocess

from processes import python
from waiting import DEADLINE_S

LIST = """
import os
found = []
for fd in range(64):
    try:
        found.append((fd, os.stat(fd).st_ino))
    except OSError:
        pass
os.write({to}, repr(found).encode())
"""


def test_nothing_is_left_open(start):
    _, out, _ = start(*python(LIST.format(to=1))).end()
    assert [fd for fd, _ in eval(out)] == [0, 1, 2]


def test_a_handed_down_descriptor_arrives(start, mode):
    reading, writing = os.pipe()
    inode = os.fstat(writing).st_ino
    status, _, _ = start(*python(LIST.format(to=writing)), pass_fds=[writing]).end()
    os.close(writing)
    with os.fdopen(reading) as pipe:
        found = eval(pipe.read())
    assert status == 0
    assert dict(found)[writing] == inode
    assert [fd for fd, _ in found] == [0, 1, 2, writing]


def closed(launcher, which, words):
    closing = " ".join(f"{fd}>&-" for fd in which)
    return subprocess.run(["sh", "-c", f'exec "$@" {closing}', "sh", str(launcher), *words], capture_output=True,
                          timeout=DEADLINE_S)


def test_closed_streams_stay_closed(launcher, tmp_path):
    for which in [[0], [1], [2], [0, 2], [0, 1], [0, 1, 2]]:
        out = tmp_path / "found"
        script = f'for fd in 0 1 2; do [ -e /proc/$$/fd/$fd ] && echo $fd; done >{out}; exit 7'
        assert closed(launcher, which, ["run", "--", "sh", "-c", script]).returncode == 7
        # The shell's own redirection takes 1 for a moment.
        assert set(map(int, out.read_text().split())) - {1} == {0, 1, 2} - set(which) - {1}


def test_failures_are_found_with_closed_streams_too(launcher):
    for which in [[0], [1], [2], [0, 2], [0, 1, 2]]:
        done = closed(launcher, which, ["run", "--", "/nowhere/train"])
        assert done.returncode == 127
        assert (b"/nowhere/train" in done.stderr) == (2 not in which)
