"""Whole days on virtual time: every start gets free IPUs, and every promise is kept."""
import random

import pytest
from day import Day, Job
from engine import Engine
from oracle import plan

SIZES, SHARES = (1, 2, 4, 8, 16, 32, 64, 128), (10, 5, 30, 15, 20, 8, 8, 4)
DAYS = 100


@pytest.fixture(scope="module")
def engine():
    with Engine() as started:
        yield started


def jobs(seed, count, bounded_share, domains):
    """Arrivals and run times with long tails that keep the machine full. Deadlines leave room, and none lies."""
    dice, now, made = random.Random(seed), 0, []
    for uid in range(1, count + 1):
        run = max(1, min(86400, int(600 * dice.lognormvariate(0, 1.5))))
        size = min(dice.choices(SIZES, SHARES)[0], 64 * domains)
        made.append(Job(uid, now, run, size, int(run * dice.uniform(1, 4)) if dice.random() < bounded_share else None))
        now += int(dice.expovariate(domains / 500))
    return made


@pytest.mark.parametrize("bounded_share", [0, 0.5, 1])
def test_no_promise_is_broken_by_those_that_pass(engine, bounded_share):
    """Nothing fails here and nobody has a higher priority, so only who passed could make a job late."""
    promises = passed = 0
    for seed in range(DAYS):
        domains = 1 + seed % 3
        day = Day(engine, "bounded", domains, jobs(seed, 120, bounded_share, domains)).run()
        late = {uid: day.starts[uid] - promise for uid, promise in day.promises.items() if day.starts[uid] > promise}
        assert not late, f"seed {seed}, {bounded_share}: seconds late by job {late}"
        promises += len(day.promises)
        order = [uid for uid in sorted(day.starts, key=lambda uid: (day.starts[uid], uid))]
        passed += sum(later < uid for uid, later in zip(order, order[1:]))
    assert passed > 10 * DAYS and promises >= DAYS * bounded_share


def test_strict_order_is_kept(engine):
    for seed in range(DAYS // 5):
        day = Day(engine, "strict", 2, jobs(seed, 120, 0.5, 2)).run()
        order = [day.starts[uid] for uid in sorted(day.starts)]
        assert order == sorted(order), f"seed {seed}"


@pytest.mark.parametrize("policy", ["strict", "bounded"])
def test_each_step_is_the_oracles(engine, policy):
    """With what was reserved before, which single moments do not have."""
    def compare(day, now, found):
        day.compared += 1
        expected = plan(scenario_of[0])
        assert found["starts"] == expected["starts"] and found["reserved"] == expected["reserved"], f"at {now} s: {scenario_of[0]}"

    scenario_of = [None]

    def watched(scenario):
        scenario_of[0] = scenario
        return engine(scenario)

    for seed in range(8):
        day = Day(watched, policy, 2, jobs(seed, 80, 0.7, 2))
        day.compared = 0
        assert day.run(compare).compared > 80
