"""The end of a row: nothing fails any more, everything is asked of the Signer, and the judge's history is put together."""

import csv
import io
import json
import subprocess
import sys
import time
from collections import defaultdict
from pathlib import Path

from blocks import plain
from contracts import FAMILIES
from journals import charged, fault, ledger
from judge import History, Post

#: Seconds that a Signer may take to be ready, with nothing open, after the last fault.
PATIENCE_S = 240

#: How many charges of each chain have their certificates verified.
CERTIFIED = 2

VERIFIER = Path(__file__).resolve().parents[2] / "crates/certificate/verify/certificate.py"


def close(world):
    """Waits until nothing is open, has made what is due, then collects what the chains, the Signer and its journal say."""
    settle(world)
    due = bill_what_is_due(world)
    ready, undecided = settle(world)
    evm, tron = world.blocks()
    history = History(
        posts=world.posts,
        charges=evm.charges + tron.charges,
        transactions=set(evm.transactions | tron.transactions),
        failed=evm.failed | tron.failed,
        due=due,
        billings={},
        ready=ready,
        undecided=undecided,
    )
    for named in {named for post in world.posts for named in post.promised().values()}:
        history.billings[named] = billing(world, named)
    history.told = told(world)
    history.pages = {order: pages(world, order) for order in ("oldest", "newest")}
    machine = world.machine
    exported = machine.run("export", "--format", "jsonl")
    history.ledger = ledger(exported)
    for chain, of in ((139, evm), (136, tron)):
        newest = of.charges[-CERTIFIED:]
        history.certificates += [(one, certified(world, exported, one, of.transactions[one.transaction])) for one in newest]
    totals = machine.run("totals", "--prove")
    history.totals, history.totals_proven = sums(totals.stdout), fault(totals)
    history.audit, history.copies = world.journal.questions(machine)
    return history


def settle(world):
    """Lets blocks be made until a Signer is ready and follows nothing. Returns whether it is, and how much is open."""
    until, ready, undecided = time.monotonic() + PATIENCE_S, False, dict.fromkeys(FAMILIES, -1)
    while time.monotonic() < until:
        # The nodes answer nothing while time is moved on.
        world.control("advance", seconds=90)
        for _ in range(20):
            world.tend()
            ready, seen = world.ready()
            if seen is not None and "chains" in seen:
                undecided = {chain["chainId"]: chain["undecided"] for chain in seen["chains"]}
            if ready and not any(undecided.values()):
                return ready, undecided
            time.sleep(0.2)
    return ready, undecided


def bill_what_is_due(world):
    """Asks once more for every charge that was asked for and is in no block. Returns all of them."""
    evm, tron = world.blocks()
    made = {(one.chain, one.subscription, one.period) for one in evm.charges + tron.charges}
    asked, due = {}, []
    for post in world.posts:
        asked |= zip(post.keys(), post.entries)
    for chain in FAMILIES:
        left = world.contract.left(world, chain, [entry for key, entry in asked.items() if key[0] == chain and key not in made])
        months = defaultdict(list)
        for entry in left:
            months[int(entry["period"])].append(entry)
        # A request asks for one charge of each subscription.
        for entries in map(world.contract.marked, months.values()):
            due += Post(chain, entries, 0).keys()
            world.bill_until_judged(chain, entries, until=time.monotonic() + PATIENCE_S)
    return due


def certified(world, exported, charge, number):
    """Why the certificate of a charge in a block proves nothing; "" if it proves that very charge."""
    wanted = (charge.chain, str(charge.subscription), str(charge.period))
    rows = [json.loads(line) for line in exported.stdout.splitlines()]
    cursors = [row["cursor"] for row in rows if (row["chainId"], row["subscribeId"], row["period"]) == wanted and row["state"] == "charged"]
    if not cursors:
        return ""  # The law of the ledger tells of it.
    file = world.machine.room / "certificate.json"
    file.unlink(missing_ok=True)
    made = world.machine.run("certificate", cursors[0], "--out", str(file))
    if made.returncode:
        return fault(made)
    verified = subprocess.run(
        [sys.executable, VERIFIER, file, world.block_hash(charge.chain, number)], capture_output=True, text=True, check=False
    )
    if verified.returncode:
        return verified.stderr
    claim, shown = json.loads(file.read_text())["claim"], json.loads(verified.stdout)
    same = (claim["subscribeId"], claim["period"]) == wanted[1:] and plain(shown["transaction"]) == charge.transaction
    return "" if same else f"it proves {shown}, and claims {claim}"


def billing(world, named):
    """The status of one transaction, and none where there is no such billing."""
    answer = world.ask("GET", f"/PayTool/billings/{named}")
    if answer is None or answer[1]["code"] != 1:
        return None
    return answer[1]["data"][0]


def told(world):
    """The charges of which the events tell, read from the beginning."""
    charged, after = [], ""
    while True:
        page = world.ask("GET", f"/PayTool/events?limit=500{after}")[1]["data"]
        for event in page["events"]:
            for one in event.get("charges") or []:
                if one["state"] == "charged":
                    charged.append((event["chainId"], int(one["subscribeId"]), int(one["period"])))
        if not page["events"]:
            return charged
        after = f"&after={page['next']}"


def pages(world, order):
    """The charges that the pages of the ledger tell, as an export has them."""
    rows, after = [], ""
    while True:
        page = world.ask("GET", f"/PayTool/charges?order={order}&state=charged&limit=1000{after}")[1]["data"]
        rows += page["charges"]
        if page["next"] is None:
            return charged(rows)
        after = f"&after={page['next']}"


def sums(text):
    """The sums of `totals`."""
    return [{"chain": int(row["chainId"]), "amount": int(row["amount"])} for row in csv.DictReader(io.StringIO(text))]
