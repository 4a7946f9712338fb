"""A machine on virtual time: jobs arrive, start where a plan says, and end. What must never happen is checked at each step, with
sets of IPUs that know nothing of the plan's own book-keeping."""
from dataclasses import dataclass, field

DOMAIN = 64


@dataclass
class Job:
    uid: int
    submit: int
    run: int
    size: int
    bound: int | None = None  # its deadline: it never runs longer
    priority: int = 0


def ipus_of(place, size):
    domain, first = place
    if size <= DOMAIN:
        assert size & (size - 1) == 0 and first % size == 0, f"a block of {size} IPUs is not aligned: {place}"
        return {(domain, first + i) for i in range(size)}
    assert first == 0 and size % DOMAIN == 0
    return {(domain + i // DOMAIN, i % DOMAIN) for i in range(size)}


@dataclass
class Day:
    plan: object  # from a scenario to a plan
    policy: str
    domains: int
    jobs: list[Job]
    starts: dict = field(default_factory=dict)
    promises: dict = field(default_factory=dict)  # the first start that a reservation told
    held: dict = field(default_factory=dict)  # of those that run: IPUs
    places: dict = field(default_factory=dict)
    reserved: list = field(default_factory=list)
    wake: int | None = None

    def __post_init__(self):
        self.job = {job.uid: job for job in self.jobs}

    def end(self, uid):
        return self.starts[uid] + self.job[uid].run

    def waiting(self, now):
        return [job for job in self.jobs if job.submit <= now and job.uid not in self.starts]

    def scenario(self, now):
        running = [{"uid": uid, "block": self.places[uid], "size": self.job[uid].size, "start": self.starts[uid],
                    "end": None if self.job[uid].bound is None else self.starts[uid] + self.job[uid].bound} for uid in self.held]
        claims = [{"uid": job.uid, "size": job.size, "turn": job.submit, "bound": job.bound, "priority": job.priority}
                  for job in self.waiting(now)]
        return {"now": now, "controllers": [{"domains": self.domains, "policy": self.policy}], "running": running, "claims": claims,
                "reservations": self.reserved,
                "close_after": 4 * 3600, "max_slide": 1800}

    def start(self, now, start):
        job = self.job[start["uid"]]
        ipus = ipus_of(start["block"], job.size)
        assert max(ipus)[0] < self.domains and job.uid not in self.starts
        for uid, others in self.held.items():
            assert not ipus & others, f"at {now} s, job {job.uid} gets IPUs that job {uid} holds"
        self.starts[job.uid], self.held[job.uid], self.places[job.uid] = now, ipus, start["block"]

    def step(self, now):
        self.held = {uid: ipus for uid, ipus in self.held.items() if self.end(uid) > now}
        plan = self.plan(self.scenario(now))
        for start in plan["starts"]:
            self.start(now, start)
        self.reserved, self.wake = plan["reserved"], plan["wake"]
        for kept in self.reserved:
            if kept["start"] is not None:
                self.promises.setdefault(kept["uid"], kept["start"])
        return plan

    def next_event(self, now):
        times = [job.submit for job in self.jobs if job.submit > now] + [self.end(uid) for uid in self.held]
        if self.wake is not None and self.waiting(now):
            times.append(max(self.wake, now + 1))
        return min(times, default=None)

    def run(self, after_step=lambda day, now, plan: None):
        now = min(job.submit for job in self.jobs)
        while now is not None:
            after_step(self, now, self.step(now))
            now = self.next_event(now)
        assert len(self.starts) == len(self.jobs), f"never started: {[job for job in self.jobs if job.uid not in self.starts]}"
        return self
