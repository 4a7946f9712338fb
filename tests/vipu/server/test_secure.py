"""Secure mode of vipu-server: who may call, and what they see. TLS at the server's configuration."""

import re

import grpc
import pytest

from certificates import Authority
from generic import Client, pb
from programs import run_program, until

ALICE, BOB, CAROL = "alice-key-685X_K4uC", "bob-key-685X_K4uC", "carol-key-685X_K4uC"


def hashed(key):
    """As an admin gets the line for the configuration."""
    done = run_program("vipu-server", "--hash-key", input=key + "\n")
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def config(tmp_path, more=""):
    (tmp_path / "carol.key").write_text(CAROL + "\n")
    return f"""
secure: true
create-ms: 0
remove-ms: 0
reset-ms: 0
users:
  - {{id: alice, access-key-hash: "{hashed(ALICE)}", allocations: [a1, a2]}}
  - {{id: bob, access-key: {BOB}, allocations: [b]}}
  - {{id: carol, access-key-file: {tmp_path}/carol.key, allocations: [cl1]}}
clusters:
  - id: cl1
    agents: 4
    allocations:
      - {{id: a1, agents: [ag1]}}
      - {{id: b, agents: [ag3, ag4]}}
  - id: cl2
    agents: [x1, x2]
    allocations: [{{id: a2, agents: [x1]}}]
{more}"""


@pytest.fixture
def secure(serve, tmp_path):
    return serve(config(tmp_path))


@pytest.fixture
def alice(secure, dial):
    return dial(secure.target, user_id="alice", access_key=ALICE)


@pytest.fixture
def bob(secure, dial):
    return dial(secure.target, user_id="bob", access_key=BOB)


@pytest.fixture
def carol(secure, dial):
    return dial(secure.target, user_id="carol", access_key=CAROL)


def rejected(call, *args, **kwargs):
    with pytest.raises(grpc.RpcError) as caught:
        call(*args, **kwargs)
    return caught.value.code(), caught.value.details()


CALLS = [Client.version, Client.list, Client.attributes, lambda c: c.create("p", 1), lambda c: c.remove("p"),
         lambda c: c.reset("p"), lambda c: c.status("p"), lambda c: c.ipuof("p")]


@pytest.mark.parametrize("who", [{}, {"user_id": "mallory", "access_key": ALICE}, {"user_id": "alice", "access_key": BOB},
                                 {"user_id": "alice", "access_key": ALICE[:-1]}, {"user_id": "alice", "access_key": ALICE + "x"},
                                 {"user_id": "carol", "access_key": ""}, {"user_id": "", "access_key": ALICE}])
def test_an_unknown_user_may_do_nothing(secure, dial, who):
    """On record: secure mode knows users by access keys."""
    client = dial(secure.target, **who)
    for call in CALLS:
        code, text = rejected(call, client)
        assert code == grpc.StatusCode.UNAUTHENTICATED and "secure mode" in text and "key-685X" not in text


def test_every_way_to_keep_a_key_lets_its_owner_in(alice, bob, carol):
    assert {client.version() for client in (alice, bob, carol)} == {"1.18.0"}


def test_users_see_their_own(alice, bob, carol):
    alice.create("pa", 4)
    bob.create("pb", 4)
    until(lambda: alice.status("pa").ready_state == pb.PS_ACTIVE, "it is there for its owner")
    assert [p.id for p in alice.list()] == ["pa"] and [p.id for p in bob.list()] == ["pb"] and carol.list() == []
    assert [p.id for p in bob.list("b")] == ["pb"]
    for call in (bob.status, bob.remove, bob.reset, bob.ipuof):
        assert rejected(call, "pa") == (grpc.StatusCode.NOT_FOUND, 'partition "pa" not found')
        assert rejected(call, "px") == (grpc.StatusCode.NOT_FOUND, 'partition "px" not found')
    for allocation in ("a1", "cl1", "nothing"):
        assert rejected(bob.list, allocation) == (grpc.StatusCode.NOT_FOUND, f'allocation "{allocation}" not found')
    assert alice.status("pa").ready_state == pb.PS_ACTIVE


def test_users_see_the_agents_of_their_allocations(alice, bob, carol):
    assert set(alice.attributes()) == {"ag1", "x1"}
    assert set(bob.attributes()) == {"ag3", "ag4"}
    assert set(bob.attributes("ag1", "ag3")) == {"ag3"}
    assert set(carol.attributes()) == {"ag1", "ag2", "ag3", "ag4"}


def test_a_create_without_allocation_stays_within_the_users(alice, bob):
    """"empty = any", of those that the user was given."""
    for number in range(2):
        alice.create(f"pa{number}", 4)
    assert {p.id: p.spec.allocation_id for p in alice.list()} == {"pa0": "a1", "pa1": "a2"}
    code, text = rejected(alice.create, "pa2", 1)
    assert code == grpc.StatusCode.RESOURCE_EXHAUSTED and "not enough free IPUs" in text
    bob.create("pb", 8)
    assert bob.list()[0].spec.allocation_id == "b"


def test_a_create_elsewhere_looks_like_nowhere(alice, bob):
    for place, name in (("allocation_id", "allocation"), ("cluster_id", "cluster")):
        theirs, nothing = ("b", "cl3") if place == "allocation_id" else ("cl2", "cl3")
        client = alice if place == "allocation_id" else bob
        for id in (theirs, nothing):
            code, text = rejected(client.create, "p", 3, **{place: id})
            assert code == grpc.StatusCode.INVALID_ARGUMENT
            assert f'{name} "{id}" not found' in text and "power of two" in text
    alice.create("p", 1, cluster_id="cl2")
    assert alice.list()[0].spec.allocation_id == "a2"


def test_explicit_ipus_are_looked_for_in_every_allocation(alice):
    alice.create("p", 2, cluster_id="cl2", ipus=[pb.PartitionIpu(topology_id=i, routing_id=i) for i in range(2)])
    assert [i.topology_id for i in alice.list()[0].spec.ipus] == [0, 1]
    code, _ = rejected(alice.create, "q", 1, cluster_id="cl1", ipus=[pb.PartitionIpu(topology_id=12)])
    assert code == grpc.StatusCode.INVALID_ARGUMENT


def test_users_of_one_allocation_trust_each_other(serve, dial, tmp_path):
    """"users of one allocation can reach all partitions of it (trust each other)", "a user may have several" [D].
    On record: an allocation is a group of agents that named users may use, and a user may have several."""
    text = config(tmp_path).replace(f"{{id: bob, access-key: {BOB}, allocations: [b]}}",
                                    f"{{id: bob, access-key: {BOB}, allocations: [b, a1]}}")
    server = serve(text)
    alice = dial(server.target, user_id="alice", access_key=ALICE)
    bob = dial(server.target, user_id="bob", access_key=BOB)
    alice.create("p", 4, allocation_id="a1")
    until(lambda: bob.status("p").ready_state == pb.PS_ACTIVE, "the other one sees it become active")
    assert len(bob.ipuof("p").gcd_configs[0].devices) == 4
    bob.remove("p")
    until(lambda: not alice.list(), "the other one may remove it")


def test_a_partition_cannot_span_allocations(alice):
    """"a partition cannot span allocations" [D]: eight IPUs are free for alice, in two allocations."""
    code, text = rejected(alice.create, "p", 8)
    assert code == grpc.StatusCode.INVALID_ARGUMENT and "can never fit: 4 IPUs in all" in text
    alice.create("p", 4)
    alice.create("q", 4)


def test_ids_are_one_name_space(alice, bob):
    alice.create("p", 1)
    assert rejected(bob.create, "p", 1)[0] == grpc.StatusCode.ALREADY_EXISTS


def test_without_secure_mode_every_user_sees_everything(serve, dial, tmp_path):
    """"Without `--secure`, no authentication: everyone sees every allocation" [D]."""
    server = serve(config(tmp_path).replace("secure: true", "secure: false"))
    nobody, wrong = dial(server.target), dial(server.target, user_id="alice", access_key="wrong-key")
    nobody.create("p", 1, allocation_id="b")
    assert [p.id for p in wrong.list()] == ["p"]


def test_secure_on_the_command_line(tmp_path, serve, dial):
    """vipu-server --secure [D]."""
    server = serve(config(tmp_path).replace("secure: true", ""), options=["--secure"])
    assert rejected(dial(server.target).version)[0] == grpc.StatusCode.UNAUTHENTICATED
    bare = run_program("vipu-server", "--secure", "--storage", str(tmp_path / "none.db"))
    assert bare.returncode == 1 and "--secure requires at least one user" in bare.stderr


def test_keys_are_never_logged(secure, alice, dial):
    alice.create("p", 1)
    rejected(dial(secure.target, user_id="bob", access_key="planted-key-1234").version)
    until(lambda: "partition is being created" in secure.log(), "something is logged")
    until(lambda: "calls rejected" in secure.log(), "a stranger's attempt is")
    for _ in range(20):
        rejected(dial(secure.target, user_id="bob", access_key="planted-key-1234").version)
    assert not re.search(r"key-685X|planted", secure.log())
    assert secure.log().count("calls rejected") < 20, "but not every one"


@pytest.mark.parametrize("listen, is_warned", [("0.0.0.0:0", True), ("127.0.0.1:0", False), ("localhost:0", False)])
def test_keys_in_cleartext_are_warned_of_unless_they_stay_on_this_machine(serve, tmp_path, listen, is_warned):
    server = serve(config(tmp_path), listen=listen)
    assert server.stop() == 0
    assert ("access keys are sent unencrypted" in server.log()) == is_warned


def test_hashes_are_salted_and_bad_keys_rejected():
    assert hashed(ALICE) != hashed(ALICE) and ALICE not in hashed(ALICE)
    for key in ("", "short", "with blank inside", "x" * 513):
        done = run_program("vipu-server", "--hash-key", input=key)
        assert done.returncode == 1 and "8 to 512 printable" in done.stderr and not done.stdout
        assert not key or key not in done.stderr


def test_tls_and_secure_mode(serve, dial, tmp_path):
    authority = Authority(tmp_path / "ca")
    certificate = authority.sign("local", "IP:127.0.0.1")
    server = serve(config(tmp_path, f"tls: {{certificate: {certificate.pem}, key: {certificate.key}}}\n"))
    client = dial(server.target, authority=authority.pem.read_bytes(), user_id="alice", access_key=ALICE)
    client.create("p", 4)
    assert [p.id for p in client.list()] == ["p"]
    assert "travel as they are" not in server.log()
    stranger = dial(server.target, authority=authority.pem.read_bytes())
    assert rejected(stranger.list)[0] == grpc.StatusCode.UNAUTHENTICATED
