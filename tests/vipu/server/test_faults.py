"""Fault injection, by the configuration file and at run time, seen by a generic client."""

import time

import grpc
import pytest

import rawh2
from faults import HEAD, QUICK, put, set_faults, shown
from generic import Client, pb
from programs import DEADLINE_S, run_program, until
from test_abuse import CALL, Raw
from test_calls import rejected, wait_active, wait_gone
from test_metrics import scrape

UNKNOWN = grpc.StatusCode.UNKNOWN
UNAVAILABLE = grpc.StatusCode.UNAVAILABLE
NOT_FOUND = grpc.StatusCode.NOT_FOUND


@pytest.fixture
def server(serve):
    return serve(QUICK)


@pytest.fixture
def client(server, dial):
    return dial(server.target)


@pytest.mark.parametrize("headers", [{"Origin": "http://evil.example.com"}, {"Host": "evil.example.com:2112"}])
def test_web_pages_change_no_faults(server, headers):
    """Of a developer on the machine: the page's own address, or its name that leads to the machine (DNS rebinding)."""
    before = shown(server)
    status, text = put(server, {"stall-ms": 1000}, headers=headers)
    assert status == 403 and "web page" in text
    assert shown(server) == before
    assert put(server, {}, headers={"Host": "localhost:2112"})[0] == 200


def elapsed(call, *args, **kwargs):
    start = time.monotonic()
    call(*args, **kwargs)
    return time.monotonic() - start


def status_of(client, id, timeout):
    return client.user.GetPartitionStatus.future(pb.GetPartitionStatusRequest(partition_id=id), timeout=timeout)


def create_request(id):
    return pb.CreatePartitionRequest(requirements=pb.PartitionRequirements(id=id, size=1))


def create_of(client, id, timeout):
    return client.user.CreatePartition.future(create_request(id), timeout=timeout)


def impatient(server, path, request):
    """A caller with a deadline, but without a clock of its own: it hears of it from the server."""
    peer = Raw(server.port)
    peer.send(rawh2.headers(1, [*((k, path if k == ":path" else v) for k, v in CALL), ("grpc-timeout", "200m")]),
              rawh2.frame(rawh2.DATA, rawh2.message(request), rawh2.END_STREAM, 1))
    return peer


def calls_of(server, method, status):
    return scrape(server)[1].get(("vipu_calls_total", method, status), 0)


def has(client, id):
    return id in [p.id for p in client.list()]


def test_no_faults_at_first(server):
    assert shown(server) == {}
    assert "fault injection" not in server.log()


def test_latency_by_method_and_partition(server, client):
    set_faults(server, "calls: [{method: Get*Status, partition: slow-*, latency-ms: 300}]")
    assert elapsed(rejected, NOT_FOUND, client.status, "slow-1") > 0.29
    set_faults(server, "calls: [{method: Get*Status, partition: slow-*, latency-ms: 600000}]")
    # Other calls go on meanwhile, on the same connection.
    slow = status_of(client, "slow-2", DEADLINE_S)
    rejected(NOT_FOUND, client.status, "quick")
    client.list()
    assert not slow.done()


def test_latency_in_a_range_repeats_with_the_seed(server, client):
    rules = {"seed": 42, "calls": [{"latency-ms": 1, "latency-up-to-ms": 5, "chance": 50},
                                   {"status": "ABORTED", "chance": 40}]}

    def run():
        set_faults(server, rules)
        codes = []
        for _ in range(60):
            try:
                codes.append(client.version())
            except grpc.RpcError as error:
                codes.append(error.code())
        return codes, shown(server)["seed"]

    assert run() == run()
    assert {grpc.StatusCode.ABORTED, "1.18.0"} == set(run()[0])


def test_a_call_that_takes_effect_and_is_answered_too_late(server, client):
    set_faults(server, "calls: [{method: CreatePartition, times: 1, late-ms: 600000}]")
    late = create_of(client, "p1", DEADLINE_S)
    until(lambda: has(client, "p1"), "it took effect")
    assert not late.done() and late.cancel()
    client.create("p2", 1)  # the rule is used up


def test_a_call_that_takes_effect_after_its_client_is_gone(server, client):
    set_faults(server, "calls: [{method: CreatePartition, times: 1, latency-ms: 2000}]")
    call = create_of(client, "p1", DEADLINE_S)
    until(lambda: not shown(server), "the call is on its way")
    call.cancel()
    until(lambda: has(client, "p1"), "it took effect all the same")


def test_a_call_whose_deadline_passes_before_it_runs(server, client):
    """It is answered at its deadline, without effect; the wait ends with it."""
    client.version()
    set_faults(server, "calls: [{method: CreatePartition, times: 1, latency-ms: 600000}]")
    call = create_of(client, "p1", timeout=1)
    assert call.exception().code() == grpc.StatusCode.DEADLINE_EXCEEDED
    until(lambda: calls_of(server, "CreatePartition", "DEADLINE_EXCEEDED") == 1, "the call has ended")
    client.create("p2", 64)  # all IPUs


def test_a_deadline_is_answered_by_the_server(server, client):
    """Of a call that waits, and of one whose response does."""
    set_faults(server, "calls: [{method: Get*, latency-ms: 600000}, {method: List*, late-ms: 600000}]")
    for path in ("/virmgrpc.VersionService/GetVersion", "/virmgrpc.UserService/ListPartitions"):
        assert b"\x014" in impatient(server, path, b"").answer(1)


@pytest.mark.parametrize("effect", [False, True])
def test_a_call_that_fails_with_and_without_effect(server, client, effect):
    set_faults(server, {"calls": [{"method": "CreatePartition", "status": "UNAVAILABLE", "message": "not today",
                                   "takes-effect": effect, "times": 2}]})
    assert rejected(UNAVAILABLE, client.create, "p1", 4) == "not today"
    assert rejected(UNAVAILABLE, client.create, "p2", 4) == "not today"
    assert has(client, "p1") == effect
    if effect:
        rejected(grpc.StatusCode.ALREADY_EXISTS, client.create, "p1", 4)
    else:
        client.create("p1", 4)


@pytest.mark.parametrize("effect", [False, True])
def test_a_call_whose_connection_is_dropped(server, client, dial, effect):
    # Every call of the connection goes with it.
    set_faults(server, {"calls": [{"method": "CreatePartition", "drop": True, "takes-effect": effect, "times": 1},
                                  {"method": "GetVersion", "late-ms": 600000, "times": 1}]})
    other = client.versions.GetVersion.future(pb.VersionRequest(), timeout=DEADLINE_S)
    until(lambda: "calls" in shown(server) and len(shown(server)["calls"]) == 1, "the other call is on its way")
    rejected(UNAVAILABLE, client.create, "p1", 4)
    assert other.exception().code() == UNAVAILABLE
    assert has(dial(server.target), "p1") == effect


def test_a_method_that_does_not_exist_is_no_way_around(server, client):
    set_faults(server, "calls: [{status: INTERNAL}]")
    call = client.channel.unary_unary("/virmgrpc.UserService/Nothing")
    rejected(grpc.StatusCode.INTERNAL, call, b"", timeout=DEADLINE_S)


def test_a_controller_that_stalls_until_released(server, client):
    client.version()  # the connection stands, so that a call is on its way at once
    set_faults(server, "stall: true")
    waiting = [create_of(client, f"p{i}", DEADLINE_S) for i in range(20)]
    given_up = impatient(server, "/virmgrpc.UserService/CreatePartition", create_request("late").SerializeToString())
    assert b"\x014" in given_up.answer(1)
    assert not any(call.done() for call in waiting)
    set_faults(server, "")
    assert [call.result().partition_id for call in waiting] == [f"p{i}" for i in range(20)]
    until(lambda: calls_of(server, "CreatePartition", "DEADLINE_EXCEEDED") == 1, "nobody waits for this one any more")
    assert not has(client, "late")


def test_a_controller_that_stalls_for_a_while(server, client):
    start = time.monotonic()
    set_faults(server, "stall-ms: 1000")
    client.version()
    assert time.monotonic() - start > 0.99
    assert shown(server) == {}


def test_a_stalled_controller_ends_when_asked(server, client):
    set_faults(server, {"stall": True})
    waiting = create_of(client, "p1", DEADLINE_S)
    set_faults(server, {"stall": True, "calls": [{"latency-ms": 600000}]})
    assert not waiting.done()
    assert server.stop() == 0
    assert waiting.exception().code() == UNAVAILABLE
    server.start()
    assert not has(Client(server.target), "p1")


def test_late_answers_go_out_at_the_end(server, client):
    set_faults(server, "calls: [{method: CreatePartition, late-ms: 600000}]")
    waiting = create_of(client, "p1", DEADLINE_S)
    until(lambda: has(client, "p1"), "it took effect")
    assert server.stop() == 0
    assert waiting.result().partition_id == "p1"


def test_a_controller_that_forgets(server, client):
    client.create("p1", 32)
    client.create("p2", 32)
    assert set_faults(server, {"forget": True}) == {}
    assert client.list() == []
    rejected(NOT_FOUND, client.status, "p1")
    client.create("p3", 64)
    server.restart()
    assert [p.id for p in Client(server.target).list()] == ["p3"]


def test_a_controller_that_drops_its_connections(server, client, dial):
    set_faults(server, "calls: [{method: GetVersion, late-ms: 600000, times: 1}]")
    waiting = client.versions.GetVersion.future(pb.VersionRequest(), timeout=DEADLINE_S)
    until(lambda: not shown(server), "the call is on its way")
    assert set_faults(server, "drop-connections: true") == {}
    assert waiting.exception().code() == UNAVAILABLE
    assert dial(server.target).version() == "1.18.0"


def test_partitions_that_fail_at_their_creation(server, client):
    """"create -> failure -> ERROR/FAILED" (reference 3)."""
    set_faults(server, "partitions: [{partition: bad-*, on: create, error: no clock on the sync links}]")
    client.create("good", 4)
    client.create("bad-1", 4)
    wait_active(client, "good")
    until(lambda: client.status("bad-1").ready_state == pb.PS_ERROR, "it fails")
    status = client.status("bad-1")
    assert status.operation_state == pb.POS_FAILED
    assert list(status.errors) == ["no clock on the sync links"]
    assert "no clock" in rejected(grpc.StatusCode.FAILED_PRECONDITION, client.ipuof, "bad-1")
    client.remove("bad-1")
    wait_gone(client, "bad-1")


def test_partitions_that_fail_now(server, client):
    client.create("p1", 4, disable_auto_reset=True)
    client.create("p2", 4)
    wait_active(client, "p1")
    assert set_faults(server, "partitions: [{partition: p1, on: now}]") == {}
    status = client.status("p1")
    assert (status.ready_state, status.operation_state) == (pb.PS_ERROR, pb.POS_FAILED)
    assert list(status.errors) == ["the partition failed"]
    assert client.status("p2").ready_state == pb.PS_ACTIVE
    client.reset("p1")
    wait_active(client, "p1")
    assert list(client.status("p1").errors) == []


def test_a_removal_that_fails_without_force(server, client):
    """"force on remove = ignore errors while removing" (reference 3).
    On record: a forced remove ignores errors."""
    client.create("p1", 4)
    wait_active(client, "p1")
    set_faults(server, "partitions: [{on: remove}]")
    client.remove("p1")
    until(lambda: client.status("p1").ready_state == pb.PS_ERROR, "the removal fails")
    assert "force" in client.status("p1").errors[0]
    client.remove("p1", force=True)
    wait_gone(client, "p1")


def test_hardware_that_fails_and_comes_back(server, client):
    client.create("p1", 8)
    wait_active(client, "p1")
    set_faults(server, "hardware: [{agent: ag2, error: its fans stand still}]")
    until(lambda: client.status("p1").operation_state == pb.POS_FAILED, "automatic resets are used up")
    status = client.status("p1")
    assert list(status.errors) == ["agent ag2: its fans stand still"]
    assert (status.auto_reset_retry_count, status.max_auto_reset_retries) == (3, 3)
    assert abs(status.last_auto_reset_time.seconds - time.time()) < 600
    assert {ipu["ipu error state"] for ipu in client.attributes("ag2")["ag2"].values()} == {
        "agent ag2: its fans stand still"}
    assert {ipu["ipu error state"] for ipu in client.attributes("ag1")["ag1"].values()} == {"no errors"}
    reason = rejected(grpc.StatusCode.RESOURCE_EXHAUSTED, client.create, "p2", 64)
    assert "56 of 64 free" in reason
    set_faults(server, {})
    assert client.status("p1").ready_state == pb.PS_ERROR  # until it is reset
    client.reset("p1")
    wait_active(client, "p1")


def test_one_ipu_fails(server, client):
    client.create("p1", 4)
    client.create("p2", 1)
    wait_active(client, "p1")
    set_faults(server, "hardware: [{agent: ag1, ipu: 0, for-ms: 600000}]")
    until(lambda: client.status("p1").ready_state == pb.PS_ERROR, "it fails")
    assert client.status("p1").errors[0] == "agent ag1: IPU 0: failed"
    assert client.status("p2").ready_state == pb.PS_ACTIVE
    (left,) = shown(server)["hardware"]
    assert 0 < left.pop("for-ms") <= 600000 and left == {"agent": "ag1", "ipu": 0}
    # Topology id 3 is IPU 0 of its board, and hardware id 1.
    states = {ipu: values["ipu error state"] for ipu, values in client.attributes("ag1")["ag1"].items()}
    assert [ipu for ipu, state in states.items() if state != "no errors"] == [1]


def test_quirk_unknown_status(server, client):
    set_faults(server, "quirks: {unknown-status: true}")
    assert "p9" in rejected(UNKNOWN, client.status, "p9")
    rejected(UNKNOWN, client.create, "p1", 3)
    client.create("p1", 4)


def test_quirk_blocking_operations(start):
    server, client = start(QUICK.replace("create-ms: 0", "create-ms: 300"))
    set_faults(server, "quirks: {blocking-operations: true}")
    client.create("p1", 4)
    assert client.status("p1").ready_state == pb.PS_ACTIVE
    client.remove("p1")
    rejected(NOT_FOUND, client.status, "p1")
    set_faults(server, {"quirks": {"blocking-operations": True}, "partitions": [{"on": "create", "error": "broken"}]})
    assert rejected(grpc.StatusCode.INTERNAL, client.create, "p1", 4) == "broken"


def test_quirk_lenient_answers(server, client):
    set_faults(server, "quirks: {remove-unknown-succeeds: true, create-existing-succeeds: true}")
    client.remove("p9")
    client.create("p1", 4)
    assert client.create("p1", 16) == "p1"
    assert len(client.list()[0].spec.ipus) == 4
    rejected(grpc.StatusCode.INVALID_ARGUMENT, client.create, "p2", 3)


def test_quirk_reset_stays_active_and_lists_hide_what_is_pending(start):
    server, client = start(QUICK.replace("reset-ms: 0", "reset-ms: 600000"))
    client.create("p1", 4)
    wait_active(client, "p1")
    client.reset("p1")
    assert client.list()[0].ready_state == pb.PS_PENDING
    set_faults(server, "quirks: {list-hides-pending: true}")
    assert client.list() == [] and client.status("p1").ready_state == pb.PS_PENDING
    set_faults(server, "quirks: {reset-stays-active: true, list-hides-pending: true}")
    status = client.status("p1")
    assert (status.ready_state, status.operation_state) == (pb.PS_ACTIVE, pb.POS_RESETTING)
    assert client.list()[0].ready_state == pb.PS_ACTIVE


def test_removed_partitions_that_linger(server, client):
    """"PS_REMOVED may be seen briefly" (reference 3)."""
    set_faults(server, "linger-ms: 600000")
    client.create("p1", 4)
    client.remove("p1")
    until(lambda: client.status("p1").ready_state == pb.PS_REMOVED, "it is removed")
    assert client.list()[0].ready_state == pb.PS_REMOVED
    client.remove("p1")
    rejected(grpc.StatusCode.FAILED_PRECONDITION, client.reset, "p1")
    rejected(grpc.StatusCode.FAILED_PRECONDITION, client.ipuof, "p1")
    rejected(grpc.StatusCode.ALREADY_EXISTS, client.create, "p1", 4)
    server.restart()
    again = Client(server.target)
    wait_gone(again, "p1")  # the faults were not in the configuration


def test_by_the_configuration_file_and_sighup(start):
    server, client = start(QUICK + "faults: {calls: [{method: GetVersion, status: INTERNAL, times: 1}]}\n")
    assert "fault injection is active" in server.log()
    rejected(grpc.StatusCode.INTERNAL, client.version)
    assert client.version() == "1.18.0"
    set_faults(server, "stall: true")
    server.reload(QUICK + "faults: {calls: [{method: GetVersion, drop: true}]}\n")
    until(lambda: "configuration reloaded" in server.log(), "it is read")
    assert shown(server) == {"calls": [{"method": "GetVersion", "drop": True}]}
    rejected(UNAVAILABLE, client.version)
    server.reload(QUICK + "faults: {calls: [{method: GetVersion}]}\n")
    until(lambda: "configuration rejected" in server.log(), "it is rejected")
    assert shown(server) == {"calls": [{"method": "GetVersion", "drop": True}]}


def test_mistakes_at_run_time_change_nothing(server, client):
    set_faults(server, "linger-ms: 7")
    for text, problems in (
            ("calls: [{method: GetVersio, drop: true}, {}]\nhardware: [{agent: ag99}]", [
                'line 1: unknown method "GetVersio"; did you mean "GetVersion"?', "line 1: rule has no effect",
                'line 2: unknown agent "ag99"']),
            ("[1]", ["line 1: expected settings"]), ("{", ["line "]), ("a: *b", ["line 1"])):
        status, answer = put(server, text)
        assert status == 400
        for problem in problems:
            assert problem in answer
        assert len(answer.splitlines()) == len(problems)
    assert put(server, "{}", method="POST")[0] == 405
    assert put(server, "# " + "x" * (300 << 10))[0] == 413
    assert shown(server) == {"linger-ms": 7}


def test_every_mistake_of_the_configuration_is_reported_with_its_line(tmp_path):
    path = tmp_path / "config.yaml"
    path.write_text("clusters: [{id: a}]\nfaults:\n  calls:\n  - {drop: yes}\n  hardware:\n  - {agent: agg1}\n")
    done = run_program("vipu-server", "--check", str(path))
    assert done.returncode == 1
    assert "line 4: drop must be true or false" in done.stderr
    assert 'line 6: unknown agent "agg1"; did you mean "ag1"?' in done.stderr


def test_everything_at_once_and_nothing_leaks(start, dial):
    """Random faults while several callers work: afterwards the books are right, and the server ends cleanly."""
    server, client = start(HEAD.replace("create-ms: 0", "create-ms: 5") + "clusters: [{id: cl1, ipulink-domains: 2}]\n")
    rules = {"seed": 7, "linger-ms": 3, "calls": [
        {"chance": 20, "latency-ms": 0, "latency-up-to-ms": 20}, {"chance": 20, "late-ms": 1, "late-up-to-ms": 30},
        {"chance": 10, "status": "INTERNAL"}, {"chance": 10, "status": "UNAVAILABLE", "takes-effect": True},
        {"chance": 3, "drop": True}, {"chance": 3, "drop": True, "takes-effect": True}],
        "partitions": [{"on": "create", "chance": 20}, {"on": "reset", "chance": 30}, {"on": "remove", "chance": 30}],
        "hardware": [{"agent": "ag1?", "for-ms": 500}]}
    set_faults(server, rules)
    calls, deadline_s = [], 300
    for i in range(600):
        id = f"p{i % 50}"
        create = pb.CreatePartitionRequest(requirements=pb.PartitionRequirements(id=id, size=1 << i % 5))
        calls += [client.user.CreatePartition.future(create, timeout=deadline_s),
                  client.user.ResetPartition.future(pb.ResetPartitionRequest(partition_id=id), timeout=deadline_s),
                  client.user.RemovePartition.future(pb.RemovePartitionRequest(partition_id=id, force=i % 2 == 0),
                                                     timeout=deadline_s)]
        if i % 100 == 0:
            set_faults(server, {**rules, "seed": i, "stall-ms": 30, "drop-connections": i % 200 == 0})
            until(lambda: responds(client), "the client has a connection again")
    codes = {call.exception().code() if call.exception() else grpc.StatusCode.OK for call in calls}
    assert {grpc.StatusCode.OK, UNAVAILABLE, grpc.StatusCode.INTERNAL} <= codes
    assert grpc.StatusCode.DEADLINE_EXCEEDED not in codes
    set_faults(server, "")
    client = dial(server.target)
    taken = [(ipu.ipulink_domain_topology_id, ipu.topology_id) for p in client.list() for ipu in p.spec.ipus]
    assert len(taken) == len(set(taken))
    # Calls whose connection was dropped may still take effect for a moment.
    until(lambda: remove_all(client) and whole_fits(client), "all IPUs are free again")


def responds(client):
    try:
        client.list()
    except grpc.RpcError:
        return False
    return True


def remove_all(client):
    for partition in client.list():
        try:
            client.remove(partition.id)
        except grpc.RpcError as error:
            assert error.code() == NOT_FOUND
    return True


def whole_fits(client):
    try:
        client.create("whole", 128, num_gcds=2, num_ipulink_segments=2)
    except grpc.RpcError as error:
        assert error.code() in (grpc.StatusCode.RESOURCE_EXHAUSTED, grpc.StatusCode.ALREADY_EXISTS)
        return False
    return True
