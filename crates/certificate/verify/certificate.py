#!/usr/bin/env python3
"""Verifies the certificate of a charge, with nothing but the standard library: certificate.py FILE BLOCK

BLOCK is the hash (TRON: the id) of a final block, from a source that you trust. The declaration of the event, from the
contract's published ABI, may be given as `--event 'event Charged(...)'`: another one is refused, but for its blanks.
crates/certificate/README.md says what a certificate shows. Signatures of TRON's producers are not read here: the
block's id is trusted already."""

import argparse
import base64
import hashlib
import json
import re
import sys

MASK, STATIC = (1 << 64) - 1, re.compile(r"address|bool|uint(\d+)|bytes(\d+)")

# The names that mean the same in an event as in a claim, if the parameter's type begins so.
OF_CLAIMS = {
    "amount": "uint",
    "planId": "uint",
    "subscribeId": "uint",
    "tokenAddress": "address",
    "userHash": "bytes32",
    "userWallet": "address",
}

TO_COMPARE = "Compare the contract's address with that of the merchant's contract."

TO_COMPARE_OF_EVENT = """Compare the declaration with the one in the contract's published ABI, as you compare the block's
hash, or give that one as --event: the maker of the certificate wrote the names of the values, and the block has none."""


class Invalid(Exception):
    """The certificate proves nothing."""


def need(true, words):
    if not true:
        raise Invalid(words)


def keccak(data):
    rounds, bit, constants = [], 1, []
    for _ in range(24):
        constant = 0
        for power in range(7):
            constant |= (bit & 1) << ((1 << power) - 1)
            bit = (bit << 1) ^ (0x171 if bit & 0x80 else 0)
        constants.append(constant)
    turn = lambda word, by: ((word << by) | (word >> (64 - by))) & MASK  # noqa: E731
    padded = bytearray(data + b"\x01" + bytes(-(len(data) + 1) % 136))
    padded[-1] |= 0x80
    a = [0] * 25
    for start in range(0, len(padded), 136):
        for i in range(17):
            a[i] ^= int.from_bytes(padded[start + 8 * i : start + 8 * i + 8], "little")
        for constant in constants:
            c = [a[x] ^ a[x + 5] ^ a[x + 10] ^ a[x + 15] ^ a[x + 20] for x in range(5)]
            a = [a[i] ^ c[(i + 4) % 5] ^ turn(c[(i + 1) % 5], 1) for i in range(25)]
            x, y, moved = 1, 0, a[1]
            for step in range(24):
                x, y = y, (2 * x + 3 * y) % 5
                a[x + 5 * y], moved = turn(moved, (step + 1) * (step + 2) // 2 % 64), a[x + 5 * y]
            a = [a[i] ^ (~a[i - i % 5 + (i + 1) % 5] & MASK & a[i - i % 5 + (i + 2) % 5]) for i in range(25)]
            a[0] ^= constant
    return b"".join(word.to_bytes(8, "little") for word in a[:4])


def rlp(data):
    """The value in these bytes: bytes, or a list of values."""
    value, rest = rlp_next(data)
    need(not rest, "RLP with something behind it")
    return value


def rlp_next(data):
    need(data, "RLP that ends too soon")
    first, long = data[0], 0
    if first < 0x80:
        return data[:1], data[1:]
    base = 0xC0 if first >= 0xC0 else 0x80
    length = first - base
    if length > 55:
        long = length - 55
        length = int.from_bytes(data[1 : 1 + long], "big")
    body, rest = data[1 + long : 1 + long + length], data[1 + long + length :]
    need(len(body) == length, "RLP that ends too soon")
    if base == 0x80:
        return body, rest
    items = []
    while body:
        item, body = rlp_next(body)
        items.append(item)
    return items, rest


def below(root, index, nodes):
    """The item at an index of the trie below a root."""
    number = index.to_bytes((index.bit_length() + 7) // 8, "big")
    key = (number if index and index < 0x80 else bytes([0x80 + len(number)]) + number).hex()
    for place, node in enumerate(nodes):
        need(keccak(node) == root, "a node that is not the one above it names")
        parts = rlp(node)
        if len(parts) == 17:
            root, key = parts[int(key[0], 16)], key[1:]
            continue
        path = parts[0].hex()
        leaf, path = int(path[0], 16) >= 2, path[1:] if int(path[0], 16) % 2 else path[2:]
        need(len(parts) == 2 and key.startswith(path), "a path that leads elsewhere")
        root, key = parts[1], key[len(path) :]
        if leaf:
            need(not key and place == len(nodes) - 1, "a path that leads elsewhere")
            return root
    raise Invalid("a path that ends too soon")


def value(kind, word):
    """The text of a value that fills a word."""
    match, number = STATIC.fullmatch(kind), int.from_bytes(word, "big")
    need(match and len(word) == 32, f"a value of type {kind}")
    bits, many = match.group(1), match.group(2)
    if many:
        need(1 <= int(many) <= 32 and not any(word[int(many) :]), "bytes that do not fit their type")
        return "0x" + word[: int(many)].hex()
    need(number < 1 << (int(bits) if bits else 160 if kind == "address" else 1), "a number that does not fit its type")
    return str(number) if bits else "0x" + word[12:].hex() if kind == "address" else str(bool(number)).lower()


def event(log, shown):
    """The values of a log by the event's declaration."""
    keys(shown, "declaration", "log", "values")
    name, list_ = re.fullmatch(r"event ([A-Za-z_]\w*)\((.*)\)", shown["declaration"], re.ASCII).groups()
    parameters = [one.split(" ") for one in list_.split(", ")]
    signature = f"{name}({','.join(one[0] for one in parameters)})"
    topics, data = log[1][1:], log[2]
    need(log[1][0] == keccak(signature.encode()) and len(data) % 32 == 0, "a log of another event")
    words, values = [data[at : at + 32] for at in range(0, len(data), 32)], {}
    for kind, *middle, own in parameters:
        need(middle in ([], ["indexed"]) and re.fullmatch(r"[A-Za-z_]\w*", own, re.ASCII), "a declaration of another form")
        need(own not in values, "a name that is there twice")
        values[own] = value(kind, (topics if middle else words).pop(0))
    need(not topics and not words, "a log of another event")
    return values


def keys(of, *names):
    need(type(of) is dict and sorted(of) == sorted(names), "fields of another form")


def blob(text):
    data = base64.b64decode(text, validate=True)
    need(base64.b64encode(data).decode() == text, "Base64 in another spelling")
    return data


def evm(proof, certificate):
    keys(proof, "event", "header", "index", "receipt", "transaction")
    raw = blob(proof["header"])
    need(type(proof["index"]) is int and proof["index"] >= 0, "an index that is none")
    need("0x" + keccak(raw).hex() == certificate["block"], "a header of another block")
    header = rlp(raw)
    sent = below(header[4], proof["index"], [blob(node) for node in proof["transaction"]])
    receipt = below(header[5], proof["index"], [blob(node) for node in proof["receipt"]])
    need("0x" + keccak(sent).hex() == certificate["transaction"], "another transaction")
    typed = sent[0] < 0x80
    need(not typed or sent[0] in (1, 2, 3, 4) and receipt[0] == sent[0], "a type that is not known")
    fields = rlp(sent[1:] if typed else sent)
    old = int.from_bytes(fields[6], "big")
    network = int.from_bytes(fields[0], "big") if typed else (old - 35) // 2
    need(network == certificate["network"], "a transaction of another network")
    status, _, _, logs = rlp(receipt[1:] if typed else receipt)
    need(status == b"\x01", "a transaction that did not succeed")
    shown, number = proof["event"], int.from_bytes(header[8], "big")
    if shown is None:
        called = fields[3 if not typed else 4 if sent[0] == 1 else 5]
        need(len(called) == 20, "no call of a contract")
        return number, called, {}
    need(type(shown["log"]) is int and shown["log"] >= 0, "an index that is none")
    values = event(logs[shown["log"]], shown)
    need(values == shown["values"], "an event of other values")
    return number, logs[shown["log"]][0], values


def protobuf(data):
    """The fields of a message: numbers and bytes, by tag."""
    fields = {}
    while data:
        tag, data = varint(data)
        number, data = varint(data)
        need(tag & 7 in (0, 2), "a field of another kind")
        if tag & 7 == 2:
            need(len(data) >= number, "a message that ends too soon")
            number, data = data[:number], data[number:]
        fields.setdefault(tag >> 3, []).append(number)
    return fields


def varint(data):
    number = 0
    for place, byte in enumerate(data):
        number |= (byte & 0x7F) << (7 * place)
        if byte < 0x80:
            return number, data[place + 1 :]
    raise Invalid("a message that ends too soon")


def tvm(proof, certificate):
    keys(proof, "headers", "message", "path")
    sha = lambda data: hashlib.sha256(data).digest()  # noqa: E731
    parent = None
    for place, signed in enumerate(proof["headers"]):
        keys(signed, "raw", "signature")
        blob(signed["signature"])
        raw = blob(signed["raw"])
        fields = protobuf(raw)
        id_ = fields[7][0].to_bytes(8, "big") + sha(raw)[8:]
        need(parent in (None, fields[3][0]), "headers that do not stand on each other")
        if not place:
            need("0x" + id_.hex() == certificate["block"], "a header of another block")
            number, root = fields[7][0], fields[2][0]
        parent = id_
    message = blob(proof["message"])
    need(len(message) != 64, "a node in the place of a transaction")
    node = sha(message)
    for branch in proof["path"]:
        ((side, digest),) = branch.items()
        need(side in ("left", "right") and len(blob(digest)) == 32, "a path of another form")
        node = sha(blob(digest) + node if side == "left" else node + blob(digest))
    need(node == root, "a path that leads elsewhere")
    fields = protobuf(message)
    need("0x" + sha(fields[1][0]).hex() == certificate["transaction"], "another transaction")
    (call,) = protobuf(fields[1][0])[11]
    result, call = protobuf(fields[5][0]), protobuf(call)
    # Nodes judge this field of the first result; the rest is whatever the relay of the transaction filled in.
    need(result.get(3) == [1], "a transaction that did not succeed")
    need(call.get(1) == [31], "no call of a contract")
    called = protobuf(protobuf(call[2][0])[2][0])[2][0]
    need(len(called) == 21 and called[0] == 0x41, "no call of a contract")
    return number, called[1:], {}


def respaced(text):
    """The declaration in its one spelling, if only its blanks are otherwise."""
    return re.sub(" ?([(),]) ?", r"\1", " ".join(text.split())).replace(",", ", ")


def verify(text, trusted, event=None):
    """What a certificate shows to whoever trusts the block of this hash, if its event has this declaration."""
    try:
        read = json.loads(text)
        keys(read, "block", "claim", "digest", "history", "network", "proof", "schema", "transaction")
        plain = lambda of: json.dumps(of, sort_keys=True, separators=(",", ":"), ensure_ascii=False)  # noqa: E731
        need(read["schema"] == "charge-certificate/1", "a form that is not known")
        need(plain(read) == text, "another spelling")
        need(type(read["network"]) is int and re.fullmatch("0x[0-9a-f]{64}", read["history"]), "another form")
        need(all(type(said) is str for said in read["claim"].values()), "another form")
        bare = {name: part for name, part in read.items() if name != "digest"}
        need("0x" + hashlib.sha256(plain(bare).encode()).hexdigest() == read["digest"], "altered since it was written")
        need(read["block"] == trusted, f"of block {read['block']}, which is not the trusted one")
        ((family, proof),) = read["proof"].items()
        number, contract, values = {"evm": evm, "tvm": tvm}[family](proof, read)
        declaration = (proof.get("event") or {}).get("declaration")
        given = event is None or respaced(event) == declaration
        need(given, f"its event is declared as {declaration}, which is not the declaration given")
        stated = {"contract": "0x" + contract.hex()}
        for kind, name in re.findall(r"(\w+) (?:indexed )?(\w+)[,)]", declaration or "", re.ASCII):
            if kind.startswith(OF_CLAIMS.get(name, "no type")):
                stated[name] = values[name]
        need("contract" in read["claim"], "a claim without its contract")
        for name, said in read["claim"].items():
            need(stated.get(name, said) == said, f"a claim that says otherwise of {name} than the block")
        block = {"number": number, "transaction": read["transaction"], "contract": stated["contract"]}
        return {**block, "declaration": declaration, "event": values}
    except (AttributeError, IndexError, KeyError, TypeError, ValueError, RecursionError) as why:
        raise Invalid(f"not of the form of a certificate: {why!r}") from why


if __name__ == "__main__":
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("file")
    asked.add_argument("block")
    asked.add_argument("--event")
    asked = asked.parse_args()
    try:
        with open(asked.file, encoding="utf-8") as file:
            proven = verify(file.read(), asked.block.lower(), asked.event)
        print(json.dumps(proven, indent=1))
        print(TO_COMPARE, file=sys.stderr)
        if proven["declaration"] is not None and asked.event is None:
            print(TO_COMPARE_OF_EVENT, file=sys.stderr)
    except Invalid as invalid:
        sys.exit(f"It proves nothing: {invalid}")
