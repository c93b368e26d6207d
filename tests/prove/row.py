"""One row of the report: months of billing under one fault, and the verdict."""

import math
import random
import tempfile
import threading
import time
from collections import Counter
from dataclasses import dataclass, field

from closing import close, settle
from faults import ROWS
from judge import judge
from world import FAMILIES, World

#: Seconds after which a month is judged to be stuck.
MONTH_S = 240


@dataclass
class Row:
    """What became of one row."""

    name: str
    seed: int
    injected: int = 0
    charged: Counter = field(default_factory=Counter)
    convictions: list = field(default_factory=list)
    #: Seconds from each fault to the next verdict that a caller heard.
    recovery_s: list = field(default_factory=list)

    def count(self, *laws):
        """The number of convictions by these laws."""
        return sum(1 for law, _ in self.convictions if law in laws)

    def percentile(self, share):
        """Seconds within which this share of the faults was recovered from."""
        ordered = sorted(self.recovery_s)
        return ordered[min(len(ordered) - 1, math.ceil(share * len(ordered)) - 1)] if ordered else 0.0


def play(name, seed, programs, deadline):
    """Plays months until the deadline, of the monotonic clock, one at least; then asks everything."""
    dice, row = random.Random(seed), Row(name, seed)
    with tempfile.TemporaryDirectory(prefix=f"prove-{name}-") as room:
        world = World(programs, room)
        try:
            world.start()
            settle(world)
            while True:
                month(world, ROWS[name], dice, row)
                if time.monotonic() > deadline:
                    break
                world.control("advance", months=1)
            history = close(world)
            row.convictions = judge(history)
        finally:
            world.close()
    row.injected = world.injected
    row.charged = Counter(charge.chain for charge in history.charges)
    return row


def month(world, inject, dice, row):
    """Everything that is due is posted by several callers, who overlap, while faults come."""
    over = threading.Event()
    until = time.monotonic() + MONTH_S
    posters = [
        threading.Thread(target=world.bill_until_judged, args=(chain, entries, name, until))
        for chain, entries, name in errands(world.due(), dice)
    ]
    faults = threading.Thread(target=trouble, args=(world, inject, dice, over, row))
    faults.start()
    for poster in posters:
        poster.start()
        time.sleep(dice.uniform(0, 0.3))
    for poster in posters:
        poster.join()
    over.set()
    faults.join()


def errands(due, dice):
    """The requests of a month: each chain's list in parts, some asked twice, some with a name."""
    requests = []
    for chain in FAMILIES:
        entries = due[chain][:]
        dice.shuffle(entries)
        while entries:
            size = dice.randint(1, 4)
            part, entries = entries[:size], entries[size:]
            name = f"{dice.getrandbits(64):016x}" if dice.random() < 0.5 else None
            requests.append((chain, part, name))
            if dice.random() < 0.4:
                requests.append((chain, part, name))
        if len(due[chain]) > 1 and dice.random() < 0.5:
            requests.append((chain, due[chain], None))
    dice.shuffle(requests)
    return requests


def trouble(world, inject, dice, over, row):
    """Faults, one after the other, until the month is over: one at least."""
    while True:
        begun = world.injected
        inject(world, dice)
        if world.injected > begun:
            row.recovery_s.append(recovery(world, time.monotonic(), over))
        if over.wait(dice.uniform(0.2, 1.0)):
            return


def recovery(world, since, over):
    """Seconds until a caller hears the next verdict, or nobody asks any more."""
    while not over.wait(0.02):
        with world.lock:
            if any(post.answered > since and post.code in (1, 2) for post in reversed(world.posts[-50:])):
                break
    return time.monotonic() - since
