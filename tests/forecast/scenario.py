"""Random moments of a machine and its queue, as forecast-driver reads them."""
import random

DOMAIN = 64
SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 192)
SPANS = (60, 300, 600, 1800, 3600, 7200)


def free_blocks(taken, domains, size):
    width, count = min(size, DOMAIN), max(1, size // DOMAIN)
    for domain in range(domains - count + 1):
        for first in range(0, DOMAIN, width):
            ipus = {(d, i) for d in range(domain, domain + count) for i in range(first, first + width)}
            if not ipus & taken:
                yield [domain, first], ipus


class Maker:
    def __init__(self, seed):
        self.dice = random.Random(seed)
        self.now = self.dice.randint(0, 10) * 1000 + 100000
        self.uid = 0

    def next_uid(self):
        self.uid += 1
        return self.uid

    def controller(self, policy):
        domains = self.dice.randint(1, 3)
        failed = [[d, i] for d in range(domains) for i in range(DOMAIN) if self.dice.random() < 0.01] if self.dice.random() < 0.3 else []
        return {"domains": domains, "failed": failed, "policy": policy}

    def running(self, number, controller):
        """Fills it to a random level. Some have no bound, and the bound of some has passed."""
        dice, taken, found = self.dice, {tuple(ipu) for ipu in controller["failed"]}, []
        for _ in range(dice.choice((2, 4, 8, 16))):
            size = dice.choice(SIZES)
            blocks = list(free_blocks(taken, controller["domains"], size))
            if not blocks:
                continue
            place, ipus = dice.choice(blocks)
            taken |= ipus
            start = self.now - dice.choice(SPANS) - dice.randint(0, 50)
            end = None if dice.random() < 0.2 else self.now + dice.choice(SPANS) + dice.randint(-30, 30)
            if end and dice.random() < 0.1:
                end = self.now - dice.randint(0, 3000)
            left = sorted(dice.randint(1, 4000) for _ in range(3)) if dice.random() < 0.7 else []
            found.append({"uid": self.next_uid(), "controller": number, "block": place, "size": size, "start": start, "end": end,
                          "left": left, "ns": dice.randint(0, 2)})
        return found

    def claim(self, controllers):
        dice = self.dice
        eligible = dice.randint(1, 2 ** len(controllers) - 1)
        turn = self.now - dice.choice((50, 5000, 20000)) + dice.randint(0, 50)
        run = sorted(dice.randint(1, 4000) for _ in range(3)) if dice.random() < 0.7 else []
        return {"uid": self.next_uid(), "count": dice.choice((1, 1, 1, 2, 3)), "eligible": eligible, "size": dice.choice(SIZES),
                "priority": dice.choice((0, 0, 0, 5)), "turn": turn, "run": run, "ns": dice.randint(0, 2),
                "bound": None if dice.random() < 0.3 else dice.choice(SPANS)}

    def scenario(self, policy, controller_count=None):
        controllers = [self.controller(policy) for _ in range(controller_count or self.dice.choice((1, 1, 2)))]
        running = [job for number, controller in enumerate(controllers) for job in self.running(number, controller)]
        claims = [self.claim(controllers) for _ in range(self.dice.randint(1, 12))]
        self.dice.shuffle(claims)
        return {"now": self.now, "controllers": controllers, "running": running, "claims": claims, "close_after": 4 * 3600,
                "max_slide": 1800}


def scenario(seed, policy):
    return Maker(seed).scenario(policy)
