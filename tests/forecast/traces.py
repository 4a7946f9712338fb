"""Jobs in order of arrival whose alignment cannot matter: each has one size, or the whole machine. Counting nodes and placing
blocks then come to the same, so a scheduler that only counts is a second opinion (accasim_starts.py)."""
import random
from dataclasses import dataclass


@dataclass(frozen=True)
class Job:
    submit_s: int
    run_s: int
    size: int  # IPUs


@dataclass(frozen=True)
class Trace:
    seed: int
    policy: str  # strict or bounded
    domains: int
    node: int  # IPUs of one node of the scheduler that counts
    jobs: tuple[Job, ...]


def trace(seed):
    """In strict order for odd seeds."""
    dice = random.Random(seed)
    node, domains = (dice.choice((8, 16, 32)), 1) if dice.random() < 0.5 else (64, dice.choice((2, 3, 4)))
    nodes, jobs, now = 64 * domains // node, [], 0
    for _ in range(60):
        whole = dice.random() < 0.15
        jobs.append(Job(now, dice.randint(20, 3000), 64 * domains if whole else node))
        now += dice.randint(1, 2 * 1500 // nodes)
    return Trace(seed, "bounded" if seed % 2 == 0 else "strict", domains, node, tuple(jobs))


TRACES = [trace(seed) for seed in range(1, 41)]
