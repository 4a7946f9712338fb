"""A tenant against the partitions of others: the key of a partition opens that partition and nothing else. Guessed keys are
slowed and counted. The table of attacks is in docs/security.md."""

import grpc
import pytest

from generic import Client, pb
from peers import is_sanitized
from programs import until
from test_abuse import resident_mib
from test_metrics import scrape
from test_walls import BOUND_MIB

OPERATOR = "operator-key-685X_K4uC"
MINE, THEIRS = "key-of-mine-685X", "key-of-theirs-685X"
CONFIG = f"""
admin-listen: 127.0.0.1:0
secure: true
create-ms: 0
remove-ms: 0
reset-ms: 0
users: [{{id: operator, access-key: {OPERATOR}, allocations: [cl1]}}]
clusters: [{{id: cl1, agents: 4}}]
"""
NOT_FOUND, DENIED, UNKNOWN = (getattr(grpc.StatusCode, name) for name in ("NOT_FOUND", "PERMISSION_DENIED", "UNAUTHENTICATED"))


def code(call, *args, **kwargs):
    with pytest.raises(grpc.RpcError) as caught:
        call(*args, **kwargs)
    return caught.value.code()


@pytest.fixture
def secure(serve):
    return serve(CONFIG)


@pytest.fixture
def operator(secure, dial):
    client = dial(secure.target, user_id="operator", access_key=OPERATOR)
    client.create("mine", 4, access_key=MINE)
    client.create("theirs", 4, access_key=THEIRS)
    for id in ("mine", "theirs"):
        until(lambda: client.status(id).ready_state == pb.PS_ACTIVE, f"{id} is active")
    return client


@pytest.fixture
def holder(secure, dial):
    """Dials as the user of a partition."""
    return lambda id, key: dial(secure.target, user_id=f"partition:{id}", access_key=key)


def test_a_key_opens_its_partition(operator, holder):
    tenant = holder("mine", MINE)
    assert [p.id for p in tenant.list()] == ["mine"]
    assert len(tenant.ipuof("mine").gcd_configs[0].devices) == 4
    assert len(tenant.attributes()) == 1, "the agent of its IPUs"
    tenant.reset("mine")
    until(lambda: tenant.status("mine").ready_state == pb.PS_ACTIVE, "it is reset")


def test_a_key_opens_nothing_else(operator, holder):
    tenant = holder("mine", MINE)
    for call in (tenant.status, tenant.ipuof, tenant.reset):
        assert code(call, "theirs") == code(call, "nothing") == NOT_FOUND
    assert code(tenant.list, "cl1") == NOT_FOUND
    for id in ("theirs", "mine", "nothing"):
        assert code(tenant.remove, id) == code(tenant.remove, id, force=True) == DENIED
    assert [p.id for p in operator.list()] == ["mine", "theirs"]
    assert operator.status("theirs").ready_state == pb.PS_ACTIVE


def test_a_key_takes_no_ipus(operator, holder):
    tenant = holder("mine", MINE)
    for id in ("more", "mine", "theirs"):
        assert code(tenant.create, id, 1) == DENIED
    operator.create("rest", 8)


def test_a_key_makes_no_key(operator, holder):
    assert code(holder("mine", MINE).reset, "mine", access_key="another-key-685X") == DENIED


@pytest.mark.parametrize("id, key", [("theirs", MINE), ("mine", THEIRS), ("mine", OPERATOR), ("nothing", MINE), ("", MINE)])
def test_a_key_of_another_opens_nothing(operator, holder, id, key):
    assert code(holder(id, key).list) == UNKNOWN


def test_a_partition_without_a_key_has_no_user(operator, holder):
    operator.create("bare", 1)
    for key in ("", "none-at-all"):
        assert code(holder("bare", key).list) == UNKNOWN


def test_a_key_ends_with_its_partition(operator, holder):
    """Even if another one gets its id."""
    operator.remove("mine")
    until(lambda: [p.id for p in operator.list()] == ["theirs"], "it is gone")
    assert code(holder("mine", MINE).list) == UNKNOWN
    operator.create("mine", 4, access_key="key-of-the-next-685X")
    assert code(holder("mine", MINE).list) == UNKNOWN
    until(lambda: logs_in(holder("mine", "key-of-the-next-685X")), "the pause after the wrong key is over")


def test_a_reset_may_replace_a_key(operator, holder):
    operator.reset("mine")
    until(lambda: operator.status("mine").ready_state == pb.PS_ACTIVE, "it is reset")
    assert [p.id for p in holder("mine", MINE).list()] == ["mine"], "this one keeps it"
    operator.reset("mine", access_key="key-of-the-next-685X")
    assert code(holder("mine", MINE).list) == UNKNOWN
    until(lambda: logs_in(holder("mine", "key-of-the-next-685X")), "the pause after the wrong key is over")


def test_keys_survive_a_restart_and_are_not_stored(operator, holder, secure, dial, tmp_path):
    secure.kill()
    secure.restart()
    assert [p.id for p in dial(secure.target, user_id="partition:mine", access_key=MINE).list()] == ["mine"]
    stored = b"".join(path.read_bytes() for path in tmp_path.rglob("*.db*"))
    assert stored and MINE.encode() not in stored and b"hmac-sha256:" in stored
    assert MINE not in secure.log()


def test_bad_keys_are_rejected(operator):
    for key in ("short", "with blank", "x" * 513):
        assert code(operator.create, "p", 1, access_key=key) == code(operator.reset, "mine", access_key=key) \
            == grpc.StatusCode.INVALID_ARGUMENT


def logs_in(client):
    try:
        return client.version() == "1.18.0"
    except grpc.RpcError as error:
        assert "was wrong just now" in error.details()
        return False


def logins(server):
    _, samples = scrape(server)
    return {cause: samples["vipu_failed_logins_total", cause] for cause in ("missing", "wrong", "paused")}


def test_what_is_missing_is_told_from_what_is_wrong(secure, dial):
    def details(**who):
        with pytest.raises(grpc.RpcError) as caught:
            dial(secure.target, **who).version()
        assert caught.value.code() == UNKNOWN
        return caught.value.details()

    assert details() == "secure mode: user ID and access key required, none sent"
    assert details(user_id="operator") == "secure mode: access key required, none sent"
    assert details(user_id="", access_key=OPERATOR) == "secure mode: user ID required, none sent"
    wrong = [details(user_id=user, access_key="guessed-and-wrong") for user in ("operator", "mallory", "partition:mine")]
    assert wrong == [f'secure mode: user "{user}" does not exist, or its access key is wrong'
                     for user in ("operator", "mallory", "partition:mine")]
    assert logins(secure) == {"missing": 3, "wrong": 3, "paused": 0}
    assert "user=operator" in secure.log() and "guessed" not in secure.log()


def test_guesses_are_slowed(secure, dial):
    """An address may guess the key of a user once per second, on however many connections. Those of the user go on."""
    channels = [dial(secure.target) for _ in range(10)]
    operator = dial(secure.target, user_id="operator", access_key=OPERATOR)
    operator.version()
    mallory = [("vipu-user-id", "operator")]
    idle_mib = resident_mib(secure)
    calls = [channels[i % 10].versions.GetVersion.future(pb.VersionRequest(), timeout=Client.DEADLINE_S,
                                                metadata=[*mallory, ("vipu-access-key", f"guess-{i:08}")]) for i in range(2000)]
    told = [call.exception().details() for call in calls]
    assert all(call.code() == UNKNOWN for call in calls)
    assert sum("was wrong just now" in text for text in told) > 1000, "most are not looked at"
    assert operator.version() == "1.18.0"
    until(lambda: logs_in(dial(secure.target, user_id="operator", access_key=OPERATOR)), "a new connection waits a second")
    counts = logins(secure)
    assert counts["wrong"] + counts["paused"] >= 2000 and counts["paused"] > 1000
    assert secure.log().count("log-in failed") < 50, "and they do not fill the log"
    assert is_sanitized(secure.process) or resident_mib(secure) - idle_mib < BOUND_MIB
