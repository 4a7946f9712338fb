"""The parts of the local cluster that decide from what they are handed."""

import ipaddress
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from local_cluster import addresses, cgroups, cluster, fake_nodes, go_programs, images, locks, paths, errors

TCP_TABLE = """\
  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:4010 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1 1 0 100 0 0 10 0
   1: 0100007F:4018 0100007F:C350 01 00000000:00000000 00:00000000 00000000     0        0 2 1 0 100 0 0 10 0
   2: 00000000000000000000000001000000:1F90 00000000000000000000000000000000:0000 0A 0:0 00:0 0 0 0 3 1
"""


@pytest.mark.parametrize("path", ["deploy/cluster", "deploy/image", "deploy/quickstart", "tests/bench", "tests/run"])
def test_a_reader_who_has_seen_enough_ends_a_program(path):
    reader, writer = os.pipe()
    os.close(reader)
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    done = subprocess.run([Path(__file__).resolve().parents[2] / path, "--help"], stdout=writer, stderr=subprocess.PIPE, text=True, timeout=60,
                          env=environment)
    os.close(writer)
    assert (done.returncode, done.stderr) == (128 + signal.SIGPIPE, "")


PROGRAM = """
import subprocess, sys
sys.path.insert(0, {folder!r})
import program
program.run(lambda words: subprocess.call(["grep", "-E", "^Sig(Ign|Blk)", "/proc/self/status"]))
"""


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGINT, signal.SIGQUIT])
def test_signals_that_a_program_ignores_are_not_ignored_by_its_children(number):
    folder = str(Path(__file__).resolve().parents[2] / "deploy" / "local")
    done = subprocess.run([sys.executable, "-c", PROGRAM.format(folder=folder)], capture_output=True, text=True, timeout=60,
                          preexec_fn=lambda: signal.signal(number, signal.SIG_IGN))
    ignored = int(done.stdout.split("SigIgn:")[1].split()[0], 16)
    assert (done.returncode, done.stderr, ignored & 1 << number - 1) == (0, "", 0)


def network(text):
    return ipaddress.IPv4Network(text)


def test_the_first_slot_is_taken_on_an_empty_machine():
    assert addresses.free([], [], []).slot == addresses.FIRST_SLOT


def test_a_slot_claimed_by_a_stopped_cluster_is_passed_over():
    assert addresses.free([200, 201], [], []).slot == 202


def test_clusters_start_at_different_slots_of_the_range():
    last = addresses.LAST_SLOT - addresses.FIRST_SLOT
    assert addresses.free([], [], [], first=3).slot == addresses.FIRST_SLOT + 3
    assert addresses.free([addresses.LAST_SLOT], [], [], first=last).slot == addresses.FIRST_SLOT
    assert addresses.free([], [], [], first=1 + last).slot == addresses.FIRST_SLOT


@pytest.mark.parametrize("taken", ["10.200.7.0/24", "10.200.0.0/16", "10.200.0.0/15"])
def test_a_network_that_overlaps_is_passed_over(taken):
    chosen = addresses.free([], [network(taken)], [])
    assert not chosen.network.overlaps(network(taken))


def test_a_slot_with_any_port_in_use_is_passed_over():
    last_of_first = addresses.Addresses(200).ports[-1]
    assert addresses.free([], [], [last_of_first]).slot == 201


def test_when_all_is_taken_the_problem_says_what_to_do():
    with pytest.raises(errors.UserError, match="deploy/cluster down"):
        addresses.free([], [network("10.0.0.0/8")], [])


def test_the_parts_of_a_cluster_lie_in_its_network_and_apart():
    own = addresses.Addresses(254)
    parts = [network(own.services), network(own.pods), network(f"{own.bridge_ip}/32"), network(f"{own.node_ip(1)}/32")]
    assert all(part.subnet_of(own.network) for part in parts)
    assert not any(one.overlaps(other) for one in parts for other in parts if one is not other)
    assert network(own.node_pods(1)).subnet_of(network(own.pods))
    assert ipaddress.IPv4Address(own.kubernetes_service_ip) == network(own.services)[1]


def test_slots_share_no_port_and_stay_below_the_ephemeral_ones():
    ports = [port for slot in range(addresses.FIRST_SLOT, addresses.LAST_SLOT + 1)
             for port in addresses.Addresses(slot).ports]
    assert len(ports) == len(set(ports))
    assert max(ports) < 32768


def test_link_names_fit_the_kernel():
    own = addresses.Addresses(addresses.LAST_SLOT)
    assert all(len(name) <= 15 for name in (own.bridge, own.veth(99)))


def test_only_listening_ports_are_read():
    assert addresses.parse_listening_ports(TCP_TABLE) == {0x4010, 0x1F90}


def test_networks_come_from_routes_and_addresses():
    routes = [{"dst": "default", "gateway": "192.0.2.1"}, {"dst": "10.3.0.0/16"}, {"type": "local", "dst": "127.0.0.1"}]
    links = [{"ifname": "e", "addr_info": [{"family": "inet", "local": "10.9.8.7", "prefixlen": 24},
                                           {"family": "inet6", "local": "::1", "prefixlen": 128}]}]
    assert addresses.parse_networks(routes, links) == {network("10.3.0.0/16"), network("127.0.0.1/32"),
                                                       network("10.9.8.0/24")}


@pytest.mark.parametrize("name", ["a", "local", "test-1", "a" * 30])
def test_good_names(name):
    assert paths.checked_name(name) == name


@pytest.mark.parametrize("name", ["", "-a", "a-", "A", "a/b", "..", "1a", "a" * 31, "a\n"])
def test_bad_names_are_rejected(name):
    with pytest.raises(errors.UserError, match="is not a valid cluster name"):
        paths.checked_name(name)


def test_imported_names_are_read_from_what_ctr_prints():
    printed = "unpacking docker.io/library/a:1 (sha256:00)...done\nunpacking b/c:2 (sha256:11)...done\nother\n"
    assert images.parse_imported(printed) == ["docker.io/library/a:1", "b/c:2"]


def test_hierarchies_of_both_cgroup_versions_are_found():
    mounts = ("proc /proc proc rw 0 0\ncgroup /sys/fs/cgroup/cpu cgroup rw,cpu 0 0\n"
              "cgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0\n")
    assert {str(path): kind for path, kind in cgroups.hierarchies(mounts).items()} == {
        "/sys/fs/cgroup/cpu": "cgroup", "/sys/fs/cgroup/unified": "cgroup2"}


def test_a_lock_leaves_no_file(tmp_path):
    path = tmp_path / "lock"
    with locks.held(path, "nobody"):
        assert path.exists()
    assert not path.exists()


def test_the_end_of_a_log_is_quoted_and_bounded(tmp_path):
    log = tmp_path / "log"
    log.write_text("".join(f"line {number}\n" for number in range(100000)))
    quoted = errors.tail(log)
    assert quoted.count("\n") == errors.TAIL_LINES
    assert quoted.endswith("line 99999")


@pytest.mark.parametrize("nodes, bare, count, output", [
    (0, False, 0, "1 to 1000"),
    (0, True, 10, "--no-node alone"),
    (1, False, 10, "--no-node alone"),
])
def test_fake_nodes_are_rejected_where_nothing_could_bind_pods_to_them(nodes, bare, count, output):
    record = cluster.Record(slot=addresses.FIRST_SLOT, nodes=nodes, bare=bare, boot="")
    with pytest.raises(errors.UserError, match=output):
        fake_nodes.start(cluster.Cluster(paths.ClusterPaths("test-fake"), record), count)


def test_what_pins_a_go_program_is_part_of_its_name(monkeypatch, tmp_path):
    kwok = go_programs.KWOK
    before, pins = kwok.cached_path(), {name: (kwok.module / name).read_bytes() for name in ("go.mod", "go.sum")}
    monkeypatch.setattr(paths, "REPOSITORY", tmp_path)
    kwok.module.mkdir(parents=True)
    for name, content in pins.items():
        (kwok.module / name).write_bytes(content)
    assert kwok.cached_path() == before
    (kwok.module / "go.sum").write_text("another")
    assert kwok.cached_path() != before
