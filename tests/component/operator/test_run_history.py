"""How long jobs ran: what a restarted operator still knows, and what people do to the ConfigMap."""

import itertools

import pytest

from test_metrics import samples
from waiting import DEADLINE_S, until
from world import OPERATOR_NS

NAME = "ipu-operator-history"
RUNS = "ipu_operator_history_runs"
LINE = "60 4 1 2 3\n"


@pytest.fixture(autouse=True)
def no_history(cluster):
    cluster.api.delete("configmaps", OPERATOR_NS, NAME)
    yield
    cluster.api.delete("configmaps", OPERATOR_NS, NAME)


def store(api, **data):
    api.create("configmaps", OPERATOR_NS, {"metadata": {"name": NAME}, "data": data})


def stored(api):
    """Its lines."""
    return ((api.get("configmaps", OPERATOR_NS, NAME) or {}).get("data") or {}).get("runs", "").splitlines()


def start(world, vipu, runs, **how):
    """An operator that has read so many runs."""
    operator = world.start_operator(vipu.address, "--history", NAME, **how)
    operator.until_logged(rf"history of run times read .*runs\W+{runs}\b")
    return operator


def run(world, name, **spec):
    job = world.job(name, **spec)
    for pod in job.run_pods(1).values():
        world.kubelet.succeed(pod)
    job.wait("Completed")
    job.wait_released()
    return job


def wait_runs(operator, count):
    until(lambda: samples(operator).get((RUNS,)) == count, f"{count} runs are known", tell=operator.tail)


def test_a_restarted_operator_knows_what_ran(world, vipu):
    operator = start(world, vipu, 0)
    run(world, "first", activeDeadlineSeconds=2147483647)
    lines = until(lambda: stored(world.api), "the run is stored", tell=world.tell)
    assert len(lines) == 1 and lines[0].split()[1] == "4"
    assert 0 < int(lines[0].split()[0]) < DEADLINE_S
    assert "first" not in lines[0] and world.ns not in lines[0], "who reads the object learns no names"
    operator.kill()
    world.restart_operator()
    operator.until_logged(r"history of run times read .*runs\W+1\b")
    wait_runs(operator, 1)
    assert samples(operator)["ipu_operator_forecast_starts_total", "inside"] == 0
    run(world, "second")
    wait_runs(operator, 2)


def test_it_is_written_at_most_once_a_minute(world, vipu):
    proxy = world.make_api_proxy()
    operator = start(world, vipu, 0, proxy=proxy)
    for number in range(4):
        run(world, f"job-{number}")
    wait_runs(operator, 4)
    until(lambda: stored(world.api), "the runs are stored", tell=world.tell)
    writes = [seen for seen in proxy.seen if seen.is_write and NAME.encode() in seen.body]
    times = [seen.at for seen in writes]
    assert all(later - earlier >= 60 for earlier, later in itertools.pairwise(times)), [str(seen) for seen in writes]
    assert b"graphcore.ai/partition-record" not in writes[0].body, "it is no record of a partition"


def test_runs_that_never_had_pods_do_not_count(world, vipu):
    operator = start(world, vipu, 0)
    job = world.job("suspended", suspend=True)
    job.wait("Suspended")
    job.delete()
    job.wait_gone()
    run(world, "counts")
    wait_runs(operator, 1)


@pytest.mark.parametrize(("data", "runs", "cause"), [
    ({"runs": LINE + "mine\n" + LINE}, 2, "data.runs has 1 line that no operator has written"),
    ({"runs": LINE, "latePermille": "much"}, 1, "data.latePermille is no number from 250 to 16000"),
    ({"runs": LINE * 60000}, 0, "data.runs has 660000 bytes, more than 524288"),
    ({"runs": "\x7f\u202e\x01" * 1000}, 0, "data.runs has 1 line that no operator has written"),
    ({"runs": "0 4 1 2 3\n2147483648 4 1 2 3\n99999999999 4 1 2 3\n"}, 2, "data.runs has 1 line that no operator has written"),
], ids=["a line", "calibration", "too large", "garbage", "impossible times"])
def test_what_people_have_written_is_left_out(world, vipu, data, runs, cause):
    store(world.api, **data)
    operator = start(world, vipu, runs)
    operator.until_logged(f"ignoring a part of the history of run times .*{cause}")
    run(world, "runs-all-the-same")
    wait_runs(operator, runs + 1)
    until(lambda: len(stored(world.api)) == runs + 1, "only what an operator writes is left", tell=world.tell)


def test_who_edits_it_meanwhile_is_heard(world, vipu):
    store(world.api, runs=LINE)
    operator = start(world, vipu, 1)
    world.api.patch("configmaps", OPERATOR_NS, NAME, {"data": {"runs": LINE * 4, "note": "mine"}})
    run(world, "later")
    operator.until_logged(r"cannot write the history of run times")
    wait_runs(operator, 5)
    until(lambda: len(stored(world.api)) == 5, "it is stored after those of the other writer", tell=world.tell)
    assert world.api.get("configmaps", OPERATOR_NS, NAME)["data"]["note"] == "mine"


def test_it_is_made_again(world, vipu):
    store(world.api, runs=LINE)
    operator = start(world, vipu, 1)
    world.api.delete("configmaps", OPERATOR_NS, NAME)
    run(world, "later")
    operator.until_logged(r"cannot write the history of run times")
    until(lambda: len(stored(world.api)) == 1, "it has what was not stored yet", tell=world.tell)
    wait_runs(operator, 1)


def test_nothing_waits_for_an_object_that_cannot_be_written(world, vipu):
    world.api.create("configmaps", OPERATOR_NS, {"metadata": {"name": NAME}, "immutable": True, "data": {"runs": LINE}})
    operator = start(world, vipu, 1)
    run(world, "first")
    operator.until_logged(r"cannot write the history of run times .*immutable")
    run(world, "second")
    wait_runs(operator, 3)
    assert len(stored(world.api)) == 1
