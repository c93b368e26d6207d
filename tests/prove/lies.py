"""The lies of a provider, each a class with `async tell(question, writer)`: a status with a body, or none for the truth."""

import asyncio
import json
import re
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[2]
#: The codes of java-tron's broadcasts (api.proto, Return.response_code).
TRON_CODES = [
    "SIGERROR", "CONTRACT_VALIDATE_ERROR", "CONTRACT_EXE_ERROR", "BANDWITH_ERROR", "DUP_TRANSACTION_ERROR", "TAPOS_ERROR",
    "TOO_BIG_TRANSACTION_ERROR", "TRANSACTION_EXPIRATION_ERROR", "SERVER_BUSY", "NO_CONNECTION",
    "NOT_ENOUGH_EFFECTIVE_CONNECTION", "BLOCK_UNSOLIDIFIED", "OTHER_ERROR",
]


def known_texts():
    """Every text of the product's table of errors: a false refusal says each of them."""
    table = (_ROOT / "crates/evm-testimony/src/errors/table.rs").read_text()
    return [text.replace('\\"', '"') for text in re.findall(r', "((?:[^"\\]|\\.)*)"\),$', table, re.M)]


class Lie:
    """Lies about a share of the questions."""

    def __init__(self, dice, share):
        self.dice, self.share = dice, share

    async def __call__(self, question, writer):
        return await self.tell(question, writer) if self.dice.random() < self.share else None

    async def _json(self, question):
        status, body = await question.honest()
        try:
            return status, json.loads(body)
        except ValueError:
            return status, None


class Alters(Lie):
    """Changes one to three values of the answer."""

    async def tell(self, question, _):
        status, told = await self._json(question)
        if not isinstance(told, dict):
            return None
        leaves = list(_leaves(told))
        for place, key in self.dice.sample(leaves, min(len(leaves), self.dice.randint(1, 3))):
            place[key] = _altered(self.dice, place[key])
        return (status, json.dumps(told).encode()) if leaves else None


class Withholds(Lie):
    """Says that there is nothing, leaves parts out, or takes a transaction that it passes on to nobody."""

    async def tell(self, question, _):
        if question.sends and self.dice.random() < 0.5:
            return 200, question.told("0x" + "00" * 32 if question.is_rpc else {"result": True, "code": "SUCCESS"})
        status, told = await self._json(question)
        if not isinstance(told, dict):
            return None
        holders = [place for place in _places(told) if place]
        if self.dice.random() < 0.5 or not holders:
            return 200, question.told(None if question.is_rpc else {})
        for _ in range(self.dice.randint(1, 3)):
            place = self.dice.choice(holders)
            if place:
                place.pop(self.dice.choice(list(place)) if isinstance(place, dict) else self.dice.randrange(len(place)))
        return status, json.dumps(told).encode()


class Stale(Lie):
    """Says what it has said once before to the same question."""

    def __init__(self, dice, share):
        super().__init__(dice, share)
        self.heard = {}

    async def tell(self, question, _):
        asked = {key: value for key, value in question.json.items() if key != "id"} if isinstance(question.json, dict) else {}
        name = question.path + json.dumps(asked, sort_keys=True)
        if name not in self.heard:
            self.heard[name] = await question.honest()
            return None
        status, told = self.heard[name]
        if question.is_rpc:
            body = json.loads(told or b"{}") | {"id": question.json.get("id")}
            told = json.dumps(body).encode()
        return status, told


class Forges(Lie):
    """Says the opposite of what a charge depends on: ends, logs, nonces, heights, uses of an account."""

    async def tell(self, question, _):
        status, told = await self._json(question)
        result = told.get("result", told) if isinstance(told, dict) else told
        forged = self._forged(question, result)
        if forged is None:
            return None
        return status, question.told(forged)

    def _forged(self, question, result):
        name, dice = question.name, self.dice
        if name == "eth_getTransactionReceipt" and isinstance(result, dict):
            change = dice.choice([{"status": "0x0"}, {"logs": []}, {"blockNumber": "0x1"}, {"blockHash": "0x" + "ab" * 32}])
            return result | change
        if name in ("eth_getTransactionCount", "eth_blockNumber") and isinstance(result, str):
            return hex(max(0, int(result, 16) + dice.choice([-5, -1, 1, 5, 1000])))
        if name == "eth_getBlockByNumber" and isinstance(result, dict):
            moved = hex(max(0, int(result["number"], 16) + dice.choice([-50, -1, 1, 50])))
            return result | dice.choice([{"number": moved}, {"hash": "0x" + "cd" * 32}, {"timestamp": "0xffffffff"}])
        if name == "gettransactioninfobyid" and isinstance(result, dict) and result:
            receipt = result.get("receipt", {}) | {"result": "REVERT"}
            return result | dice.choice([{"result": "FAILED", "receipt": receipt}, {"log": []}, {"blockNumber": 1}])
        if name == "gettransactioninfobyblocknum" and isinstance(result, list):
            return [] if dice.random() < 0.5 else [one | {"log": []} for one in result]
        if name == "getaccount" and isinstance(result, dict):
            return result | {"latest_opration_time": dice.choice([0, 1, 2**52])}
        if name in ("getnowblock", "getblock", "getblockbynum") and isinstance(result, dict) and "block_header" in result:
            raw = result["block_header"]["raw_data"]
            raw["number"] = max(0, raw.get("number", 0) + dice.choice([-30, -1, 1, 30]))
            return result
        return None


class Splits(Lie):
    """Tells each caller another story, call by call: altered, forged, stale, nothing, or the truth."""

    def __init__(self, dice, share):
        super().__init__(dice, share)
        self.kinds = [kind(dice, 1) for kind in (Alters, Withholds, Stale, Forges)]

    async def tell(self, question, writer):
        return await self.dice.choice(self.kinds).tell(question, writer)


class Refuses(Lie):
    """Answers a transaction with a refusal, by every text of the table in turn, and passes it on or not."""

    def __init__(self, dice, share):
        super().__init__(dice, share)
        self.texts = known_texts()
        dice.shuffle(self.texts)
        self.next = 0

    async def tell(self, question, _):
        if not question.sends:
            return None
        if self.dice.random() < 0.5:
            await question.honest()
        text = self.texts[self.next % len(self.texts)]
        self.next += 1
        if question.is_rpc:
            return 200, question.error(text)
        code = TRON_CODES[self.next % len(TRON_CODES)]
        return 200, question.told({"code": code, "message": f"{code} : {text}".encode().hex()})


class Cuts(Lie):
    """Breaks off in the middle of an answer, before or after it has done what it was asked."""

    async def tell(self, question, writer):
        done = await question.honest() if self.dice.random() < 0.7 else (200, b'{"jsonrpc')
        told = done[1][: len(done[1]) // 2]
        writer.write(f"HTTP/1.1 {done[0]} .\r\nContent-Length: {len(done[1]) + 1}\r\n\r\n".encode() + told)
        await writer.drain()
        writer.transport.abort()
        return done


class Doubles(Lie):
    """Does everything twice, and gives the second answer."""

    async def tell(self, question, _):
        await question.honest()
        return await question.honest()


class Slow(Lie):
    """Takes up to five seconds, before or after it has done what it was asked."""

    async def tell(self, question, _):
        pause = self.dice.uniform(0.1, 5)
        if self.dice.random() < 0.5:
            await asyncio.sleep(pause)
            return await question.honest()
        done = await question.honest()
        await asyncio.sleep(pause)
        return done


class Html(Lie):
    """Answers with a page for people."""

    async def tell(self, question, _):
        if self.dice.random() < 0.5:
            await question.honest()
        status = self.dice.choice([200, 403, 404, 429, 500, 502, 503])
        return status, b"<!doctype html><html><body><h1>502 Bad Gateway</h1></body></html>", "text/html"


class Huge(Lie):
    """Answers with up to 40 MB: one long text, or the right answer and a great many blanks."""

    async def tell(self, question, _):
        size = self.dice.choice([1, 5, 40]) * 1_000_000
        if self.dice.random() < 0.5:
            return 200, question.told("0x" + "00" * (size // 2))
        status, told = await question.honest()
        return status, told + b" " * size


KINDS = (Alters, Withholds, Stale, Forges, Splits, Refuses, Cuts, Doubles, Slow, Html, Huge)


def _places(told):
    if isinstance(told, (dict, list)):
        yield told
        for one in told.values() if isinstance(told, dict) else told:
            yield from _places(one)


def _leaves(told):
    for place in _places(told):
        for key in place if isinstance(place, dict) else range(len(place)):
            if not isinstance(place[key], (dict, list)) and key not in ("id", "jsonrpc"):
                yield place, key


def _altered(dice, value):
    """Another value of the same kind."""
    if isinstance(value, bool) or value is None:
        return not value
    if isinstance(value, int):
        others = [0, 1, max(0, value - 1), value + 1, value * 2, 2**63 - 1]
    elif isinstance(value, str) and value:
        place = dice.randrange(len(value))
        others = [value[:place] + digit + value[place + 1 :] for digit in "0123456789abcdef"]
    else:
        others = ["", 0, "0x0"]
    return dice.choice([other for other in others if other != value])
