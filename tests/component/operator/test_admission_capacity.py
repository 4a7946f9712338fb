"""Sizes that no V-IPU controller could ever serve: whoever applies such a job is told at once, whichever replica is asked."""

import pytest

from operator_program import Operator
from ports import free_port
from test_admission import Webhooks, job
from waiting import until

NO_ROOM = ("spec.ipusPerJobInstance: the job will not start: 128 IPUs exceed the capacity of every V-IPU controller, the largest "
           "possible partition has 64")


@pytest.fixture
def webhooks(world, vipu):
    webhooks = Webhooks(world, controllers=vipu.address)
    yield webhooks
    webhooks.remove()


def test_a_size_that_no_controller_could_serve_is_warned_of_by_every_replica(webhooks, tmp_path):
    port, folder = free_port(), tmp_path / "standby"  # the leader has its own
    folder.mkdir()
    standby = Operator(folder, *webhooks.world.operator.flags[:-len(Webhooks.flags(port))], *Webhooks.flags(port), "--pod-name", "standby").start()
    try:
        until(lambda: standby.health("/readyz") == 200, "the standby is ready", tell=standby.tail)
        for asked in (webhooks.port, port):
            def warnings(asked=asked, **spec):
                answer = webhooks.verdict(job(**spec), port=asked)
                assert answer["allowed"] is True
                return answer.get("warnings", [])

            until(lambda: warnings(ipusPerJobInstance="128") == [NO_ROOM], "it is warned of", tell=standby.tail)
            assert warnings(ipusPerJobInstance="64") == []
            assert warnings(ipusPerJobInstance="192") == [
                "spec.ipusPerJobInstance: the job will not start: a partition of 192 IPUs is not possible, sizes are powers of two"]
        assert "leading" not in standby.log()
        code = standby.end()
    finally:
        standby.kill()
    standby.check_sanitizers()
    assert code == 0
