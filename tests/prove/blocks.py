"""The two chains, read block by block: which transaction charged whom for which period, and what it failed to charge."""

import json
import urllib.request
from dataclasses import dataclass, field

from keccak import keccak256

BILLED = keccak256(
    b"SubscriptionBilling(address,uint64,uint64,bytes32,uint32,uint128,address,address)"
).hex()
NOT_BILLED = keccak256(
    b"SubscriptionBillingFailed(address,uint64,uint64,bytes32,uint32,uint8)"
).hex()


@dataclass(frozen=True)
class Charge:
    """A charge that a block holds. Amounts are base units."""

    chain: int
    subscription: int
    period: int
    amount: int
    transaction: str


@dataclass
class Blocks:
    """The contract's events of one chain, in the order of the blocks."""

    charges: list = field(default_factory=list)
    failures: list = field(default_factory=list)
    transactions: set = field(default_factory=set)

    def take(self, chain, transaction, topics, data):
        """Takes one event of the contract."""
        words = [int(data[i : i + 64], 16) for i in range(0, len(data), 64)]
        kind, subscription = topics[0], int(topics[2], 16) if len(topics) > 2 else None
        if kind == BILLED:
            self.charges.append(Charge(chain, subscription, words[2], words[3], transaction))
        elif kind == NOT_BILLED:
            self.failures.append(Charge(chain, subscription, words[2], 0, transaction))


def _post(url, body):
    request = urllib.request.Request(
        url, json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.load(answer)


def read_evm(chain, url, contract):
    """Reads every block of an EVM node."""

    def ask(method, *params):
        answer = _post(url, {"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
        if "result" not in answer:
            raise RuntimeError(f"{method}: {answer}")
        return answer["result"]

    blocks, head = Blocks(), int(ask("eth_blockNumber"), 16)
    for number in range(head + 1):
        block = ask("eth_getBlockByNumber", hex(number), False)
        for transaction in block["transactions"]:
            receipt = ask("eth_getTransactionReceipt", transaction)
            blocks.transactions.add(plain(transaction))
            for log in receipt["logs"]:
                if log["address"].lower() == contract.lower():
                    topics = [plain(topic) for topic in log["topics"]]
                    blocks.take(chain, plain(transaction), topics, plain(log["data"]))
    return blocks


def read_tron(chain, url, contract):
    """Reads every block of a TRON node. Its events name the contract by the 20 bytes of its address."""
    blocks = Blocks()
    head = _post(f"{url}/wallet/getnowblock", {})["block_header"]["raw_data"]["number"]
    for number in range(head + 1):
        for info in _post(f"{url}/wallet/gettransactioninfobyblocknum", {"num": number}) or []:
            blocks.transactions.add(plain(info["id"]))
            for log in info.get("log") or []:
                if log["address"].lower()[-40:] == contract.lower()[-40:]:
                    blocks.take(chain, plain(info["id"]), log.get("topics", []), log.get("data", ""))
    return blocks


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
