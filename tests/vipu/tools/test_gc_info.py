"""gc-info, as users and their scripts call it in a pod and on a host."""

import json
import re
import socket
import subprocess
import urllib.request

import grpc
import pytest

from certificates import LOCAL, Authority
from conftest import QUICK
from devices import bad, conf, controller, desk, good, wait_active  # noqa: F401
from generic import pb
from programs import DEADLINE_S, program, until


@pytest.fixture
def cloud(serve, dial, desk):  # noqa: F811
    """Our controller with p1 (16 IPUs, reconfigurable) and p2 (8 IPUs in two GCDs); the desk is pointed at p1."""
    target = serve(QUICK).target
    client = dial(target)
    client.target = target
    client.create("p1", 16, reconfigurable=True)
    client.create("p2", 8, num_gcds=2)
    wait_active(client, "p1", "p2")
    desk.point_at(client.target, "p1")
    return client


def ids(listing):
    return [int(number) for number in re.findall(r"^-\+- Id: \[(\d+)\]", listing, re.MULTILINE)]


def test_the_devices_of_a_partition(cloud, desk):  # noqa: F811
    """Reference, 6.1: "Single IPUs first, then all aligned pairs, all aligned quads, ..., the whole"; a 16-IPU system's
    largest single id is 15 and largest multi id 30. Routing ids run against the board index, id 0 being IPU# 3.
    On record: --size 16 --reconfigurable has 31 devices."""
    listing = good(desk.info("-l"))
    assert listing == good(desk.info("--list-devices"))
    assert listing.startswith("Graphcore device listing:\nPartition: p1 [active]\n"
                              "-+- Id: [0], target: [Fabric], IPU-M host: [10.1.5.10], IPU#: [3]\n")
    assert ids(listing) == list(range(31))
    assert listing.count("target: [Fabric]") == 16 and listing.count("target: [Multi IPU]") == 15
    # "Routing ids run against the board index: id 0 <-> IPU# 3 ...; the next machine starts at 4."
    hosts = re.findall(r"^-\+- Id: \[(\d+)\], target: \[Fabric\], IPU-M host: \[([\d.]+)\], IPU#: \[(\d)\]$", listing, re.M)
    assert [(int(n), host, int(board)) for n, host, board in hosts] == [
        (i, f"10.1.5.{10 + i // 4}", 3 - i % 4) for i in range(16)]
    quad = listing.partition("-+- Id: [27], target: [Multi IPU]\n")[2].splitlines()[:4]
    assert quad == [f" |--- Id: [{12 + i}], DNC Id: [{i}], IPU-M host: [10.1.5.13], IPU#: [{3 - i}]" for i in range(4)]


def test_what_seed_000_tells_users_to_run(cloud, desk):  # noqa: F811
    """"(To see the IPU chip IDs in this device, run "gc-info -d 27 --chip-id")": four instances of four IPUs."""
    chips = {device.routing_id: device.chip_id for device in cloud.ipuof("p1").gcd_configs[0].devices}
    for instance, device in enumerate((24, 25, 26, 27)):
        lines = good(desk.info("-d", str(device), "--chip-id")).splitlines()
        assert lines == [f"Id: [{n}], chip id: [{chips[n]}]" for n in range(4 * instance, 4 * instance + 4)]


def test_the_list_in_a_pipeline(cloud, desk):  # noqa: F811
    """Scripts look for the id of the device that has all IPUs."""
    found = subprocess.run("gc-info -l | grep 'Multi IPU' | tail -n 1 | cut -d'[' -f2 | cut -d']' -f1", shell=True, text=True,
                           capture_output=True, check=True,
                           env=desk.environment({"PATH": f"{program('gc-info').rpartition('/')[0]}:{desk.environment()['PATH']}"}))
    assert found.stdout == "30\n"


def test_every_command(cloud, desk):  # noqa: F811
    """gc-info takes -l, -d, --device-info, --chip-id, --tile-overview, --ipu-count, --ipu-arch and --tile-clock-speed."""
    for words in (["-l"], ["-d", "30", "--device-info"], ["-d", "30", "--chip-id"], ["-d", "30", "--tile-overview"],
                  ["-d", "30", "--ipu-count"], ["-d", "30", "--ipu-arch"], ["-d", "30", "--tile-clock-speed"]):
        assert good(desk.info(*words)) != ""


def test_counts_architecture_and_clock(cloud, desk):  # noqa: F811
    for device, count in ((None, 16), (0, 1), (15, 1), (16, 2), (24, 4), (28, 8), (30, 16)):
        words = [] if device is None else ["--device-id", str(device)]
        assert good(desk.info(*words, "--ipu-count")) == f"{count}\n"
    assert good(desk.info("--ipu-arch")) == good(desk.info("-d", "27", "--ipu-arch")) == "ipu2\n"
    assert good(desk.info("-d", "3", "--tile-clock-speed")) == "1330MHz\n"


def test_device_info(cloud, desk):  # noqa: F811
    """Reference, 6.4: the keys of --device-info, in order; "pci id" of device 0 is 3 in the sample."""
    text = good(desk.info("-d", "0", "--device-info"))
    assert text == good(desk.info("-i", "-d0"))
    lines = text.splitlines()
    assert lines[:3] == ["Device Info:", "id: 0", "target: Fabric"]
    values = dict(line.split(": ", 1) for line in lines[1:])
    keys = list(values)[2:]
    assert keys == sorted(keys)
    recorded = {"average board temp", "average die temp", "board ipu index", "board serial number", "board type", "board variant",
                "clock", "config domain", "driver version", "firmware major version", "firmware minor version",
                "firmware patch version", "firmware version", "gateway software version", "graph streaming",
                "hexoatt active size (bytes)", "hexoatt total size (bytes)", "hexopt active size (bytes)",
                "hexopt total size (bytes)", "host link correctable error count", "ipu architecture", "ipu error state",
                "ipu power", "ipu utilisation", "ipu utilisation (session)", "ipuof host", "ipuof partition id",
                "ipuof routing id", "ipuof routing type", "ipuof server version", "number of replicas", "partition sync type",
                "link correctable error count", "link speed", "link width", "pci id", "pcie physical slot",
                "reconfigurable partition", "remote buffers supported", "total board power"}
    assert recorded - set(keys) == set()
    wanted = {"board ipu index": "3", "board type": "M2000", "board variant": "M2000", "clock": "1330MHz", "hexoatt total size (bytes)": "34082914304",
              "hexopt total size (bytes)": "268435456", "ipu architecture": "ipu2", "ipu error state": "no errors",
              "ipuof host": "10.1.5.10", "ipuof partition id": "p1", "ipuof routing id": "0", "ipuof routing type": "DNC",
              "link speed": "16 GT/s", "link width": "8", "pcie physical slot": "3", "number of replicas": "1", "partition sync type": "c2-compatible", "pci id": "3",
              "reconfigurable partition": "true", "remote buffers supported": "1"}
    assert {key: values[key] for key in wanted} == wanted
    # "Value suffixes parsed by others: ... clock "MHz" ... speed "GT/s", unknown "N/A"": no sensors are simulated.
    assert {values[key] for key in ("average board temp", "average die temp", "ipu power", "ipu utilisation",
                                    "ipu utilisation (session)", "total board power")} == {"N/A"}
    # "serial form 0114.0002.8204521 (IPU# 3,2 -> .0002., 1,0 -> .0001.)"
    for device, middle in ((0, "0002"), (1, "0002"), (2, "0001"), (3, "0001")):
        serial = re.search(r"^board serial number: (\S+)$", good(desk.info("-i", "-d", str(device))), re.M)[1]
        assert re.fullmatch(rf"\d{{4}}\.{middle}\.\d{{7}}", serial)
    # Published scripts look for this very line.
    assert "\nremote buffers supported: 1\n" in text


def test_who_is_attached_is_an_attribute(cloud, desk):  # noqa: F811
    process = desk.attach("p1", 4, 4)
    text = good(desk.info("-d", "25", "-i"))
    assert f"user process id: {process.pid}\n" in text and "user executable: vipu-attacher\n" in text
    assert re.search(r"^process start time: \d{8}T\d{6}Z$", text, re.M)
    assert "user process id" not in good(desk.info("-d", "24", "-i"))


def test_tiles_need_the_device_alone(cloud, desk):  # noqa: F811
    """1,472 tiles of an ipu2 in 16 columns, four to a group."""
    rows = good(desk.info("-d", "0", "--tile-overview")).splitlines()
    assert rows[0].split() == [str(n) for n in range(16)]
    assert rows[1].startswith("  0 xx:: xx::") and rows[2].startswith("  1 :::: ::::")
    assert len(rows) == 1 + 1472 // 64
    process = desk.attach("p1", 0, 2)
    rejected = desk.info("-d", "30", "--tile-overview")
    assert bad(rejected, f"IPU 0 by process {process.pid} (vipu-attacher, user ", "gc-monitor") == ""
    good(desk.info("-d", "17", "--tile-overview"))
    desk.detach(process)
    good(desk.info("-d", "30", "--tile-overview"))


def test_a_gcd_of_its_own(cloud, desk):  # noqa: F811
    """IPUOF_VIPU_API_HOST, _PORT, _PARTITION_ID, _GCD_ID and _TIMEOUT point at a controller's partition; a loop over
    IPUOF_VIPU_API_GCD_ID shows each GCD. Reference, 6.2: "singles 0...m-1 and, when m > 1, one multi device with id m"."""
    chips = [[device.chip_id for device in gcd.devices] for gcd in cloud.ipuof("p2").gcd_configs]
    for gcd in (0, 1):
        desk.point_at(cloud.target, "p2", gcd)
        assert ids(good(desk.info("-l"))) == [0, 1, 2, 3, 4]
        assert re.findall(r"chip id: \[(\w+)\]", good(desk.info("-d", "4", "--chip-id"))) == chips[gcd]
    desk.point_at(cloud.target, "p2")
    assert re.findall(r"chip id: \[(\w+)\]", good(desk.info("-d", "4", "--chip-id"))) == chips[0]
    desk.point_at(cloud.target, "p2", 2)
    bad(desk.info("-l"), "p2", "GCDs 0 to 1, not 2")
    assert "IPUOF_VIPU_API_TIMEOUT" in desk.info("-l", env={"IPUOF_VIPU_API_TIMEOUT": "soon"}).stderr


def test_two_gcds_of_one_ipu_have_no_device_of_several(cloud, desk):  # noqa: F811
    """Reference, 6.2: "Size 2 with 2 GCDs: only ids 0 and 1, no multi-IPU device": two GCDs of one IPU each have no device
    of several IPUs."""
    cloud.create("p3", 2, num_gcds=2)
    wait_active(cloud, "p3")
    desk.point_at(cloud.target, "p3", 1)
    assert ids(good(desk.info("-l"))) == [0]
    bad(desk.info("-d", "1", "-i"), "no device 1", "devices 0 to 0")
    listing = good(desk.info("-l", "--all-partitions")).partition("Partition: p3")[2]
    assert "Multi IPU" not in listing


def test_all_partitions(cloud, desk):  # noqa: F811
    """gc-info --all-partitions lists the others after the active one, singles only, ids continuing."""
    listing = good(desk.info("-l", "--all-partitions"))
    assert re.findall(r"^Partition: (.*)$", listing, re.M) == ["p1 [active]", "p2"]
    assert ids(listing) == list(range(24)) and "Multi IPU" not in listing
    desk.point_at(cloud.target, "p2")
    assert re.findall(r"^Partition: (.*)$", good(desk.info("-l", "-a")), re.M) == ["p2 [active]", "p1", "p2"]


def test_a_controller_without_a_partitions_name(cloud, desk):  # noqa: F811
    """Reference, 4.5: "HOST alone is enough for ... --all-partitions"; 3: "exactly one -> Using V-IPU partition X as it is
    the only one available"."""
    desk.point_at(cloud.target)
    assert re.findall(r"^Partition: (.*)$", good(desk.info("-l", "--all-partitions")), re.M) == ["p1", "p2"]
    bad(desk.info("-l"), "IPUOF_VIPU_API_PARTITION_ID", "p1, p2")
    cloud.remove("p2")
    until(lambda: [p.id for p in cloud.list()] == ["p1"], "only p1 is left")
    assert "Partition: p1 [active]" in good(desk.info("-l"))
    cloud.remove("p1")
    until(lambda: not cloud.list(), "no partition is left")
    bad(desk.info("-l"), "has no partition", "vipu create partition")
    assert good(desk.info("-l", "--all-partitions")) == "Graphcore device listing:\n"


def test_a_partition_that_is_not_there(cloud, desk):  # noqa: F811
    desk.point_at(cloud.target, "p9")
    bad(desk.info("-l"), f'the controller at {cloud.target} has no partition "p9"', "vipu list partitions")
    bad(desk.info("-d", "0", "-i"), '"p9"')


def test_devices_that_are_not_there(cloud, desk):  # noqa: F811
    bad(desk.info("-d", "31", "-i"), "no device 31", "partition p1 has devices 0 to 30", "--list-devices")
    bad(desk.info("-d", "131072", "--chip-id"), "no device 131072")


# Where the partition is found.

def test_a_file_is_stronger_than_a_controller(cloud, desk, tmp_path):  # noqa: F811
    """IPUOF_CONFIG_PATH names a file instead; "explicit path wins". The tools call the partition of a bare file by its
    stem."""
    path = tmp_path / "ipuof.conf"
    path.write_text(conf("", 2))
    listing = good(desk.info("-l", env={"IPUOF_CONFIG_PATH": str(path)}))
    assert listing.splitlines()[1] == "Partition: ipuof [active]" and ids(listing) == [0, 1, 2]
    assert "p1 [active]" in good(desk.info("-l", env={"IPUOF_CONFIG_PATH": ""}))


def test_a_controller_is_stronger_than_the_files_of_the_home(cloud, desk):  # noqa: F811
    folder = desk.home / ".ipuof.conf.d"
    folder.mkdir()
    (folder / "p7_ipuof.conf").write_text(conf("p7", 2))
    assert "p1 [active]" in good(desk.info("-l"))
    desk.variables = {}
    assert "p7 [active]" in good(desk.info("-l"))


def test_what_vipu_writes_is_what_gc_info_reads(cloud, desk):  # noqa: F811
    """The IPUoF configuration is JSON, one file per GCD. The file of one GCD is named partition_ipuof.conf; files of several
    GCDs are named partition_gcdN_ipuof.conf."""
    folder = desk.home / ".ipuof.conf.d"
    desk.vipu(cloud.target, "create", "partition", "p5", "--size", "8", "--reconfigurable")
    assert [path.name for path in folder.iterdir()] == ["p5_ipuof.conf"]
    output = {}
    desk.point_at(cloud.target, "p5")
    output["controller"] = good(desk.info("-l")), good(desk.info("-d", "12", "--chip-id"))
    desk.variables = {}
    output["file"] = good(desk.info("-l")), good(desk.info("-d", "12", "--chip-id"))
    assert output["file"] == output["controller"] and "Partition: p5 [active]" in output["file"][0]
    desk.vipu(cloud.target, "remove", "partition", "p5")
    desk.vipu(cloud.target, "create", "partition", "p6", "--size", "4", "--num-gcds", "2")
    files = sorted(folder.iterdir())
    assert [path.name for path in files] == ["p6_gcd0_ipuof.conf", "p6_gcd1_ipuof.conf"]
    assert [json.loads(path.read_text())["attributes"]["GCD Id"] for path in files] == ["0", "1"]
    assert ids(good(desk.info("-l"))) == [0, 1, 2]
    for gcd in (0, 1):
        assert good(desk.info("-d", "2", "--chip-id", "--gcd-id", str(gcd))) == good(
            desk.info("-d", "2", "--chip-id", env={"IPUOF_VIPU_API_GCD_ID": str(gcd)}))
    bad(desk.info("-l", "--gcd-id", "2"), "no file of GCD 2 of partition p6", "IPUOF_VIPU_API_GCD_ID")


def test_files_of_several_partitions(desk):  # noqa: F811
    folder = desk.home / ".ipuof.conf.d"
    folder.mkdir()
    (folder / "a_ipuof.conf").write_text(conf("a", 2))
    (folder / "b_ipuof.conf").write_text(conf("b", 2))
    (folder / "notes.txt").write_text("not a configuration")
    bad(desk.info("-l"), ".ipuof.conf.d has files of several partitions", "IPUOF_CONFIG_PATH", "a, b")
    listing = good(desk.info("-l", "--all-partitions"))
    assert re.findall(r"^Partition: (.*)$", listing, re.M) == ["a", "b"] and ids(listing) == [0, 1, 2, 3]


def test_nothing_names_a_partition(desk):  # noqa: F811
    bad(desk.info("-l"), "no partition selected", "IPUOF_VIPU_API_PARTITION_ID", "IPUOF_CONFIG_PATH")
    assert good(desk.info("-l", "--all-partitions")) == "Graphcore device listing:\n"


@pytest.mark.parametrize("text, part", [
    (None, "No such file"), ("", "empty text"), ("{", "invalid JSON"), ("[]", "no devices"), ('{"devices": 4}', 'no array "devices"'),
    ('[{"routing_id": "x"}]', 'device 0: "routing_id"')])
def test_files_that_cannot_be_read(desk, tmp_path, text, part):  # noqa: F811
    path = tmp_path / "x.conf"
    if text is not None:
        path.write_text(text)
    bad(desk.info("-l", env={"IPUOF_CONFIG_PATH": str(path)}), str(path), "IPUOF_CONFIG_PATH", part)


def test_a_file_that_is_too_large(desk, tmp_path):  # noqa: F811
    path = tmp_path / "x.conf"
    with open(path, "w") as file:
        file.truncate(5 << 20)
    bad(desk.info("-l", env={"IPUOF_CONFIG_PATH": str(path)}), "larger than the limit")


# Partitions in error.

SYMPTOM = ("Launch gc-info -l. If you cannot see a list of available devices, then one or more agents in the partition might "
           "be in error state. Try resetting the partition with vipu reset partition")


@pytest.mark.parametrize("state", [pb.PS_ERROR, pb.PS_ACTIVE])
def test_nothing_is_listed_while_an_agent_is_in_error(controller, desk, state):  # noqa: F811
    """Seed 003, 2.10.2: SYMPTOM."""
    desk.point_at(controller.target, "p1")
    assert ids(good(desk.info("-l"))) == list(range(7))
    controller.status.ready_state = state
    controller.status.errors[:] = ["agent ag1: IPU 3 does not answer"]
    listing = bad(desk.info("-l"), "agent ag1: IPU 3 does not answer", "vipu reset partition p1")
    assert listing == "Graphcore device listing:\nPartition: p1 [active]\n"
    assert bad(desk.info("-d", "0", "-i"), "vipu reset partition p1") == ""
    assert bad(desk.info("--ipu-count"), "vipu reset partition p1") == ""
    # What the reset does.
    controller.status.ready_state = pb.PS_ACTIVE
    del controller.status.errors[:]
    assert ids(good(desk.info("-l"))) == list(range(7))


def test_a_controller_that_rejects_the_configuration(controller, desk):  # noqa: F811
    desk.point_at(controller.target, "p1")
    controller.rejection = (grpc.StatusCode.FAILED_PRECONDITION, "agent ag1 is in error")
    assert bad(desk.info("-l"), "agent ag1 is in error", "vipu reset partition p1").count("Id:") == 0


def test_many_errors_are_all_reported(controller, desk):  # noqa: F811
    desk.point_at(controller.target, "p1")
    controller.status.ready_state = pb.PS_ERROR
    controller.status.errors[:] = [f"agent ag{i}: the exchange of IPU 3 stopped" for i in range(64)]
    bad(desk.info("-l"), "agent ag0:", "agent ag63:", "vipu reset partition p1")


def test_a_partition_under_way(controller, desk):  # noqa: F811
    desk.point_at(controller.target, "p1")
    controller.status.ready_state, controller.status.operation_state = pb.PS_PENDING, pb.POS_RESETTING
    bad(desk.info("-l"), "PENDING", "RESETTING", "vipu list partitions")


def test_a_controller_that_is_not_ours(controller, desk):  # noqa: F811
    """Unknown attributes, none of the machines' addresses, no "GCD Id"."""
    desk.point_at(controller.target, "p1")
    text = good(desk.info("-d", "0", "-i"))
    # What it tells in its list of partitions only.
    assert "number of replicas: 3\n" in text
    assert "clock: 1850MHz\n" in text and "board type: Bow-2000\n" in text and "board ipu index: 3\n" in text
    assert good(desk.info("-d", "6", "--tile-clock-speed")) == "1850MHz\n"


# Hardware that fails, at our own controller.

def put_faults(server, text):
    request = urllib.request.Request(f"http://127.0.0.1:{server.admin_port}/faults", data=text.encode(), method="PUT")
    with urllib.request.urlopen(request, timeout=DEADLINE_S) as answer:
        assert answer.status == 200


def test_an_agent_in_error_until_the_reset(start, desk):  # noqa: F811
    """Seed 003, 2.10.2: "If you cannot see a list of available devices, then one or more agents in the partition might be in
    error state. Try resetting the partition with vipu reset partition"; issue: nothing is listed until the reset.
    On record: an empty device list points at an agent in error, and reset partition is the cure."""
    server, client = start(QUICK + "admin-listen: 127.0.0.1:0\nauto-reset-retries: 0\n")
    client.create("p1", 8, reconfigurable=True)
    client.create("p2", 4)
    wait_active(client, "p1", "p2")
    desk.point_at(server.target, "p1")
    assert len(ids(good(desk.info("-l")))) == 15
    put_faults(server, "hardware: [{agent: ag2}]")
    until(lambda: client.status("p1").ready_state == pb.PS_ERROR, "p1 is in error")
    assert bad(desk.info("-l"), "partition p1 is in state ERROR", "ag2", "vipu reset partition p1") == (
        "Graphcore device listing:\nPartition: p1 [active]\n")
    assert bad(desk.monitor(), "ag2") == ""
    # Others have nothing to do with it.
    assert ids(good(desk.info("-l", "-p", "p2"))) == [0, 1, 2, 3, 4]
    # The agent is back, and still nothing is listed.
    put_faults(server, "")
    until(lambda: "ag2" not in client.status("p1").errors, "ag2 is back")
    bad(desk.info("-l"), "vipu reset partition p1")
    desk.vipu(server.target, "reset", "partition", "p1")
    assert len(ids(good(desk.info("-l")))) == 15


# Controllers that ask who calls.

def test_secure_mode_over_tls(serve, desk, tmp_path):  # noqa: F811
    """Reference, 7: secure mode, users with access keys; a user sees the partitions of their own allocations."""
    authority = Authority(tmp_path / "ca")
    certificate = authority.sign("server", *LOCAL)
    server = serve(f"""
secure: true
create-ms: 0
tls: {{certificate: {certificate.pem}, key: {certificate.key}}}
users:
  - {{id: alice, access-key: alice-key-685X, allocations: [cl1]}}
  - {{id: bob, access-key: bob-key-685X, allocations: [b]}}
clusters: [{{id: cl1}}, {{id: cl2, agents: [bg1], allocations: [{{id: b, agents: [bg1]}}]}}]
""")
    alice = {"VIPU_CLI_API_USER_ID": "alice", "VIPU_CLI_API_ACCESS_KEY": "alice-key-685X",
             "VIPU_CLI_API_CA_CERT": str(authority.pem)}
    bob = {**alice, "VIPU_CLI_API_USER_ID": "bob", "VIPU_CLI_API_ACCESS_KEY": "bob-key-685X"}
    desk.point_at(server.target)
    good(desk.run("vipu", "create", "partition", "p1", "--size", "4", "--reconfigurable", env={
        **alice, "VIPU_CLI_API_HOST": "127.0.0.1", "VIPU_CLI_API_PORT": str(server.port)}))
    assert ids(good(desk.info("-l", "-p", "p1", env=alice))) == list(range(7))
    assert "clock: 1330MHz" in good(desk.info("-d", "0", "-i", env=alice))
    bad(desk.info("-l", "-p", "p1", env=bob), 'has no partition "p1"')
    stranger = desk.info("-l", "-p", "p1", env={**alice, "VIPU_CLI_API_ACCESS_KEY": "wrong-key-685X"})
    bad(stranger, "UNAUTHENTICATED")
    assert "685X" not in stranger.stderr
    bad(desk.info("-l", "-p", "p1", env={"VIPU_CLI_API_TLS": "1"}), "unable to connect", "--api-ca-cert")


# Failures.

def test_no_controller_answers(desk):  # noqa: F811
    """As vipu says it: "unable to connect to VIRM/V-IPU Controller at ..."."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        desk.point_at("127.0.0.1:%d" % silent.getsockname()[1], "p1")
        bad(desk.info("-l", "--api-timeout", "1"), "127.0.0.1:%d" % silent.getsockname()[1])
    bad(desk.info("-l"), "unable to connect to VIRM/V-IPU Controller at 127.0.0.1:", "Connection refused")


def test_a_wrong_command_line(desk):  # noqa: F811
    for words, parts in (([], ["missing action"]), (["-l", "-i"], ["choose one action"]), (["-i"], ["--device-id is required"]),
                         (["--chip-id", "-d", "x"], ["--device-id", '"x"']), (["-d", "0", "-i", "-a"], ["--all-partitions"]),
                         (["-l", "extra"], ['"extra"']), (["--list-device"], ["did you mean --list-devices"]),
                         (["-l", "-P", "0", "--gcd-id", "-1"], ["--api-port", "--gcd-id"])):
        result = desk.info(*words)
        assert result.returncode == 2 and result.stdout == "", words
        for part in parts:
            assert part in result.stderr, result.stderr
    result = desk.info("-l", env={"IPUOF_VIPU_API_PORT": "many", "IPUOF_VIPU_API_GCD_ID": "x"})
    assert result.returncode == 2 and "IPUOF_VIPU_API_PORT" in result.stderr and "IPUOF_VIPU_API_GCD_ID" in result.stderr


def test_help_and_version(desk):  # noqa: F811
    text = good(desk.info("--help"))
    for word in ("--list-devices", "--device-id", "--chip-id", "--tile-overview", "--ipu-count", "--ipu-arch", "--tile-clock-speed",
                 "--all-partitions", "IPUOF_VIPU_API_PARTITION_ID", "IPUOF_CONFIG_PATH", "Exit status"):
        assert word in text
    assert re.fullmatch(r"gc-info \d+\.\d+\.\d+\n", good(desk.info("--version")))


def test_full_disk(desk, tmp_path):  # noqa: F811
    path = tmp_path / "p.conf"
    path.write_text(conf("p", 4))
    with open("/dev/full", "w") as full:
        result = subprocess.run([program("gc-info"), "-l"], stdout=full, stderr=subprocess.PIPE, text=True, timeout=DEADLINE_S,
                                env=desk.environment({"IPUOF_CONFIG_PATH": str(path)}))
    assert result.returncode == 1 and "No space left" in result.stderr
