"""The engine decides as the brute-force oracle does."""
import json

import pytest
from engine import Engine
from oracle import plan
from scenario import scenario

SEEDS = 1000


@pytest.fixture(scope="module")
def engine():
    with Engine() as started:
        yield started


def about_now(found):
    return {key: sorted(found[key], key=lambda entry: (entry["uid"], entry["instance"])) for key in ("starts", "reserved")}


@pytest.mark.parametrize("policy", ["strict", "bounded", "predicted"])
def test_who_starts_where_and_whose_block_is_kept(engine, policy):
    starts = reserved = closed = 0
    for seed in range(SEEDS):
        moment = scenario(seed, policy)
        later = after(moment, engine(moment)) | {"now": moment["now"] + (600, 7200, 20000)[seed % 3]}
        for asked in (moment, later):
            expected, found = about_now(plan(asked)), about_now(engine(asked))
            assert found == expected, f"seed {seed}, {policy}: {json.dumps(asked)}"
            starts += len(expected["starts"])
            reserved += len(expected["reserved"])
            closed += sum(kept["closed"] for kept in expected["reserved"])
    assert starts > 2 * SEEDS and reserved > SEEDS and closed > SEEDS // 50


@pytest.mark.parametrize("policy", ["strict", "bounded", "predicted"])
def test_nobody_starts_when_asked_again(engine, policy):
    for seed in range(SEEDS // 5):
        moment = scenario(seed, policy)
        found = engine(moment)
        assert not engine(after(moment, found))["starts"], f"seed {seed}, {policy}: {json.dumps(moment)}"


def after(moment, found):
    """The same moment, with those that start running."""
    claims = {claim["uid"]: dict(claim) for claim in moment["claims"]}
    started = []
    for number, start in enumerate(found["starts"]):
        claim = claims[start["uid"]]
        claim["count"] -= 1
        claim |= {"instance": start["instance"] + 1, "turn": moment["now"], "arrival": number + 1}
        started.append({"uid": claim["uid"], "instance": start["instance"], "controller": start["controller"], "block": start["block"],
                        "size": claim["size"], "start": moment["now"], "left": claim["run"], "ns": claim["ns"],
                        "end": None if claim["bound"] is None else moment["now"] + claim["bound"]})
    return moment | {"running": moment["running"] + started, "claims": [claim for claim in claims.values() if claim["count"]],
                     "reservations": found["reserved"]}
