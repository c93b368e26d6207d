"""Transactions of both chains, as bytes: what founds a world is sent by these, and by nothing of the product."""

import hashlib
import json
import time
import urllib.request

import curve
from keccak import keccak256


def post(url, body):
    """Posts JSON, and reads JSON."""
    request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.load(answer)


def words(*numbers):
    """Arguments of a call that are each one word."""
    return b"".join(number.to_bytes(32, "big") for number in numbers)


def call(signature, *numbers):
    """The input of a call, by its signature and arguments of one word each."""
    return keccak256(signature.encode())[:4] + words(*numbers)


# --- Ethereum


def _number(value):
    return value.to_bytes((value.bit_length() + 7) // 8, "big")


def _length(size, offset):
    if size < 56:
        return bytes([offset + size])
    digits = _number(size)
    return bytes([offset + 55 + len(digits)]) + digits


def rlp(item):
    """RLP of bytes, numbers and lists."""
    if isinstance(item, list):
        body = b"".join(map(rlp, item))
        return _length(len(body), 0xC0) + body
    raw = _number(item) if isinstance(item, int) else item
    return raw if len(raw) == 1 and raw[0] < 0x80 else _length(len(raw), 0x80) + raw


class Evm:
    """A node of Ethereum to which transactions are sent."""

    def __init__(self, url):
        self.url, self.nonces = url, {}
        self.chain_id = int(self.ask("eth_chainId"), 16)
        self.price = 2 * int(self.ask("eth_gasPrice"), 16)

    def ask(self, method, *params):
        answer = post(self.url, {"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
        if "result" not in answer:
            raise RuntimeError(f"{method}: {answer}")
        return answer["result"]

    def send(self, secret, to, data, value=0):
        """Sends a transaction of a key, which moves `value` wei. Returns its hash and, where `to` is empty, the address of
        the contract."""
        sender = curve.address(secret)
        nonce = self.nonces.get(secret)
        if nonce is None:
            nonce = int(self.ask("eth_getTransactionCount", "0x" + sender.hex(), "pending"), 16)
        self.nonces[secret] = nonce + 1
        fields = [nonce, self.price, 100_000 if to else 2_000_000, to, value, data]
        r, s, parity = curve.sign(secret, keccak256(rlp(fields + [self.chain_id, 0, 0])))
        raw = rlp(fields + [self.chain_id * 2 + 35 + parity, r, s])
        sent = self.ask("eth_sendRawTransaction", "0x" + raw.hex())
        return sent, keccak256(rlp([sender, nonce]))[12:]

    def succeeded(self, sent):
        """Whether a transaction has succeeded; none while it is in no block."""
        receipt = self.ask("eth_getTransactionReceipt", sent)
        return None if receipt is None else int(receipt["status"], 16) == 1

    def pay(self, secret, to, value):
        """Sends wei to an address, and returns the hash. Others may use the key meanwhile."""
        self.nonces.pop(secret, None)
        return self.send(secret, to, b"", value)[0]


# --- TRON


def _varint(value):
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(out) + bytes([value])


def message(*fields):
    """A protobuf message of fields, each a number with an integer or bytes; an integer of 0 is left out."""
    out = b""
    for number, value in fields:
        if isinstance(value, int):
            out += _varint(number << 3) + _varint(value) if value else b""
        else:
            out += _varint(number << 3 | 2) + _varint(len(value)) + value
    return out


class Tron:
    """A full node of TRON to which transactions are sent."""

    fee_limit = 1_000_000_000

    def __init__(self, url):
        self.url, self.sent = url, 0

    def ask(self, name, **body):
        return post(f"{self.url}/wallet/{name}", body)

    def send(self, secret, to, data):
        """Sends a transaction of a key, and returns its id and, where `to` is empty, the address of the contract."""
        owner = b"\x41" + curve.address(secret)
        if to:
            kind, body = "TriggerSmartContract", message((1, owner), (2, b"\x41" + to), (4, data))
        else:
            contract = message((1, owner), (4, data), (6, 100), (8, 10_000_000))
            kind, body = "CreateSmartContract", message((1, owner), (2, contract))
        sent = self._sent(secret, kind, 31 if to else 30, body, self.fee_limit)
        return sent.hex(), keccak256(sent + owner)[12:]

    def pay(self, secret, to, value):
        """Sends sun to an address, and returns the id."""
        body = message((1, b"\x41" + curve.address(secret)), (2, b"\x41" + to), (3, value))
        return self._sent(secret, "TransferContract", 1, body, 0).hex()

    def _sent(self, secret, kind, number_of_kind, body, fee_limit):
        """Signs a contract of this kind, sends it, and returns its id."""
        head = self.ask("getnowblock")
        number, stamp = (head["block_header"]["raw_data"].get(name, 0) for name in ("number", "timestamp"))
        wrapped = message((1, f"type.googleapis.com/protocol.{kind}".encode()), (2, body))
        raw = message(
            (1, number.to_bytes(8, "big")[6:]), (4, bytes.fromhex(head["blockID"])[8:16]), (8, stamp + 600_000),
            (11, message((1, number_of_kind), (2, wrapped))), (14, stamp + self.sent), (18, fee_limit),
        )
        # Two that do the same differ in their times.
        self.sent += 1
        sent = hashlib.sha256(raw).digest()
        r, s, parity = curve.sign(secret, sent)
        signed = message((1, raw), (2, words(r, s) + bytes([parity])))
        answer = self.ask("broadcasthex", transaction=signed.hex())
        if not answer.get("result"):
            raise RuntimeError(f"{kind}: {answer}")
        return sent

    def succeeded(self, sent):
        """Whether a transaction has succeeded; none while it is in no block."""
        info = self.ask("gettransactioninfobyid", value=sent)
        receipt = info.get("receipt", {}) if info else None
        return None if receipt is None else receipt.get("result", "SUCCESS") == "SUCCESS"


def wait(chain, sent, patience_s=30):
    """Waits until every one of some transactions has succeeded."""
    until, left = time.monotonic() + patience_s, list(sent)
    while left:
        done = chain.succeeded(left[0])
        if done is False or time.monotonic() > until:
            raise RuntimeError(f"{left[0]}: {done}")
        if done:
            left.pop(0)
        else:
            time.sleep(0.05)
