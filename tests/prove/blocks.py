"""The two chains, read block by block: which transaction charged whom for which period, and what it failed to charge."""

import hashlib
import json
import urllib.request
from dataclasses import dataclass, field

from keccak import keccak256

BILLED = keccak256(
    b"SubscriptionBilling(address,uint64,uint64,bytes32,uint32,uint128,address,address)"
).hex()
#: Other fields that may name a period count from a multiple of this.
SHIFT = 1_000_000
MOVED = keccak256(b"Moved(uint64,uint32,uint64)").hex()


@dataclass(frozen=True)
class Charge:
    """A charge that a block holds. Amounts are base units."""

    chain: int
    subscription: int
    period: int
    amount: int
    transaction: str
    #: The request that made it, where the contract tells.
    tag: int | None = None


@dataclass
class Blocks:
    """The charges of one chain, in the order of the blocks, each transaction with the number of its block, and those that
    failed there."""

    charges: list = field(default_factory=list)
    transactions: dict = field(default_factory=dict)
    failed: set = field(default_factory=set)

    def take(self, chain, transaction, topics, data, amount):
        """Takes one event of a contract: of the reference contract, or of one that enforces nothing and moves `amount`."""
        words = [int(data[i : i + 64], 16) for i in range(0, len(data), 64)]
        if topics[0] == BILLED:
            self.charges.append(Charge(chain, int(topics[2], 16), words[2], words[3], transaction))
        elif topics[0] == MOVED:
            self.charges.append(Charge(chain, words[0], words[1] % SHIFT, amount, transaction, words[2]))


def _post(url, body):
    request = urllib.request.Request(
        url, json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.load(answer)


def read_evm(chain, url, contracts, amount=0, into=None, first=0):
    """Reads the blocks of an EVM node. Contracts are named by the 20 bytes of their addresses, as hex digits."""

    def ask(method, *params):
        answer = _post(url, {"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
        if "result" not in answer:
            raise RuntimeError(f"{method}: {answer}")
        return answer["result"]

    blocks, head = into or Blocks(), int(ask("eth_blockNumber"), 16)
    for number in range(first, head + 1):
        block = ask("eth_getBlockByNumber", hex(number), False)
        for transaction in block["transactions"]:
            receipt = ask("eth_getTransactionReceipt", transaction)
            blocks.transactions[plain(transaction)] = number
            if int(receipt["status"], 16) == 0:
                blocks.failed.add(plain(transaction))
            for log in receipt["logs"]:
                if plain(log["address"]) in contracts:
                    topics = [plain(topic) for topic in log["topics"]]
                    blocks.take(chain, plain(transaction), topics, plain(log["data"]), amount)
    return blocks


def read_tron(chain, url, contracts, amount=0, into=None, first=0):
    """Reads the blocks of a TRON node."""
    blocks = into or Blocks()
    head = _post(f"{url}/wallet/getnowblock", {})["block_header"]["raw_data"]["number"]
    for number in range(first, head + 1):
        for info in _post(f"{url}/wallet/gettransactioninfobyblocknum", {"num": number}) or []:
            blocks.transactions[plain(info["id"])] = number
            if info.get("receipt", {}).get("result", "SUCCESS") != "SUCCESS":
                blocks.failed.add(plain(info["id"]))
            for log in info.get("log") or []:
                if log["address"].lower()[-40:] in contracts:
                    blocks.take(chain, plain(info["id"]), log.get("topics", []), log.get("data", ""), amount)
    return blocks


def hash_evm(url, number):
    """The hash of an EVM block."""
    asked = {"jsonrpc": "2.0", "id": 1, "method": "eth_getBlockByNumber", "params": [hex(number), False]}
    return _post(url, asked)["result"]["hash"]


def hash_tron(url, number):
    """The id of a TRON block, as certificates spell it."""
    return "0x" + _post(f"{url}/wallet/getblockbynum", {"num": number})["blockID"]


def plain(text):
    """A hash or bytes in lower case without 0x."""
    return text.lower().removeprefix("0x")


_BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"


def tron_hex(address):
    """The 20 bytes of an address of TRON, as hex digits."""
    number = 0
    for letter in address:
        number = number * 58 + _BASE58.index(letter)
    return number.to_bytes(25, "big")[1:21].hex()


def base58(place):
    """20 bytes as an address of TRON."""
    raw = b"\x41" + place
    raw += hashlib.sha256(hashlib.sha256(raw).digest()).digest()[:4]
    number, text = int.from_bytes(raw, "big"), ""
    while number:
        number, digit = divmod(number, 58)
        text = _BASE58[digit] + text
    return text
