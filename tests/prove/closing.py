"""The end of a row: nothing fails any more, everything is asked of the Signer, and the judge's history is put together."""

import csv
import io
import json
import shutil
import time

from judge import History

#: Seconds that a Signer may take to be ready, with nothing open, after the last fault.
PATIENCE_S = 180


def close(world):
    """Waits until nothing is open, then collects what the chains, the Signer and its journal say."""
    ready, undecided = settle(world)
    evm, tron = world.blocks()
    history = History(
        posts=world.posts,
        charges=evm.charges + tron.charges,
        transactions=evm.transactions | tron.transactions,
        billings={},
        ready=ready,
        undecided=undecided,
    )
    for named in {named for post in world.posts for named in post.promised().values()}:
        history.billings[named] = billing(world, named)
    history.told = told(world)
    exported = world.run("export", "--format", "jsonl")
    history.ledger = ledger(exported)
    totals = world.run("totals", "--prove")
    history.totals, history.totals_proven = sums(totals.stdout), totals.returncode == 0
    copy = world.room / "backup.sqlite"
    copy.unlink(missing_ok=True)
    history.backup = fault(world.run("backup", copy))
    world.kill()
    history.audit = fault(world.run("audit"))
    if not history.backup:
        history.backup, history.restored_ledger = restored(world, copy)
    return history


def settle(world):
    """Lets blocks be made until the Signer is ready and follows nothing. Returns whether it is, and how much is open."""
    until, ready, undecided = time.monotonic() + PATIENCE_S, False, -1
    while time.monotonic() < until:
        world.control("advance", seconds=90)
        ready, seen = world.ready()
        if seen is not None and "chains" in seen:
            undecided = sum(chain["undecided"] for chain in seen["chains"])
        if ready and undecided == 0:
            break
        time.sleep(0.5)
    return ready, undecided


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


def ledger(exported):
    """The charged rows of an export."""
    if exported.returncode != 0:
        raise RuntimeError(f"export: {exported.stderr}")
    rows = [json.loads(line) for line in exported.stdout.splitlines()]
    return sorted(
        (
            {"chain": row["chainId"], "subscription": int(row["subscribeId"]), "period": int(row["period"]),
             "amount": int(row["amount"])}
            for row in rows
            if row["state"] == "charged"
        ),
        key=lambda row: tuple(row.values()),
    )


def sums(text):
    """The sums of `totals`."""
    return [{"chain": int(row["chainId"]), "amount": int(row["amount"])} for row in csv.DictReader(io.StringIO(text))]


def fault(ended):
    """The words of a command that failed; empty where it did not."""
    return "" if ended.returncode == 0 else f"{ended.args[3:]}: {ended.stderr or ended.stdout}"


def restored(world, copy):
    """Restores a backup in a directory of its own, and returns a fault or its ledger."""
    room = world.room / "restored"
    shutil.rmtree(room, ignore_errors=True)
    room.mkdir()
    config = room / "signer.toml"
    config.write_text(world.config.read_text().replace(str(world.journal), str(room / "journal.sqlite")))
    config.chmod(0o600)
    problem = fault(world.run("restore", copy, config=config))
    if problem:
        return problem, None
    return "", ledger(world.run("export", "--format", "jsonl", config=config))
