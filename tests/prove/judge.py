"""The judge: what was asked and answered, what the blocks hold, and what the Signer says of itself, against fourteen laws.

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
    "made": "a charge that is due when nothing fails any more is made",
    "refused": "nobody is charged by a request that was answered with a refusal or with no verdict",
    "repeats": "repeats name the same billing, unless that one ended without the charge",
    "status": "the status of a billing equals the chain",
    "ledger": "the ledger holds the charges of the chain, each once",
    "totals": "the sums of the ledger equal those of the chain",
    "events": "the events, read from the beginning, tell each charge",
    "certificate": "a charge has a certificate, which proves it to whoever trusts its block",
    "audit": "the audit of the journal is clean",
    "backup": "each copy of the journal can be made and used, and its ledger is the same",
    "ends": "nothing stays open, and the Signer is ready",
}

#: The HTTP status by which a request hears that its name is that of another.
_TAKEN = 409

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
    #: The name that the caller gave it, and the HTTP status of the answer.
    name: str | None = None
    status: int | None = None

    def keys(self):
        """The charges that the request asks for: subscription and period."""
        return [(self.chain, int(entry["subscribeId"]), int(entry["period"])) for entry in self.entries]

    def tag(self):
        """The tag of its entries, where they have one."""
        return self.entries[0].get("tag")

    def promised(self):
        """The charges that the answer promises, each with the transaction that it names for them."""
        if self.code != 1:
            return {}
        data, by_id = self.body["data"], {key[1]: key for key in self.keys()}
        named = {int(one): data["txHash"] for one in data["subscriptionIds"]}
        named.update({int(one["subscribeId"]): one["txHash"] for one in data.get("earlier") or []})
        return {by_id[one]: plain(name) for one, name in named.items() if one in by_id}

    def heard(self, key):
        """The answer in words: the reason of one charge where it was refused."""
        told = self.body["data"] if self.code == 2 else []
        reasons = [one["failReason"] for one in told if int(one["subscribeId"]) == key[1]]
        return reasons[0] if reasons else self.body.get("msg")

    def made(self):
        """The charges that the request may have made: those of which it heard that it made them, or any if it heard nothing."""
        if self.code is None:
            return set(self.keys())
        if self.code != 1 or self.body.get("msg", "").startswith("Already sent"):
            return set()
        earlier = {int(one["subscribeId"]) for one in self.body["data"].get("earlier") or []}
        return {key for key in self.promised() if key[1] not in earlier}


@dataclass
class History:
    """Everything that the judge sees."""

    posts: list
    charges: list
    transactions: set
    #: The status of each transaction that was named, by its hash; none where the Signer knows of no such billing.
    billings: dict
    #: The transactions of blocks that failed there.
    failed: set = field(default_factory=set)
    #: The charges that were due when nothing failed any more, and were asked for once more.
    due: list = field(default_factory=list)
    ledger: list = field(default_factory=list)
    #: The same as pages tell it, by their order.
    pages: dict = field(default_factory=dict)
    totals: list = field(default_factory=list)
    #: The words of the proof of the totals, where it failed.
    totals_proven: str = ""
    told: list = field(default_factory=list)
    #: Charges whose certificate was asked for: the charge, and why it proves nothing, or "".
    certificates: list = field(default_factory=list)
    audit: str = ""
    #: Copies of the journal: what made each, why it could not, or "", and the ledger of the copy.
    copies: list = field(default_factory=list)
    ready: bool = True
    #: Billings that are still open, by chain.
    undecided: dict = field(default_factory=dict)
    #: Requests that heard no verdict though they were posted for minutes, each as its chain and the charges.
    unheard: list = field(default_factory=list)


def judge(history):
    """Every breach of a law: its name, the chain that it concerns or none for all, and the evidence."""
    made = defaultdict(list)
    for charge in history.charges:
        made[(charge.chain, charge.subscription, charge.period)].append(charge)
    found = []
    for law in (_twice, _lost, _made, _named, _refused, _repeats, _status, _ledger, _totals, _events, _certificate, _closing):
        found.extend(law(history, made))
    return found


def _twice(_, made):
    for key, charges in made.items():
        if len(charges) > 1:
            yield "twice", key[0], f"{key} by {[one.transaction for one in charges]}"


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
                yield "lost", post.chain, f"{key}, promised by {named}: {billing['state']}, {told}"


def _made(history, made):
    for key in history.due:
        if key not in made:
            heard = [post.heard(key) for post in history.posts if post.code is not None and key in post.keys()]
            yield "made", key[0], f"{key} is due, and in no block: {heard[-1] if heard else 'no answer'}"


def _named(history, _):
    for post in history.posts:
        for named in set(post.promised().values()):
            billing = history.billings.get(named)
            if billing is None:
                yield "named", post.chain, f"{named} is unknown"
            elif billing["state"] not in OVER:
                yield "named", post.chain, f"{named} is {billing['state']}"
            elif billing["state"] == "charged" and plain(billing["txHash"]) not in history.transactions:
                yield "named", post.chain, f"{named} is charged by {billing['txHash']}, which is in no block"


def _refused(history, made):
    """A charge has a request that may have made it: one that heard so, or one whose answer nobody has. That a repeat
    hears of it is not enough."""
    may = defaultdict(set)
    for post in history.posts:
        for key in post.made():
            may[key].add(post.tag())
    for key, charges in made.items():
        for one in charges:
            if key not in may or one.tag is not None and one.tag not in may[key]:
                heard = [post.heard(key) for post in history.posts if post.tag() == one.tag and post.code is not None]
                yield "refused", key[0], f"{key} is charged by {one.transaction}, and its request heard {heard}"


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
            yield "repeats", key[0], f"{key} was named by {list(billings)}, though an earlier one charged it"
        hashes = {one for some in billings for one in some}
        if key in made and made[key][0].transaction not in hashes:
            yield "repeats", key[0], f"{key} is charged by {made[key][0].transaction}, and {list(billings)} were named"
    asked = {}
    for post in sorted(history.posts, key=lambda post: post.sent):
        if post.name is None or asked.setdefault(post.name, post.entries) != post.entries:
            continue
        # Bytes whose answer is not kept any more have the same status, and other words.
        if post.status == _TAKEN and "requestId" in post.body["msg"]:
            yield "repeats", post.chain, f"{post.name} is another's name, as its repeat was told: {post.body['msg']}"


def _status(history, made):
    for named, billing in history.billings.items():
        if billing is None:
            continue
        hashes = {plain(one) for one in billing["txHashes"]}
        ended = {"charged": history.transactions - history.failed, "reverted": history.failed}.get(billing["state"])
        if ended is not None and not hashes & ended:
            yield "status", billing["chainId"], f"{named} is {billing['state']}, and no block bears that out"
        for one in billing["subscriptions"]:
            key = (billing["chainId"], int(one["subscribeId"]), int(one["period"]))
            charged = any(charge.transaction in hashes for charge in made.get(key, []))
            if charged != (one["state"] == "charged"):
                yield "status", key[0], f"{named}: {key} is {one['state']}, and the chain says {charged}"


def _ledger(history, made):
    rows = Counter((row["chain"], row["subscription"], row["period"], row["amount"]) for row in history.ledger)
    for charges in made.values():
        for one in charges:
            rows[(one.chain, one.subscription, one.period, one.amount)] -= 1
    for row, count in rows.items():
        if count:
            yield "ledger", row[0], f"{row} is there {'too often' if count > 0 else 'too seldom'}"
    for order, page in history.pages.items():
        if page != history.ledger:
            yield "ledger", None, f"pages by {order} have {len(page)} charges, and the export {len(history.ledger)}"


def _totals(history, _):
    if history.totals_proven:
        yield "totals", None, history.totals_proven
    sums, told = Counter(), Counter()
    for charge in history.charges:
        sums[charge.chain] += charge.amount
    for row in history.totals:
        told[row["chain"]] += row["amount"]
    for chain in sums.keys() | told.keys():
        if sums[chain] != told[chain]:
            yield "totals", chain, f"{told[chain]}, and the chain says {sums[chain]}"


def _events(history, made):
    told = set(history.told)
    for key in made.keys() - told:
        yield "events", key[0], f"{key} was told to nobody"
    for key in told - made.keys():
        yield "events", key[0], f"{key} was told, and is in no block"


def _certificate(history, _):
    for charge, problem in history.certificates:
        if problem:
            yield "certificate", charge.chain, f"{charge}: {problem}"


def _closing(history, _):
    if history.audit:
        yield "audit", None, history.audit
    for made_by, problem, ledger in history.copies:
        if problem:
            yield "backup", None, f"{made_by}: {problem}"
        elif ledger != history.ledger:
            yield "backup", None, f"{made_by}: the ledger of the copy is another"
    for chain, undecided in history.undecided.items():
        if undecided:
            yield "ends", chain, f"{undecided} billings are open"
    for chain, keys in history.unheard:
        yield "ends", chain, f"no verdict about {keys}"
    if not history.ready:
        yield "ends", None, "the Signer is not ready"
