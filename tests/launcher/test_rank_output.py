"""What the ranks of mpirun write: whole lines with their tags, nothing lost; and what a rank finds around it. With both
generations of Open MPI, whose daemons read 4,096 bytes at a time and forward them as they are (orte/mca/iof/orted/iof_orted_read.c
of open-mpi/ompi v4.1.4, src/mca/iof/prted/iof_prted_read.c of openpmix/prrte v3.0.13)."""

import array
import fcntl
import os
import re
import signal
import subprocess
import termios

import pytest

from agents import CLEAN, descendants, kill, marked, sleeper
from processes import is_running
from waiting import DEADLINE_S, until

WORKERS = 3
TAGGED = re.compile(rb"\[1,(\d+)\]<std(out|err)>: ?(.*)", re.DOTALL)


class Cluster:
    """A launcher and three workers of two slots each, with one generation of Open MPI."""

    def __init__(self, job, folder):
        self.job = job
        self.path = {"PATH": f"{folder}/bin:{CLEAN['PATH']}"} if folder else {}
        self.mpirun = ["mpirun"]
        for i in range(WORKERS):
            job.start_agent(i, **self.path)

    def run(self, *words, **env):
        done = self.job.run(*self.mpirun, *words, text=False, **self.path, **env)
        assert done.returncode == 0, done.stderr
        return done

    def start(self, *words):
        return self.job.start_run(*self.mpirun, *words, **self.path)


@pytest.fixture(params=["", "5"])
def cluster(job, request):
    return Cluster(job(workers=WORKERS, slots=2), request.getfixturevalue("open_mpi_5") if request.param else "")


# mpirun's own, when a process that it has started was quicker than itself.
WARNING = b"Warning: setpgid("


def untag(output):
    """{(rank, stream): [line, ...]}; a line without a tag, or with two, is an error."""
    found = {}
    for line in output.splitlines(keepends=True):
        if WARNING in line:
            continue
        match = TAGGED.fullmatch(line)
        assert match and not TAGGED.search(match[3]), line[:200]
        found.setdefault((int(match[1]), match[2].decode()), []).append(match[3])
    return found


def python(code):
    return ["python3", "-ISu", "-c", code]


RANK = "import os, sys, random; rank = int(os.environ['OMPI_COMM_WORLD_RANK']); "


def test_lines_of_unbuffered_writers_are_whole_and_in_order(cluster):
    """As print() of an unbuffered Python does: the text and its end are two writes."""
    count = 400
    done = cluster.run(*python(RANK + f"""
for i in range({count}):
    for fd in (1, 2):
        os.write(fd, b"%d %d " % (rank, i))
        os.write(fd, b"x" * (i * 7919 % 300))
        os.write(fd, b"\\n")
"""))  # fmt: skip
    for stream, output in (("out", done.stdout), ("err", done.stderr)):
        assert untag(output) == {
            (rank, stream): [b"%d %d %s\n" % (rank, i, b"x" * (i * 7919 % 300)) for i in range(count)] for rank in range(2 * WORKERS)}  # fmt: skip


@pytest.mark.parametrize("how", ["sh -c", "script"])
@pytest.mark.parametrize("version", ["4", "5"])
def test_lines_are_whole_if_a_shell_of_a_worker_starts_mpirun(call, request, tmp_path, version, how):
    """The shell's other programs open pseudoterminals as ever."""
    folder = "" if version == "4" else f"{request.getfixturevalue('open_mpi_5')}/bin:"
    code = RANK + "[os.write(1, b) for i in range(3000) for b in (b'%d %d ' % (rank, i), b'x' * (i * 7919 % 300), b'\\n')]"
    (tmp_path / "ranks.py").write_text(code)
    text = f"""python3 -ISc 'import os, sys; os.openpty(); sys.stderr.write("a terminal\\n")'
mpirun --allow-run-as-root --oversubscribe -np 4 python3 -ISu {tmp_path}/ranks.py
"""
    (tmp_path / "train.sh").write_text(text)
    words = ("sh", "-c", text) if how == "sh -c" else ("sh", str(tmp_path / "train.sh"))
    done = call("run", "--", *words, env={**CLEAN, "PATH": folder + CLEAN["PATH"], "TMPDIR": str(tmp_path)}, text=False)
    assert done.returncode == 0 and b"a terminal\n" in done.stderr, done.stderr
    assert untag(done.stdout) == {
        (rank, "out"): [b"%d %d %s\n" % (rank, i, b"x" * (i * 7919 % 300)) for i in range(3000)] for rank in range(4)}  # fmt: skip


@pytest.mark.parametrize("option", ["--tag-output", "--output tag", "--output=rank"])
def test_lines_are_not_tagged_twice(job, open_mpi_5, option):
    """Version 5 adds tags by an option alone; without it ipu-launch does."""
    done = Cluster(job(workers=WORKERS, slots=2), open_mpi_5).run(*option.split(), "echo", "hi")
    assert sorted(done.stdout.splitlines()) == sorted(
        f"[{rank}]<stdout>: hi".replace("[", "[" if "rank" in option else "[1,").encode() for rank in range(2 * WORKERS))  # fmt: skip


def test_short_lines_are_not_lost(job):
    """Open MPI 4.1 drops what exceeds 8,192 bytes with the tags of the lines that one read returned
    (orte/mca/iof/base/iof_base_output.c of open-mpi/ompi v4.1.4)."""
    count = 20_000
    one = Cluster(job(workers=WORKERS, slots=2), "")
    assert untag(one.run("-np", "2", "seq", str(count)).stdout) == {
        (rank, "out"): [b"%d\n" % i for i in range(1, count + 1)] for rank in range(2)}  # fmt: skip


def test_any_bytes_of_a_single_rank_are_not_changed(cluster):
    """With no other rank there is nothing to separate: no end of a line is added."""
    wanted = bytes(i * i // 7 % 256 for i in range(100_000)).replace(b"\n", b"")
    words = ["mpirun", "-np", "1", *python(RANK + "b = bytes(i * i // 7 % 256 for i in range(100_000)); os.write(1, b.replace(b'\\n', b''))")]
    done = cluster.job.run(*words, text=False, OMPI_MCA_orte_tag_output="0", **cluster.path)
    assert done.stdout == wanted


def test_a_long_line_comes_in_pieces_that_are_marked(cluster):
    done = cluster.run(*python(RANK + "os.write(1, b'%d' % rank * 10_000 + b'\\nnext\\nlast')"))
    for (rank, _), lines in untag(done.stdout).items():
        pieces = [b"%d" % rank * 4000 + b"\\\n"] * 2 + [b"%d" % rank * 2000 + b"\n"]
        assert lines == [*pieces, b"next\n", b"last\n"]
    assert len(untag(done.stdout)) == 2 * WORKERS


def test_an_unfinished_line_is_shown_after_a_while(cluster):
    """A prompt, or a progress bar."""
    launch = cluster.start("-np", "2", "sh", "-c", 'printf "ready? "; exec sleep 600')
    lines = (line for line in launch.stdout if WARNING not in line)
    assert [TAGGED.match(next(lines))[3] for _ in range(2)] == [b"ready? \\\n"] * 2
    launch.send_signal(signal.SIGTERM)
    launch.wait(DEADLINE_S)


def test_the_last_words_of_a_killed_rank_are_shown(cluster):
    code = RANK + "os.write(1, b'a' * 3000 + b'\\nlast words'); os.kill(os.getpid(), 9) if rank == 1 else __import__('time').sleep(600)"
    launch = cluster.start(*python(code))
    output = launch.stdout.read()
    assert launch.wait(DEADLINE_S) == 128 + signal.SIGKILL
    assert [line for line in output.splitlines() if line.startswith(b"[1,1]<stdout>")] == [
        b"[1,1]<stdout>:" + space + text for space in [b" " if cluster.path else b""] for text in (b"a" * 3000, b"last words")]  # fmt: skip


def all_of_a_slow_reader(launch):
    """Its output, read only when about no more fits into the pipe."""
    def is_full():
        waiting = array.array("i", [0])
        fcntl.ioctl(launch.stdout, termios.FIONREAD, waiting)
        return waiting[0] >= 1 << 19  # a page has only whole writes
    until(is_full, "a pipe that is full, or nearly")
    output = launch.stdout.read()
    assert launch.wait(DEADLINE_S) == 0
    return output


def test_no_line_is_lost_at_the_end_if_the_log_is_read_slowly(cluster):
    count = 30_000
    output = all_of_a_slow_reader(cluster.start("-np", "4", *python(RANK + f"""
text = b"".join(b"%d %d %s\\n" % (rank, i, b"x" * 80) for i in range({count}))
while text:
    text = text[os.write(1, text[:65536]):]
""")))  # fmt: skip
    assert untag(output) == {(rank, "out"): [b"%d %d %s\n" % (rank, i, b"x" * 80) for i in range(count)] for rank in range(4)}


def test_raw_output_without_lines_is_not_lost_either(job, open_mpi_5):
    """mpirun of Open MPI 5 collects the output of a single rank until a line ends, unless it is told not to."""
    code = RANK + "[os.write(1, b'x' * 4000) for i in range(1000)]"
    launch = Cluster(job(workers=WORKERS, slots=2), open_mpi_5).start("--output", ":raw", "-np", "1", *python(code))
    assert all_of_a_slow_reader(launch).count(b"x") == 4_000_000


def test_output_has_room_before_its_reader_takes_it(call):
    """mpirun of Open MPI 5 loses what has no end of a line, at times, if its output is a full pipe when a rank ends."""
    code = "import fcntl; print(*(fcntl.fcntl(fd, 1032) for fd in (1, 2)))"  # F_GETPIPE_SZ
    assert call("run", "--", *python(code)).stdout == f"{1 << 20} {1 << 20}\n"


def test_a_child_that_outlives_its_rank_is_still_heard(cluster):
    done = cluster.run("-np", "2", "sh", "-c", '(sleep 0.2; echo child of $OMPI_COMM_WORLD_RANK) & echo rank $OMPI_COMM_WORLD_RANK')
    assert untag(done.stdout) == {(rank, "out"): [b"rank %d\n" % rank, b"child of %d\n" % rank] for rank in range(2)}


def test_standard_input_reaches_rank_0(cluster):
    words = [str(cluster.job.launcher), "run", "--", *cluster.mpirun, "-np", "2", "head", "-n", "2"]
    done = subprocess.run(words, input=b"a\nb\n", env=cluster.job.launcher_env(**cluster.path), capture_output=True, timeout=DEADLINE_S)
    assert untag(done.stdout) == {(0, "out"): [b"a\n", b"b\n"]}


def test_a_rank_is_as_without_a_program_before_it(cluster):
    """mpirun's daemon is its parent, it leads its process group, it writes to a terminal, and has no child that it did not start."""
    done = cluster.run(*python(RANK + """
try:
    os.wait()
except ChildProcessError:
    pass
parent = open(f"/proc/{os.getppid()}/comm").read().strip()
print(parent, os.getpgid(0) == os.getpid(), os.isatty(1), os.isatty(2), os.environ.get("LD_PRELOAD"), sorted(os.listdir("/proc/self/fd"))[:3])
"""))  # fmt: skip
    daemon = b"prted" if cluster.path else b"orted"
    assert untag(done.stdout) == {
        (rank, "out"): [daemon + b" True True False None ['0', '1', '2']\n"] for rank in range(2 * WORKERS)}  # fmt: skip


def test_nothing_is_left_of_a_run(cluster):
    cluster.run("true")
    until(lambda: not [pid for i in range(WORKERS) for pid in descendants(cluster.job.agent_pid(i))], "the end of all processes")


def test_a_stopped_run_leaves_nothing(cluster, tmp_path):
    mark = f"{tmp_path.name}-{os.getpid()}"
    launch = cluster.start("sh", "-c", sleeper(mark))
    until(lambda: len(marked(mark)) >= 2 * WORKERS, "six ranks")
    own = {pid for i in range(WORKERS) for pid in descendants(cluster.job.agent_pid(i))}
    kill(next(iter(own & set(marked(mark)))))
    assert launch.wait(DEADLINE_S) == 128 + signal.SIGKILL
    until(lambda: not any(is_running(pid) for pid in own), "the end of all processes")
