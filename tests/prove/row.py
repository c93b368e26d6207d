"""One row of the report: months of billing under one fault, and the verdict."""

import contextlib
import random
import shutil
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path

from closing import close, settle
from contracts import FAMILIES
from faults import ROWS
from judge import judge
from world import World

#: Seconds after which a month is judged to be stuck.
MONTH_S = 240


def play(name, journal, seed, programs, minutes, contract="careless", keep=None):
    """Plays months until the time is over, one at least; then asks everything. Returns the result as JSON has it."""
    fault, dice, unheard = ROWS[name], random.Random(seed), []
    begun = time.monotonic()
    with room_for(f"{name}-{journal}-{seed}", keep) as room:
        world = World(programs, Path(room), journal, contract, fault.machines)
        over = threading.Event()
        supervisor = threading.Thread(target=supervise, args=(world, over), daemon=True)
        try:
            if fault.prepare is not None:
                fault.prepare(world)
            world.start()
            settle(world)
            supervisor.start()
            while True:
                month(world, fault.inject, dice, unheard)
                if time.monotonic() > begun + minutes * 60:
                    break
                world.contract.next_month(world)
            over.set()
            supervisor.join()
            history = close(world)
            history.unheard = unheard
        finally:
            over.set()
            world.close()
    return result(world, history, judge(history)) | {
        "fault": name, "journal": journal, "contract": contract, "seed": seed, "seconds": round(time.monotonic() - begun),
    }


@contextlib.contextmanager
def room_for(name, keep):
    """A directory for a row, which stays where it is asked for."""
    if keep is None:
        with tempfile.TemporaryDirectory(prefix=f"prove-{name}-") as room:
            yield room
    else:
        shutil.rmtree(keep / name, ignore_errors=True)
        yield keep / name


def supervise(world, over):
    """Starts again what ends by itself."""
    while not over.wait(0.2):
        world.tend()


def month(world, inject, dice, unheard):
    """Everything that is due is posted by several callers, who overlap, while faults come."""
    over = threading.Event()
    until = time.monotonic() + MONTH_S

    def post(chain, entries, name):
        if world.bill_until_judged(chain, entries, name, until) is None:
            unheard.append((chain, [(entry["subscribeId"], entry["period"]) for entry in entries]))

    broken = []

    def play_faults():
        try:
            trouble(world, inject, dice, over)
        except Exception as error:
            broken.append(error)

    posters = [threading.Thread(target=post, args=errand, daemon=True) for errand in errands(world, dice)]
    faults = threading.Thread(target=play_faults, daemon=True)
    faults.start()
    for poster in posters:
        poster.start()
        time.sleep(dice.uniform(0, 0.3))
    for poster in posters:
        poster.join()
    over.set()
    faults.join()
    if broken:
        raise broken[0]


def errands(world, dice):
    """The requests of a month: each chain's list in parts, some asked twice, some with a name, some all at once, and some
    of earlier months once more."""
    requests, due = [], world.contract.due(world)
    for some, most in ((world.asked[-12:], 3), (world.asked, 1)):
        requests.extend(dice.sample(some, min(len(some), most)))
    for chain in FAMILIES:
        entries = due[chain][:]
        dice.shuffle(entries)
        while entries:
            size = dice.randint(1, 4)
            part, entries = world.contract.marked(entries[:size]), entries[size:]
            name = f"{dice.getrandbits(64):016x}" if dice.random() < 0.5 else None
            requests.append((chain, part, name))
            if dice.random() < 0.4:
                requests.append((chain, part, name))
        if len(due[chain]) > 1 and dice.random() < 0.5:
            requests.append((chain, world.contract.marked(due[chain]), None))
    world.asked = [*world.asked, *requests][-100:]
    dice.shuffle(requests)
    return requests


def trouble(world, inject, dice, over):
    """Faults, one after the other, until the month is over: one at least. After each some requests are posted again, and
    the next one mostly waits until new work is taken: an old copy of the journal takes none before it has learnt enough,
    and each copy that is put back begins that anew."""
    while True:
        inject(world, dice)
        world.ask_again(dice)
        impatient = dice.random() < 0.1
        while not impatient and not over.is_set() and not world.ready()[0]:
            time.sleep(0.1)
        if over.wait(dice.uniform(0.05, 0.5)):
            return


def result(world, history, convictions):
    """What a row comes to, for each family."""
    families = {}
    for chain in FAMILIES:
        verdicts = sorted(post.answered for post in world.posts if post.chain == chain and post.code in (1, 2))
        faults = [(at, times) for at, which, times in world.faults if which == chain]
        families[str(chain)] = {
            "injected": sum(times for _, times in faults),
            "charges": sum(1 for charge in history.charges if charge.chain == chain),
            "recovery": dict(recoveries([at for at, _ in faults], verdicts)),
        } | count(convictions, chain)
    return {"families": families, "convictions": convictions}


def recoveries(faults, verdicts):
    """How often it took how long from a fault to the next verdict that a caller heard, by tenths of a second."""
    times = Counter()
    for at in faults:
        after = next((verdict for verdict in verdicts if verdict > at), None)
        if after is not None:
            times[f"{after - at:.1f}"] += 1
    return times


def count(convictions, chain):
    """The convictions that concern a chain, by the columns of the report."""
    laws = Counter(law for law, where, _ in convictions if where in (chain, None))
    columns = {"twice": laws.pop("twice", 0), "lost": laws.pop("lost", 0), "stuck": laws.pop("ends", 0)}
    return columns | {"false": sum(laws.values())}
