"""Who calls: user id and access key as metadata, both directions; a key that is planted appears nowhere."""

import grpc
import pytest

import rawh2
from generic import pb
from peers import probe
from programs import DEADLINE_S, Answerer

KEY = "685X_K4uCzN-planted"


@pytest.fixture
def answerer():
    running = Answerer()
    yield running
    assert running.stop() == 0


def test_the_client_says_who_calls(generic):
    lines = probe(generic.port, "user:alice", f"key:{KEY}", "version", "wait", "version")
    assert [line.kind for line in lines] == ["ok", "ok"]
    assert generic.metadata["vipu-user-id"] == "alice" and generic.metadata["vipu-access-key"] == KEY


@pytest.mark.parametrize("options", [[], ["user:", "key:"]])
def test_no_user_in_particular(generic, options):
    (line,) = probe(generic.port, *options, "version")
    assert line.kind == "ok"
    assert not {"vipu-user-id", "vipu-access-key"} & set(generic.metadata)


@pytest.mark.parametrize("option, text", [
    ("user:" + "x" * 129, "user ID is too long, limit 128 bytes"), ("user:a\nb", "user ID contains a character"),
    ("user: a", "user ID begins or ends with a blank"), ("user:\u00e4", "user ID contains a character"),
    ("key:" + KEY * 40, "access key is too long, limit 512 bytes"), (f"key:{KEY}\x7f", "access key contains a character"),
    (f"key:{KEY} ", "access key begins or ends with a blank"),
])
def test_what_no_header_can_carry(generic, option, text):
    lines = probe(generic.port, option, "create:p1:4", "version")
    assert {(line.kind, line.sent, line.code) for line in lines} == {("invalid", False, 3)}
    assert all(text in line.text and KEY not in line.text for line in lines)
    assert generic.seen == []


def test_a_key_is_kept_in_no_table(raw):
    """HPACK would send the second one as a number: a table on either side would hold it for the connection's life."""
    blocks = []

    def script(peer):
        peer.greet()
        while True:
            kind, flags, stream, payload = peer.frame()
            if kind == rawh2.HEADERS:
                blocks.append(payload)
            elif kind == rawh2.DATA and flags & rawh2.END_STREAM:
                peer.send(rawh2.response(stream, b""))

    server = raw(script)
    lines = probe(server.port, "user:alice", f"key:{KEY * 10}", "remove:p1", "wait", "remove:p1")
    assert [line.kind for line in lines] == ["ok", "ok"] and server.connections == 1
    assert len(blocks) == 2 and all(len(block) > 5 * len(KEY) for block in blocks)
    probe(raw(script).port, "user:" + "alice" * 20, "remove:p1", "wait", "remove:p1")
    assert len(blocks) == 4 and len(blocks[3]) < 50, "a user id is no secret"


@pytest.mark.parametrize("code", ["UNAUTHENTICATED", "PERMISSION_DENIED"])
def test_rejections_are_reported_in_the_controllers_words(generic, code):
    reject = lambda _, context: context.abort(grpc.StatusCode[code], "alice: no such user, or not his key")
    generic.answers.update(ListPartitions=reject, CreatePartition=reject)
    lines = probe(generic.port, "user:alice", f"key:{KEY}", "list", "create:p1:4")
    assert {(line.kind, line.sent, line.unknown) for line in lines} == {("denied", True, False)}
    assert {line.text for line in lines} == {f"{code}: alice: no such user, or not his key"}


def test_the_server_hears_who_calls(answerer, dial):
    assert dial(answerer.target).version() == "user= key="
    assert dial(answerer.target, user_id="alice", access_key=KEY).version() == f"user=alice key={KEY}"
    assert dial(answerer.target, user_id="b" * 128, access_key="k" * 512).version() == f"user={'b' * 128} key={'k' * 512}"


@pytest.mark.parametrize("metadata", [
    [("vipu-user-id", "x" * 129)], [("vipu-access-key", "x" * 513)],
    [("vipu-user-id", "alice"), ("vipu-user-id", "bob")], [("vipu-access-key", "a"), ("vipu-access-key", "a")],
])
def test_credentials_that_cannot_be(answerer, dial, metadata):
    client = dial(answerer.target)
    with pytest.raises(grpc.RpcError) as caught:
        client.versions.GetVersion(pb.VersionRequest(), metadata=metadata, timeout=DEADLINE_S)
    assert caught.value.code() == grpc.StatusCode.UNAUTHENTICATED
    assert "vipu-user-id" in caught.value.details()
    assert client.version() == "user= key="


def test_each_call_carries_it(answerer, dial):
    """One connection carries calls of several users, and none inherits from another."""
    client = dial(answerer.target)
    calls = [client.versions.GetVersion.future(
        pb.VersionRequest(), metadata=[("vipu-user-id", f"u{i}")] if i % 2 else [], timeout=DEADLINE_S) for i in range(200)]
    assert [call.result().version for call in calls] == [f"user={f'u{i}' if i % 2 else ''} key=" for i in range(200)]


def test_a_key_is_logged_nowhere(serve, dial):
    """Right or wrong, of a good call and of bad ones: neither the log nor an answer repeats it."""
    server = serve("create-ms: 0\nclusters: [{id: cl1}]")
    client = dial(server.target, user_id="alice", access_key=KEY)
    client.create("p1", 4)
    answers = [client.version()]
    for call in (lambda: client.create("p1", 4), lambda: client.status("p9"), lambda: client.create("no good", 3),
                 lambda: client.versions.GetVersion(pb.VersionRequest(), metadata=[("vipu-access-key", KEY)], timeout=DEADLINE_S)):
        with pytest.raises(grpc.RpcError) as caught:
            call()
        answers.append(caught.value.details())
    lines = probe(server.port, "user:alice", f"key:{KEY}", "create:p1:4", "status:p9", "list")
    answers += [line.text for line in lines]
    assert "create:p1:4" in {line.what for line in lines} and "p1" in server.log()
    assert KEY not in server.log() and not any(KEY in answer for answer in answers)
