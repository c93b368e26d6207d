"""Chains that are no sandbox's: their nodes, and a key that pays, are named by the environment.

    REAL_EVM='https://one https://two' REAL_EVM_KEY=0x…     REAL_TRON='http://full|http://solidity' REAL_TRON_KEY=0x…

The key is one of a test network or a private chain. It funds the biller and four wallets with 0.14 ether, or 1,100 TRX,
which stay with them, and pays for four contracts: a token, Multicall3, and twice the one that enforces nothing.
"""

import json
import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path

import curve
from blocks import base58
from transactions import Evm, Tron, call, wait

ARTEFACTS = Path(__file__).resolve().parents[1] / "contracts" / "artifacts"
#: Rows that touch the Signer alone, and so befall any chain.
ROWS = ["kill", "kill-while-starting", "restart", "freeze", "keys-killed", "handed-over", "pause"]
#: Seconds that a transaction may take into a block, and a month or the end of a row to be final.
PATIENCE_S, FINAL_S = 300, 3_000


def named():
    """The names and kinds of the chains in the environment, by the platform's ids of the sandbox's own."""
    known = {139: ("REAL_EVM", RealEvm), 136: ("REAL_TRON", RealTron)}
    there = {chain: one for chain, one in known.items() if os.environ.get(one[0])}
    for name, _ in there.values():
        if not os.environ.get(f"{name}_KEY"):
            sys.exit(f"{name} is set, and {name}_KEY is not: set it to the key that pays, in hex")
    return there


def chains():
    """The chains that the environment names."""
    there = named()
    return {
        chain: kind(os.environ[name].split(), int(os.environ[f"{name}_KEY"], 16)) for chain, (name, kind) in there.items()
    }


def code(name):
    """The bytes that deploy a contract of `tests/contracts`."""
    return bytes.fromhex(json.loads((ARTEFACTS / f"{name}.json").read_text())["bytecode"].removeprefix("0x"))


@dataclass
class RealChain:
    """A chain with its nodes, and the key that pays for all."""

    urls: list
    payer: int

    def found(self, wallets, biller):
        """Funds the biller and the wallets, and deploys a token of which each wallet has plenty. Returns the token and
        Multicall3."""
        sent = [self.node.pay(self.payer, who, coins) for who, coins in ((biller, self.most), *((one, self.some) for one in wallets))]
        (first, token), (second, multicall) = (
            self.node.send(self.payer, b"", code("PlainToken") + (6).to_bytes(32, "big")),
            self.node.send(self.payer, b"", code("Multicall3")),
        )
        wait(self.node, [*sent, first, second], PATIENCE_S)
        minted = [
            self.node.send(self.payer, token, call("mint(address,uint256)", int.from_bytes(one, "big"), 10**15))[0] for one in wallets
        ]
        wait(self.node, minted, PATIENCE_S)
        return token, multicall

    def configured(self, text, chain, token, multicall):
        """The configuration with this chain's nodes in place of the sandbox's."""
        spell = self.spell
        section = re.search(rf"\[chains\.{chain}\]\n(?:.+\n)+", text)[0]
        lines = [line for line in section.splitlines() if line.split(" = ")[0] not in self.replaced]
        lines += [*self.lines(), f'multicall = "{spell(multicall)}"', 'clock_tolerance = "10m"']
        text = text.replace(section, "\n".join(lines) + "\n")
        return re.sub(rf'(\[chains\.{chain}\.policy\.tokens\]\n\w+ = )"\w+"', rf'\1"{spell(token)}"', text)


class RealEvm(RealChain):
    """An EVM chain. `most` and `some` are wei for the biller and for a wallet."""

    most, some = 10**17, 10**16
    replaced = ("eip155_id", "rpc", "multicall", "poll_interval", "idle_poll_interval", "clock_tolerance")

    def __init__(self, urls, payer):
        super().__init__(urls, payer)
        self.node = Evm(urls[0])
        self.first_block = int(self.node.ask("eth_blockNumber"), 16)

    @staticmethod
    def spell(place):
        return "0x" + place.hex()

    def lines(self):
        return f"eip155_id = {self.node.chain_id}", f"rpc = {json.dumps(self.urls)}"


class RealTron(RealChain):
    """A chain of TRON. `most` and `some` are sun for the biller and for a wallet."""

    most, some = 700_000_000, 100_000_000
    replaced = ("chain_id", "full", "solidity", "jsonrpc", "multicall", "poll_interval", "idle_poll_interval", "clock_tolerance")

    def __init__(self, urls, payer):
        super().__init__(urls, payer)
        self.node = Tron(urls[0].split("|")[0])
        self.first_block = self.node.ask("getnowblock")["block_header"]["raw_data"]["number"]

    @staticmethod
    def spell(place):
        return base58(place)

    def lines(self):
        genesis = self.node.ask("getblockbynum", num=0)["blockID"]
        nodes = [url.split("|") for url in self.urls]
        nodes = ", ".join(f'{{ full = "{full}", solidity = "{solidity}" }}' for full, solidity in nodes)
        return f'chain_id = "0x{genesis[-8:]}"', f"nodes = [{nodes}]"


def key(configuration):
    """The key that a configuration bills with."""
    path = re.search(r'key = "file:(.+)"', configuration)[1]
    return int(Path(path).read_text().strip(), 16)


def biller(configuration):
    """The address of that key."""
    return curve.address(key(configuration))
