"""The judge: what was asked and answered, what the blocks hold, and what the Signer says of itself, against twelve laws.

Shares nothing with the product: a history goes in, convictions come out. The order of events is that of one machine's
monotonic clock.
"""

from collections import Counter, defaultdict
from dataclasses import dataclass, field

from blocks import plain

#: The laws by name, in the words of the report.
LAWS = {
    "twice": "nobody is charged twice for one period",
    "lost": "each charge that was promised is made, or its end without a charge is told",
    "named": "a transaction that an answer names is known, and is in a block or over",
    "refused": "nobody is charged by a request that was answered with a refusal or with no verdict",
    "repeats": "repeats name the same billing, unless that one ended without the charge",
    "status": "the status of a billing equals the chain",
    "ledger": "the ledger holds the charges of the chain, each once",
    "totals": "the sums of the ledger equal those of the chain",
    "events": "the events, read from the beginning, tell each charge",
    "audit": "the audit of the journal is clean",
    "backup": "a backup can be made and restored, and its ledger is the same",
    "ends": "nothing stays open, and the Signer is ready",
}

#: States of a billing in which it can no longer charge anybody.
OVER = {"charged", "reverted", "cancelled", "usurped", "expired"}


@dataclass
class Post:
    """One request to bill, with its answer: none where the connection broke or the answer was not proven."""

    chain: int
    entries: list
    sent: float
    answered: float = 0.0
    code: int | None = None
    body: dict | None = None

    def keys(self):
        """The charges that the request asks for: subscription and period."""
        return [(self.chain, int(entry["subscribeId"]), int(entry["period"])) for entry in self.entries]

    def promised(self):
        """The charges that the answer promises, each with the transaction that it names for them."""
        if self.code != 1:
            return {}
        data, by_id = self.body["data"], {key[1]: key for key in self.keys()}
        named = {int(one): data["txHash"] for one in data["subscriptionIds"]}
        named.update({int(one["subscribeId"]): one["txHash"] for one in data.get("earlier") or []})
        return {by_id[one]: plain(name) for one, name in named.items() if one in by_id}


@dataclass
class History:
    """Everything that the judge sees."""

    posts: list
    charges: list
    transactions: set
    #: The status of each transaction that was named, by its hash; none where the Signer knows of no such billing.
    billings: dict
    ledger: list = field(default_factory=list)
    restored_ledger: list | None = None
    totals: list = field(default_factory=list)
    totals_proven: bool = True
    told: list = field(default_factory=list)
    audit: str = ""
    backup: str = ""
    ready: bool = True
    undecided: int = 0


def judge(history):
    """Every breach of a law, as a pair of its name and the evidence."""
    made = defaultdict(list)
    for charge in history.charges:
        made[(charge.chain, charge.subscription, charge.period)].append(charge)
    found = []
    for law in (_twice, _lost, _named, _refused, _repeats, _status, _ledger, _totals, _events, _closing):
        found.extend(law(history, made))
    return found


def _twice(_, made):
    for key, charges in made.items():
        if len(charges) > 1:
            yield "twice", f"{key} by {[one.transaction for one in charges]}"


def _charges_of(billing):
    return {int(one["subscribeId"]): one for one in billing["subscriptions"]}


def _lost(history, made):
    for post in history.posts:
        for key, named in post.promised().items():
            billing = history.billings.get(named)
            if key in made or billing is None:
                continue
            told = _charges_of(billing).get(key[1], {}).get("state")
            if billing["state"] not in OVER or told in (None, "charged", "unproven", "open"):
                yield "lost", f"{key}, promised by {named}: {billing['state']}, {told}"


def _named(history, _):
    for post in history.posts:
        for named in set(post.promised().values()):
            billing = history.billings.get(named)
            if billing is None:
                yield "named", f"{named} is unknown"
            elif billing["state"] not in OVER:
                yield "named", f"{named} is {billing['state']}"
            elif billing["state"] == "charged" and plain(billing["txHash"]) not in history.transactions:
                yield "named", f"{named} is charged by {billing['txHash']}, which is in no block"


def _refused(history, made):
    """A charge has a request that may have made it: one that promised it, or one whose answer nobody has."""
    may = set()
    for post in history.posts:
        may.update(post.keys() if post.code is None else post.promised())
    for key in made.keys() - may:
        yield "refused", f"{key} is charged, and each request for it heard a refusal or no verdict"


def _repeats(history, made):
    """The billings that were named for a charge, in the order of the answers: only the last may have made it."""
    named = defaultdict(dict)
    for post in sorted(history.posts, key=lambda post: post.answered):
        for key, name in post.promised().items():
            billing = history.billings.get(name)
            if billing is not None:
                named[key][tuple(map(plain, billing["txHashes"]))] = billing
    for key, billings in named.items():
        *earlier, _ = billings.values()
        if any(_charges_of(billing).get(key[1], {}).get("state") == "charged" for billing in earlier):
            yield "repeats", f"{key} was named by {list(billings)}, though an earlier one charged it"
        hashes = {one for some in billings for one in some}
        if key in made and made[key][0].transaction not in hashes:
            yield "repeats", f"{key} is charged by {made[key][0].transaction}, and {list(billings)} were named"


def _status(history, made):
    for named, billing in history.billings.items():
        if billing is None:
            continue
        hashes = {plain(one) for one in billing["txHashes"]}
        for one in billing["subscriptions"]:
            key = (billing["chainId"], int(one["subscribeId"]), int(one["period"]))
            charged = any(charge.transaction in hashes for charge in made.get(key, []))
            if charged != (one["state"] == "charged"):
                yield "status", f"{named}: {key} is {one['state']}, and the chain says {charged}"


def _ledger(history, made):
    rows = Counter((row["chain"], row["subscription"], row["period"], row["amount"]) for row in history.ledger)
    for charges in made.values():
        for one in charges:
            rows[(one.chain, one.subscription, one.period, one.amount)] -= 1
    for row, count in rows.items():
        if count:
            yield "ledger", f"{row} is there {'too often' if count > 0 else 'too seldom'}"


def _totals(history, _):
    if not history.totals_proven:
        yield "totals", "the proof of the totals failed"
    sums, told = Counter(), Counter()
    for charge in history.charges:
        sums[charge.chain] += charge.amount
    for row in history.totals:
        told[row["chain"]] += row["amount"]
    if +sums != +told:
        yield "totals", f"{dict(told)}, and the chain says {dict(sums)}"


def _events(history, made):
    told = set(history.told)
    for key in made.keys() - told:
        yield "events", f"{key} was told to nobody"
    for key in told - made.keys():
        yield "events", f"{key} was told, and is in no block"


def _closing(history, _):
    if history.audit:
        yield "audit", history.audit
    if history.backup:
        yield "backup", history.backup
    if history.restored_ledger is not None and history.restored_ledger != history.ledger:
        yield "backup", "the ledger of the restored journal is another"
    if history.undecided or not history.ready:
        yield "ends", f"{history.undecided} billings are open; ready: {history.ready}"
