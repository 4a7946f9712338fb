"""gc-monitor, and the device locks it looks at."""

import json
import os
import re
import signal
import subprocess

import pytest

from conftest import QUICK
from devices import bad, conf, controller, desk, good, wait_active  # noqa: F401
from generic import pb
from programs import DEADLINE_S, ROOT, program, until


@pytest.fixture
def p1(desk, tmp_path):  # noqa: F811
    """A desk with the IPUoF file of partition p1: 8 IPUs."""
    path = tmp_path / "p1_ipuof.conf"
    path.write_text(conf("p1", 8))
    desk.variables = {"IPUOF_CONFIG_PATH": str(path)}
    return desk


def start_p1(serve, dial, desk, size):  # noqa: F811
    """The client of a new server with an active partition p1, at which the desk looks."""
    target = serve(QUICK).target
    client = dial(target)
    client.create("p1", size, reconfigurable=True)
    wait_active(client, "p1")
    desk.point_at(target, "p1")
    return client


def rows(text):
    """The cells of every line that has some."""
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("|")]


def test_the_boxes(serve, dial, desk):  # noqa: F811
    """gc-monitor heads its box with Partition: p1 (gcd:0) [active] has 8 reconfigurable IPUs; reference, 6.4: columns "IPU-M | Serial | IPU-M
    SW | Server version | ICU FW | Type | ID | IPU# | Routing"; a rule between machines; "No attached processes"."""
    start_p1(serve, dial, desk, 8)
    text = good(desk.monitor())
    lines = rows(text)
    assert lines[0] == ["gc-monitor", "Partition: p1 (gcd:0) [active] has 8 reconfigurable IPUs"]
    assert lines[1] == ["IPU-M", "Serial", "IPU-M SW", "Server version", "ICU FW", "Type", "ID", "IPU#", "Routing"]
    assert [(row[0], row[5], row[6], row[7], row[8]) for row in lines[2:10]] == [
        (f"10.1.5.{10 + i // 4}", "M2000", str(i), str(3 - i % 4), "DNC") for i in range(8)]
    assert lines[10] == ["No attached processes in partition p1"]
    # Rules around the head, the headings, each machine, and the last box.
    assert [n for n, line in enumerate(text.splitlines()) if line.startswith("+")] == [0, 2, 4, 9, 14, 15, 17]
    assert "No attached" in good(desk.monitor("--no-card-info")) and "Serial" not in good(desk.monitor("--no-card-info"))


def test_who_is_attached(p1):
    """gc-monitor lists the attached processes, or says that there are none."""
    first = p1.attach("p1", 0, 4)
    second = p1.attach("p1", 4, 1)
    text = good(p1.monitor("--no-card-info"))
    lines = rows(text)
    assert lines[0] == ["Attached processes in partition p1", "IPU", "Board"]
    assert lines[1] == ["PID", "Command", "Time", "User", "ID", "Clock", "Temp", "Temp", "Power"]
    assert [(int(row[0]), row[1], int(row[4])) for row in lines[2:]] == [
        *((first.pid, "vipu-attacher", ipu) for ipu in range(4)), (second.pid, "vipu-attacher", 4)]
    assert all(re.fullmatch(r"\d+s", row[2]) for row in lines[2:])
    p1.detach(first)
    assert [int(row[4]) for row in rows(good(p1.monitor("--no-card-info")))[2:]] == [4]
    p1.detach(second)
    assert "No attached processes in partition p1" in good(p1.monitor())


def test_a_second_program_is_rejected(p1):
    """Issue: "a second program is rejected"; seed 003, 2.10.2: "IPUs cannot be shared by different programs"."""
    holder = p1.attach("p1", 4, 4)
    rejected = p1.start("p1", 6, 1)
    _, problems = rejected.communicate(timeout=DEADLINE_S)
    assert rejected.returncode == 1
    assert f"IPU 6 by process {holder.pid} (vipu-attacher, user " in problems and "gc-monitor" in problems
    p1.attach("p1", 0, 4)
    p1.detach(holder)
    p1.attach("p1", 6, 1)


def test_a_holder_that_was_killed_does_not_hold(p1):
    holder = p1.attach("p1", 0, 8)
    os.kill(holder.pid, signal.SIGKILL)
    p1.detach(holder)
    assert "No attached processes" in good(p1.monitor())
    p1.attach("p1", 0, 8)


def test_one_of_many_programs_gets_the_device(p1):
    rivals = [p1.start("p1", 0, 4) for _ in range(12)]
    won = []
    for rival in rivals:
        if rival.stdout.readline() == "attached\n":
            won.append(rival)
    assert len(won) == 1
    for rival in rivals:
        rival.communicate(timeout=DEADLINE_S)
    assert sorted(rival.returncode for rival in rivals) == [0] + 11 * [1]


def test_sensors(serve, dial, desk):  # noqa: F811
    """Reference, 6.4: "Sensors need GCDA_MONITOR=1 in the application"; unknown values are N/A."""
    start_p1(serve, dial, desk, 4)
    desk.attach("p1", 0, 1, env={"GCDA_MONITOR": "1"})
    assert rows(good(desk.monitor("--no-card-info")))[2][4:] == ["0", "1330MHz", "N/A", "N/A", "N/A"]


def test_programs_of_other_namespaces(p1):
    """Reference, 6.4: "IPUs in X attached from other namespaces" with "ID | Application host | Clock | Temp | Temp | Power"."""
    new = ["--pid", "--uts", "--fork", "--kill-child"]
    ways = (["unshare", *new], ["unshare", "--map-root-user", *new])
    unshare = next((way for way in ways if subprocess.run([*way, "true"], capture_output=True).returncode == 0), None)
    if not unshare:
        pytest.skip("this user may not make namespaces")
    holder = subprocess.Popen(
        [*unshare, "sh", "-c", 'hostname pod-7 && exec "$0" "$@"', program("../tests/unit/vipu/tools/vipu-attacher"),
         str(p1.locks), "p1", "0", "2", "2"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert holder.stdout.readline() == "attached\n"
    local = p1.attach("p1", 0, 1)
    lines = rows(good(p1.monitor("--no-card-info")))
    assert lines[0][0] == "Attached processes in partition p1" and int(lines[2][0]) == local.pid
    assert lines[3] == ["IPUs in p1 attached from other namespaces", "Board"]
    assert lines[4] == ["ID", "Application host", "Clock", "Temp", "Temp", "Power"]
    assert [row[:2] for row in lines[5:]] == [["2", "pod-7"], ["3", "pod-7"]]
    holder.communicate(timeout=DEADLINE_S)
    assert holder.returncode == 0


def test_all_partitions(serve, dial, desk):  # noqa: F811
    """The host alone is enough for gc-monitor --all-partitions."""
    target = serve(QUICK).target
    client = dial(target)
    desk.point_at(target)
    # gc-monitor does not crash without an active partition.
    assert rows(good(desk.monitor("--no-card-info", "--all-partitions"))) == [["No active partition"]]
    assert json.loads(good(desk.monitor("--all-partitions", "--json"))) == {"partitions": []}
    client.create("p1", 4, reconfigurable=True)
    client.create("p2", 4, num_gcds=2)
    wait_active(client, "p1", "p2")
    desk.attach("p2", 0, 1, gcd=1)
    lines = rows(good(desk.monitor("--all-partitions")))
    heads = [row[1] for row in lines if row[0] == "gc-monitor"]
    assert heads == ["Partition: p1 (gcd:0) has 4 reconfigurable IPUs", "Partition: p2 (gcd:0) has 2 IPUs",
                     "Partition: p2 (gcd:1) has 2 IPUs"]
    boxes = [row[0] for row in lines if "processes in partition" in row[0]]
    assert boxes == ["No attached processes in partition p1", "No attached processes in partition p2",
                     "Attached processes in partition p2 (gcd:1)"]


def test_json(serve, dial, desk):  # noqa: F811
    """gc-monitor takes --no-card-info, --all-partitions and --json, whose top level is an object."""
    start_p1(serve, dial, desk, 4)
    holder = desk.attach("p1", 2, 2)
    (entry,) = json.loads(good(desk.monitor("--no-card-info", "--all-partitions", "--json")))["partitions"]
    assert (entry["partition"], entry["gcd"], entry["active"], entry["reconfigurable"]) == ("p1", 0, True, True)
    assert "ipus" not in entry
    (process,) = entry["processes"]
    assert (process["pid"], process["ipus"], process["otherNamespace"]) == (holder.pid, [2, 3], False)
    (entry,) = json.loads(good(desk.monitor("--json")))["partitions"]
    assert [(ipu["id"], ipu["ipu"], ipu["clock"]) for ipu in entry["ipus"]] == [(i, 3 - i, "1330MHz") for i in range(4)]


def test_without_any_partition(desk):  # noqa: F811
    bad(desk.monitor(), "no partition selected")
    assert "No active partition" in good(desk.monitor("--all-partitions"))


def test_a_partition_in_error(controller, desk):  # noqa: F811
    desk.point_at(controller.target, "p1")
    assert "has 4 reconfigurable IPUs" in good(desk.monitor())
    controller.status.ready_state = pb.PS_ERROR
    controller.status.errors[:] = ["agent ag1 does not answer"]
    assert bad(desk.monitor(), "agent ag1 does not answer", "vipu reset partition p1") == ""
    (entry,) = json.loads(bad(desk.monitor("--json"), "vipu reset partition p1"))["partitions"]
    assert "agent ag1" in entry["error"] and entry["ipus"] == []


def test_locks_that_cannot_be_read(p1, tmp_path):
    folder = tmp_path / "locks"
    folder.mkdir()
    (folder / "p1.gcd0.lock").symlink_to("/dev/null")
    bad(p1.monitor(), "p1.gcd0.lock")


def test_a_wrong_command_line(desk):  # noqa: F811
    result = desk.monitor("--jsn", "word")
    assert result.returncode == 2 and "did you mean --json" in result.stderr and '"word"' in result.stderr
    assert re.fullmatch(r"gc-monitor \d+\.\d+\.\d+\n", good(desk.monitor("--version")))
    text = good(desk.monitor("--help"))
    for word in ("--no-card-info", "--all-partitions", "--json", "GCDA_MONITOR", "Exit status"):
        assert word in text


@pytest.mark.parametrize("name", ["gc-info", "gc-monitor"])
def test_the_guide_has_every_option(desk, name):  # noqa: F811
    guide = (ROOT / "docs" / "vipu.md").read_text().partition("## Partition devices")[2].partition("\n## ")[0]
    known = re.findall(r"--[a-z-]+|\b(?:IPUOF|GCDA)_[A-Z_]+\b", good(desk.run(name, "--help")))
    assert {"--all-partitions", "IPUOF_CONFIG_PATH", "IPUOF_RUN_DIR"} <= set(known)
    assert [word for word in known if word not in guide and word not in ("--help", "--version")] == []


def test_the_lock_folder_is_writable_by_all_users(p1):
    p1.attach("p1", 0, 1)
    until(lambda: p1.locks.is_dir(), "the folder of locks")
    assert p1.locks.stat().st_mode & 0o7777 == 0o1777
    assert (p1.locks / "p1.gcd0.lock").stat().st_mode & 0o777 == 0o666


@pytest.mark.parametrize("name", ["gc-info", "gc-monitor"])
def test_the_manual_page_has_what_the_help_has(desk, name):  # noqa: F811
    page = good(desk.run(name, "__man"))
    text = subprocess.run(["mandoc", "-T", "utf8", "-O", "width=1000"], input=page, capture_output=True, text=True, check=True)
    shown = re.sub(r".\x08", "", text.stdout)
    flags = re.findall(r"^  (?:-\w, |    )(--[a-z-]+)", good(desk.run(name, "--help")), re.M)
    assert len(flags) > 12 and [flag for flag in flags if flag not in shown] == []
    assert re.search(rf"^ +{name} - \w", shown, re.M) and "Exit status" in shown
