"""A soak: batches are offered at a steady rate, and ten times as many for a while in the middle.

Memory, files and waits are told on the way, with their slopes; at the end everything that was promised is looked for in
the blocks. No caller asks again: a refusal is counted.
"""

import itertools
import os
import queue
import signal
import tempfile
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from blocks import Blocks
from closing import settle, sums
from contracts import FAMILIES
from journals import fault
from world import World

#: Charges of a batch, by chain: what one transaction has CPU time for on TRON is a fifth.
CHARGES = {139: 100, 136: 20}
#: Batches that are offered each second.
RATE = 20
#: Milliseconds from one block of 3 s to the next: 24 hours in one.
BEAT_MS = 125
#: How many times as much is offered in the middle, and for which part of the whole.
SURGE, SURGE_PART = 10, 1 / 20
#: Callers: more cannot be asking at once. A batch that finds none free is not offered.
CALLERS = 64
#: Rows of the table.
ROWS = 20

HEAD = (
    "| minute | offered | taken | refused | unheard | median ms | 99 % ms | refused 99 % ms | Signer MiB | keys MiB"
    " | open files | journal MiB | sandbox MiB |\n" + "| ---: " * 13 + "|"
)


@dataclass
class Heard:
    """What callers have heard since the last row: seconds that answers took, by the kind of answer."""

    waits: dict = field(default_factory=lambda: {"taken": [], "refused": [], "unheard": []})
    offered: int = 0


@dataclass
class Numbers(Blocks):
    """The subscriptions that blocks charge, and those that they charge once more."""

    charged: set = field(default_factory=set)
    twice: list = field(default_factory=list)

    def take(self, chain, transaction, topics, data, amount):
        super().take(chain, transaction, topics, data, amount)
        while self.charges:
            number = self.charges.pop().subscription
            if number in self.charged:
                self.twice.append(number)
            self.charged.add(number)


class Soak:
    """Callers of one world."""

    def __init__(self, world):
        self.world, self.lock = world, threading.Lock()
        self.heard, self.promised = Heard(), {chain: [] for chain in FAMILIES}
        self.numbers = {chain: itertools.count(1) for chain in FAMILIES}
        self.due, self.free = queue.SimpleQueue(), threading.Semaphore(CALLERS)
        for _ in range(CALLERS):
            threading.Thread(target=self._call, daemon=True).start()

    def offer(self, chain):
        """Has a free caller post a batch of new subscriptions; none is posted where all are busy."""
        if self.free.acquire(blocking=False):
            first = next(self.numbers[chain]) * CHARGES[chain]
            with self.lock:
                self.heard.offered += 1
            self.due.put((chain, range(first, first + CHARGES[chain])))

    def _call(self):
        while True:
            chain, numbers = self.due.get()
            entries = self.world.contract.marked([self.world.contract.entry(chain, number) for number in numbers])
            path = f"/PayTool/{FAMILIES[chain]}/subscribe/signProcessSubscribePlan"
            begun = time.monotonic()
            answer = self.world.machine.ask("POST", path, {"list": entries})
            took = time.monotonic() - begun
            kind = "unheard" if answer is None else "taken" if answer[1]["code"] == 1 else "refused"
            with self.lock:
                self.heard.waits[kind].append(took)
                if kind == "taken":
                    self.promised[chain].append((numbers.start, answer[1]["data"]["txHash"]))
            self.free.release()

    def told(self):
        """What was heard since this was asked last."""
        with self.lock:
            heard, self.heard = self.heard, Heard()
        return heard


def play(programs, minutes, keep=None):
    """Plays it, and prints a table. Returns the sentences that say what is wrong."""
    with tempfile.TemporaryDirectory(prefix="prove-soak-", dir=keep) as room:
        world = World(programs, Path(room), beat_ms=BEAT_MS)
        try:
            world.start()
            settle(world)
            soak, rows = Soak(world), []
            print(HEAD, flush=True)
            offering(soak, minutes * 60, lambda minute: rows.append(row(world, soak, minute)))
            print(slopes(rows), flush=True)
            return list(wrong(world, soak))
        finally:
            world.close()


def offering(soak, seconds, each_row):
    """Offers batches until the time is over, first on one chain, then on the other."""
    begun, chains, offered, told = time.monotonic(), itertools.cycle(FAMILIES), 0, 0
    while (now := time.monotonic() - begun) < seconds:
        # So many are due by now: the surge counts for more of the time than it takes.
        surge = min(max(now - seconds / 2, 0), seconds * SURGE_PART)
        while offered < RATE * (now + surge * (SURGE - 1)):
            offered += 1
            soak.offer(next(chains))
        if now >= (told + 1) * seconds / ROWS:
            told += 1
            each_row(now / 60)
        time.sleep(0.01)
    each_row(seconds / 60)


def row(world, soak, minute):
    """Prints a row of the table, and returns it."""
    heard, signer = soak.told(), world.machine.signer.pid
    keys = sum(memory(child) for child in world.machine.children())
    waits = heard.waits
    figures = [
        minute, heard.offered, *(len(waits[kind]) for kind in ("taken", "refused", "unheard")),
        share(waits["taken"], 0.5), share(waits["taken"], 0.99), share(waits["refused"], 0.99),
        memory(signer), keys, len(os.listdir(f"/proc/{signer}/fd")),
        sum(file.stat().st_size for file in world.machine.disk.iterdir()) / 2**20, memory(world.sandbox.pid),
    ]
    print("| " + " | ".join(f"{one:.1f}" if isinstance(one, float) else str(one) for one in figures) + " |", flush=True)
    return figures


def memory(process):
    """What a process has in memory, MiB."""
    for line in Path(f"/proc/{process}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    return 0.0


def share(waits, part):
    """So many of the answers took at most this many milliseconds."""
    return sorted(waits)[int(len(waits) * part)] * 1000 if waits else 0.0


def slopes(rows):
    """How memory, open files and waits grow from the first quarter to the last, by the hour; the surge is in neither."""
    quarter = max(len(rows) // 4, 1)
    early, late = rows[1 : 1 + quarter], rows[-quarter:]
    mean = lambda some, column: sum(one[column] for one in some) / len(some)  # noqa: E731
    hours = (mean(late, 0) - mean(early, 0)) / 60
    told = ((5, "ms in the median"), (6, "ms of 99 %"), (8, "MiB of the Signer"), (9, "MiB of the keys"), (10, "open files"))
    return "an hour: " + ", ".join(f"{(mean(late, at) - mean(early, at)) / hours:+.1f} {unit}" for at, unit in told)


def wrong(world, soak):
    """What the end contradicts: sentences."""
    ready, undecided = settle(world)
    if not ready or any(undecided.values()):
        yield f"it is not ready, or follows something still: {undecided}"
    charged = dict(zip((139, 136), world.blocks(Numbers)))
    for chain, found in charged.items():
        if found.twice:
            yield f"chain {chain}: charged twice: {found.twice[:5]}"
        for first, named in soak.promised[chain]:
            missing = set(range(first, first + CHARGES[chain])) - found.charged
            if missing:
                yield f"chain {chain}: {named} promised {sorted(missing)[:5]}, which no block has"
    machine = world.machine
    told, totals = Counter(), machine.run("totals", "--prove")
    if totals.returncode:
        yield fault(totals)
    for sum_of_day in sums(totals.stdout):
        told[sum_of_day["chain"]] += sum_of_day["amount"]
    for chain, found in charged.items():
        if told[chain] != len(found.charged) * world.contract.amount:
            yield f"chain {chain}: the ledger has {told[chain]}, and {len(found.charged)} charges are in blocks"
    print(f"{sum(len(found.charged) for found in charged.values())} charges are in blocks", flush=True)
    machine.kill(signal.SIGTERM)
    copy, restored = str(world.room / "copy.sqlite"), machine.beside("restored")
    asked = [(machine, "audit"), (machine, "backup", copy), (restored, "restore", copy), (restored, "audit")]
    for one, *words in asked:
        ended = one.run(*words)
        if ended.returncode:
            yield fault(ended)
