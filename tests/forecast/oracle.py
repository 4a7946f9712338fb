"""Who starts now, and whose block is kept free from when, by looking at every block: the rules of operator/forecast/forecast.h and
place.h, written down again with sets of IPUs and without any index, cache or bit. Controllers that honour places only, without
quotas and shares."""
import itertools
from dataclasses import dataclass, field

DOMAIN = 64
STEPS_MIN = (1, 5, 15, 30, 60, 120, 300, 600, 1200, 3000, 6000)
UNBOUNDED = 3 << 30  # later than every bound; and later by the seconds that one without a bound has run already


@dataclass
class Machine:
    """One controller: its IPUs as (domain, number), who holds them, and which blocks are kept."""

    policy: str
    domains: int
    ipus: set
    busy: dict = field(default_factory=dict)  # IPU -> when it becomes free: seconds from now, or UNBOUNDED and more
    owners: dict = field(default_factory=dict)  # IPU -> namespace
    kept: list = field(default_factory=list)
    is_blocked: bool = False  # strict order: somebody waits for it

    def free(self):
        return self.ipus - self.busy.keys()

    def blocks(self, size):
        """Every aligned block of that size, lowest first."""
        if size <= DOMAIN:
            starts = ((d, start) for d in range(self.domains) for start in range(0, DOMAIN, size))
            found = (frozenset((d, i) for i in range(start, start + size)) for d, start in starts)
        else:
            count = size // DOMAIN
            found = (frozenset((d, i) for d in range(first, first + count) for i in range(DOMAIN))
                     for first in range(self.domains - count + 1))
        return [block for block in found if block <= self.ipus]


@dataclass(frozen=True)
class Kept:
    """A block that is kept for a claim, as later ones see it."""

    block: frozenset
    start: int  # as `busy`
    end: int  # of the claim that it is kept for
    is_open: bool
    is_closed: bool

    def admits(self, end, with_open):
        return with_open if self.is_open else not self.is_closed and end <= self.start


def sizes_above(size):
    return [size << k for k in range(7) if size << k <= DOMAIN]


def usable(machine, end, with_open):
    """The free IPUs that a claim which ends then may use."""
    free = machine.free()
    for kept in machine.kept:
        if not kept.admits(end, with_open):
            free -= kept.block
    return free


def lengthening(machine, domain, end):
    """By how much a claim that ends then keeps the domain in use longer. Without all of its IPUs it is never whole again."""
    if any((domain, i) not in machine.ipus for i in range(DOMAIN)):
        return 0
    return max(0, end - max((until for (d, _), until in machine.busy.items() if d == domain), default=0))


def cut_within_domain(machine, size, end, free):
    """In a domain in use that it does not keep in use longer; else the least longer for the smallest free block; then in the
    fullest, then in the lowest."""
    def preference(block):
        domain = min(block)[0]
        return lengthening(machine, domain, end), sum(d == domain for d, _ in machine.free()), min(block)

    lone = {}
    for larger in sizes_above(size)[:-1]:
        pairs = machine.blocks(2 * larger)
        lone[larger] = [b for b in machine.blocks(larger) if b <= free and not any(b < pair <= free for pair in pairs)]
    for at_no_cost in (True, False):
        for blocks in lone.values():
            found = [block for block in blocks if not at_no_cost or not lengthening(machine, min(block)[0], end)]
            if found:
                domain, first = min(min(found, key=preference))
                return frozenset((domain, first + i) for i in range(size))
    return None


def cut_from_run(machine, size, free):
    """From the begin of the shortest run of whole free domains that is long enough."""
    whole = [all((d, i) in free for i in range(DOMAIN)) for d in range(machine.domains)]
    runs, at = [], 0
    for is_whole, group in itertools.groupby(whole):
        length = len(list(group))
        if is_whole and length * DOMAIN >= size:
            runs.append((length, at))
        at += length
    if not runs:
        return None
    first = min(runs)[1]
    return frozenset((first + i // DOMAIN, i % DOMAIN) for i in range(size))


def place(machine, size, end):
    """What lies in a block that is kept but open comes after everything else."""
    for with_open in (False, True):
        free = usable(machine, end, with_open)
        found = (cut_within_domain(machine, size, end, free) if size < DOMAIN else None) or cut_from_run(machine, size, free)
        if found:
            return found
    return None


def free_at(machine, block):
    """When the block is free, behind those that it is kept for already; 0 is now."""
    ends = [machine.busy.get(ipu, 0) for ipu in block] + [kept.end for kept in machine.kept if kept.block & block]
    return max(ends)


def earliest(machine, size):
    """(when, free IPUs now, block) of the block that is free first; then with the fewest free IPUs; then the lowest."""
    free = machine.free()
    offers = [(free_at(machine, block), len(block & free), min(block), block) for block in machine.blocks(size)]
    return min(offers, key=lambda offer: offer[:3], default=None)


def corrected(end):
    """A bound that has passed, in seconds from now, is later by 1 minute, else by 1 and 5, and so on."""
    for minutes in itertools.chain(STEPS_MIN, itertools.repeat(STEPS_MIN[-1])):
        if end > 0:
            return end
        end += 60 * minutes


def ipus_of(place, size):
    domain, first = place
    if size > DOMAIN:
        return frozenset((domain + i // DOMAIN, i % DOMAIN) for i in range(size))
    return frozenset((domain, first + i) for i in range(size))


class Moment:
    def __init__(self, scenario):
        self.now = scenario["now"]
        self.depth, self.max_slide, self.close_after = scenario.get("depth", 1), scenario["max_slide"], scenario["close_after"]
        self.machines = [machine_of(controller) for controller in scenario["controllers"]]
        for running in scenario["running"]:
            self.occupy(running)
        self.claims = scenario["claims"]
        self.prior = {(kept["uid"], kept["instance"]): kept for kept in scenario.get("reservations", [])}
        self.next_instance = {claim["uid"]: claim.get("instance", 0) for claim in self.claims}
        self.starts, self.reserved, self.asked, self.unsure = [], [], set(), set()

    def occupy(self, running):
        machine = self.machines[running.get("controller", 0)]
        spans = [] if running["end"] is None else [corrected(running["end"] - self.now)]
        if machine.policy == "predicted" and not spans and running.get("left"):
            spans = [span for span in running["left"][2:] if span // 4 <= running["left"][1]]
        until = min(spans, default=UNBOUNDED + self.now - running["start"])
        for ipu in ipus_of(running["block"], running["size"]):
            machine.busy[ipu] = until
            machine.owners[ipu] = running.get("ns")

    def controllers(self, claim):
        """Those that it selects and that could ever hold it."""
        return [c for c, machine in enumerate(self.machines) if claim.get("eligible", 1) >> c & 1 and machine.blocks(claim["size"])]

    def busy_until(self, claim, number):
        """When others expect the IPUs back that it gets now."""
        spans = [] if claim["bound"] is None else [claim["bound"]]
        if self.machines[number].policy == "predicted" and not spans and claim.get("run"):
            spans = [span for span in claim["run"][2:] if span // 4 <= claim["run"][1]]
        return min(spans, default=UNBOUNDED)

    def end_of(self, claim, number):
        spans = [] if claim["bound"] is None else [claim["bound"]]
        if self.machines[number].policy == "predicted" and not spans and claim.get("run"):
            _, middle, late = claim["run"]
            spans = [late * (late // middle)]
        return min(spans, default=UNBOUNDED)

    def key_of(self, claim):
        return claim["uid"], self.next_instance[claim["uid"]]

    def start(self, claim, number, block):
        machine = self.machines[number]
        assert block <= machine.free()
        for ipu in block:
            machine.busy[ipu], machine.owners[ipu] = self.busy_until(claim, number), claim.get("ns")
        self.starts.append((*self.key_of(claim), number, block))
        self.next_instance[claim["uid"]] += 1
        return True

    def breaks_promise(self, claim, number, block, end):
        """Who can rely on a promise breaks no promise that was made to somebody later."""
        own = self.prior.get(self.key_of(claim))
        if not own or own["promise"] is None or own["start"] is None or own["start"] > own["promise"]:
            return False
        return any(kept["promise"] is not None and kept["controller"] == number and block & ipus_of(kept["block"], kept["ipus"])
                   and end > (UNBOUNDED if kept["start"] is None else kept["start"] - self.now)
                   for key, kept in self.prior.items() if key not in self.asked)

    def try_start(self, claim):
        """In its own block first, then at the first controller that has room."""
        numbers = [c for c in self.controllers(claim) if not self.machines[c].is_blocked]
        own = self.prior.get(self.key_of(claim))
        if own and own["controller"] in numbers:
            block = ipus_of(own["block"], claim["size"])
            if block <= self.machines[own["controller"]].ipus and free_at(self.machines[own["controller"]], block) == 0:
                return self.start(claim, own["controller"], block)
        for number in numbers:
            block = place(self.machines[number], claim["size"], self.end_of(claim, number))
            if block and not self.breaks_promise(claim, number, block, self.end_of(claim, number)):
                return self.start(claim, number, block)
        return False

    def offer_of(self, claim, numbers):
        """The controller, the time and the block that it reserves: those that it had, unless others are clearly earlier."""
        offers = [(*earliest(self.machines[c], claim["size"]), c) for c in numbers]
        own = self.prior.get(self.key_of(claim))
        if own and own["controller"] in numbers:
            kept = ipus_of(own["block"], claim["size"])
            kept_when = free_at(self.machines[own["controller"]], kept)
            clearly = [offer for offer in offers if offer[0] < UNBOUNDED
                       and (kept_when >= UNBOUNDED or kept_when - offer[0] > max(60, kept_when // 20))
                       and not self.breaks_promise(claim, offer[4], offer[3], offer[0] + self.busy_until(claim, offer[4]))]
            if not clearly:
                return own["controller"], kept_when, kept
            offers = clearly
        when, _, _, block, number = min(offers, key=lambda offer: (offer[0], offer[1], offer[4]))
        return number, when, block

    def reserve(self, claim):
        numbers = [c for c in self.controllers(claim) if len(self.machines[c].kept) < self.depth and not self.machines[c].is_blocked]
        if not numbers:
            return
        number, when, block = self.offer_of(claim, numbers)
        machine = self.machines[number]
        own = self.prior.get(self.key_of(claim))
        promise, since, is_open = own["promise"] if own else None, own["since"] if own else self.now, False
        is_old = self.now - since >= self.close_after
        if when < UNBOUNDED:
            promise = self.now + when if promise is None and number not in self.unsure else promise
            is_closed = promise is not None and self.now - promise >= self.max_slide and (is_old or machine.policy != "predicted")
        else:
            ns = claim.get("ns")
            is_own = ns is not None and any(machine.busy.get(ipu, 0) >= UNBOUNDED and machine.owners[ipu] == ns for ipu in block)
            is_closed = is_old and not is_own
            is_open = not is_closed
        if promise is None:
            self.unsure |= set(self.controllers(claim))
        if machine.policy == "strict":
            is_open, is_closed = False, True
        else:
            end = min(when + self.busy_until(claim, number), UNBOUNDED)
            machine.kept.append(Kept(block, when, end, is_open, is_closed))
        self.reserved.append((*self.key_of(claim), number, block, self.now + when if when < UNBOUNDED else None, promise, since,
                              is_open, is_closed))

    def serve(self, claim):
        self.asked.add(self.key_of(claim))
        if self.try_start(claim):
            return True
        self.reserve(claim)
        for number in self.controllers(claim):
            self.machines[number].is_blocked |= self.machines[number].policy == "strict"
        return False

    def run(self):
        """By priority, then turn. Who has started an instance asks for the next one when all others have been asked."""
        for priority in sorted({claim.get("priority", 0) for claim in self.claims}, reverse=True):
            asking = sorted((claim for claim in self.claims if claim.get("priority", 0) == priority),
                            key=lambda claim: (claim["turn"], claim.get("arrival", 0), claim["uid"]))
            while asking:
                asking = [claim for claim in asking if self.controllers(claim) and self.serve(claim)
                          and self.next_instance[claim["uid"]] < claim.get("instance", 0) + claim.get("count", 1)]
        return self


def machine_of(controller):
    failed = {tuple(ipu) for ipu in controller.get("failed", [])}
    ipus = {(d, i) for d in range(controller["domains"]) for i in range(DOMAIN)} - failed
    return Machine(controller["policy"], controller["domains"], ipus)


def plan(scenario):
    """The answer of forecast-driver, as far as it is about now."""
    moment = Moment(scenario).run()
    starts = [{"uid": uid, "instance": instance, "controller": number, "block": list(min(block)), "ipus": len(block)}
              for uid, instance, number, block in moment.starts]
    reserved = [{"uid": uid, "instance": instance, "controller": number, "block": list(min(block)), "ipus": len(block), "start": start,
                 "promise": promise, "since": since, "open": is_open, "closed": is_closed}
                for uid, instance, number, block, start, promise, since, is_open, is_closed in moment.reserved]
    return {"starts": starts, "reserved": reserved}
