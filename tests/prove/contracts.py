"""The contracts that a world bills: one that enforces nothing, and the reference contract behind the platform.

Each founds its customers, and tells what is due month by month.
"""

import functools
import json
import re
from pathlib import Path

import curve
import real
from blocks import SHIFT, base58, tron_hex
from transactions import Evm, Tron, call, wait

#: The platform's ids of the two chains of the sandbox, each with the path that bills there.
FAMILIES = {139: "EVM", 136: "TVM"}
MONTH_S = 30 * 86400

_CALL = (
    "charge((uint64 subscribeId, uint64 planId, bytes32 userHash, uint32 {period}, uint128 amount,"
    " address userWallet, address tokenAddress, uint64 tag)[] items)"
)
_CHARGED = "event Charged(uint64 indexed subscribeId, uint64 planId, bytes32 userHash, uint32 {period}, uint128 amount)"
_SKIPPED = "event NotCharged(uint64 indexed subscribeId, uint64 planId, bytes32 userHash, uint32 {period}, uint8 reason)"


def section(chain, period="period"):
    """How the contract that enforces nothing is called, as configuration.

    The period is the field `period`; or the field `month`; or the argument is filled from `cycle`, and there is no period.
    """
    lines = [f"[chains.{chain}.billing]"]
    for name, text in (("call", _CALL), ("charged", _CHARGED), ("skipped", _SKIPPED)):
        lines.append(f'{name} = "{text.format(period=period)}"')
    lines.append(f'lookup = "none"\nreasons = {{ 1 = "BALANCE_INSUFFICIENT" }}\nguard = "1h"')
    if period == "month":
        lines.append('period = "month"')
    return "\n".join(lines) + "\n"


class Careless:
    """Charges whatever it is told, as often as it is told: a second charge of a period is a second payment."""

    name = "careless"
    #: Customers on each chain, and wallets that pay for them.
    customers, wallets = 12, 4
    #: What each pays, and what is allowed.
    amount, plenty = 7, 2**255

    def __init__(self):
        self.month, self.tag = 0, 0
        self.tokens, self.places, self.other_places = {}, {}, {}
        #: By chain the node, and the key that deployed everything.
        self.owners = {}

    def found(self, world):
        """Deploys it twice on each chain, gives every wallet money, and returns the configuration that bills the first."""
        text = Path(world.at["signerConfig"]).read_text()
        wallets = [self._address(place) for place in range(self.wallets)]
        for chain, node in ((139, Evm(world.at["evm"])), (136, Tron(world.at["tronFull"]))):
            owner = curve.key("owner")
            if chain in world.real:
                chosen = world.real[chain]
                owner, node = chosen.payer, chosen.node
                self.tokens[chain], multicall = chosen.found(wallets, real.biller(text))
                text = chosen.configured(text, chain, self.tokens[chain], multicall)
            else:
                self.tokens[chain] = plain_address(re.search(rf'chains\.{chain}\.policy\.tokens\]\n\w+ = "(\w+)"', text)[1])
                for one in [curve.address(owner), *wallets]:
                    world.control("fund", chainId=chain, wallet=spelled(chain, one))
                world.control("advance", seconds=9)
            text = self._settle(chain, node, owner, text)
        return text

    def _settle(self, chain, node, owner, text):
        code = real.code("Careless")
        (first, place), (second, other) = (node.send(owner, b"", code) for _ in range(2))
        self.owners[chain], sent = (node, owner), [first, second]
        for number in range(self.wallets):
            for spender in (place, other):
                sent.append(self._approve(chain, node, number, spender, self.plenty))
        wait(node, sent, real.PATIENCE_S)
        self.places[chain], self.other_places[chain] = place, other
        text = re.sub(rf'(\[chains\.{chain}\]\n(?:.+\n)*?contract = )".*"', rf'\1"{spelled(chain, place)}"', text)
        return re.sub(rf"\[chains\.{chain}\.billing\]\n(.+\n)+", section(chain), text)

    def fund_owner(self, world, chain):
        """Gives the account that deployed everything the coins of some more transactions."""
        _, owner = self.owners[chain]
        world.control("fund", chainId=chain, wallet=spelled(chain, curve.address(owner)))

    def refuse(self, chain, refusing):
        """Sends what makes every call to charge revert from the next block on, or none."""
        node, owner = self.owners[chain]
        return node.send(owner, self.places[chain], call("refuse(bool)", int(refusing)))[0]

    def _approve(self, chain, node, number, spender, amount):
        data = call("approve(address,uint256)", int.from_bytes(spender, "big"), amount)
        return node.send(self._wallet(number), self.tokens[chain], data)[0]

    def allow(self, world, chain, number, amount):
        """A wallet allows the contract so much from the next block on."""
        node, _ = self.owners[chain]
        world.control("fund", chainId=chain, wallet=spelled(chain, self._address(number)))
        self._approve(chain, node, number, self.places[chain], amount)

    def use_key(self, chain, key):
        """Sends a coin with a key that somebody else uses too. Returns whether the node took it."""
        node, owner = self.owners[chain]
        try:
            return node.pay(key, curve.address(owner), 1)
        except RuntimeError:
            return None  # The nonce was taken in between.

    @staticmethod
    def _wallet(place):
        return curve.key(f"wallet {place}")

    @functools.cache
    def _address(self, place):
        return curve.address(self._wallet(place))

    def due(self, world):
        """One charge of each customer for this month, by chain."""
        return {chain: [self.entry(chain, number) for number in range(1, self.customers + 1)] for chain in FAMILIES}

    def entry(self, chain, number):
        wallet, period = self._address(number % self.wallets), self.month + 1
        return {
            "chainId": chain, "subscribeId": number, "planId": 1, "userHash": f"0x{number:064x}",
            "period": period, "month": period + SHIFT, "cycle": period + 2 * SHIFT, "amount": str(self.amount), "userWallet": spelled(chain, wallet),
            "tokenAddress": spelled(chain, self.tokens[chain]),
        }

    def marked(self, entries):
        """The entries of one request, with a tag of its own: the payment tells which request made it."""
        self.tag += 1
        return [entry | {"tag": self.tag} for entry in entries]

    def next_month(self, world):
        self.month += 1

    def left(self, world, chain, unmade):
        """Of charges that were asked for and not made those that are due: it takes any month's at any time."""
        return unmade

    def payer(self, dice, chain):
        """A wallet that pays, as the sandbox's controls name it."""
        return spelled(chain, self._address(dice.randrange(self.wallets)))

    def contracts(self, world):
        """The contracts whose events the judge reads, by chain: 20 bytes as hex digits."""
        return {chain: [self.places[chain].hex(), self.other_places[chain].hex()] for chain in FAMILIES}


class Reference:
    """The platform's own: a plan that two admins approved, and subscribers. It charges each period once by itself."""

    name = "reference"
    testers = ["ada", "ben", "cleo", "dan", "eve", "finn"]
    plan = 70

    def found(self, world):
        for chain in FAMILIES:
            world.control("propose-plan", admin="alice", planId=self.plan, chainId=chain, amount="1",
                          intervalSeconds=MONTH_S, periods=120)
        world.control("advance", seconds=120)
        for chain in FAMILIES:
            world.control("approve-plan", admin="bob", planId=self.plan, chainId=chain, version=1)
        world.control("advance", seconds=120)
        for chain in FAMILIES:
            for tester in self.testers:
                link = world.platform("POST", "/subscribe/payment/create", {
                    "chainId": chain, "planId": self.plan, "externalUserId": f"{tester}-{chain}",
                    "redirectionUrl": "https://shop.example/", "notifyUrl": "http://127.0.0.1:9/",
                })
                world.control("follow-link", paymentUrl=link["paymentUrl"], wallet=tester, allowance="1000")
        world.control("advance", seconds=180)
        return Path(world.at["signerConfig"]).read_text()

    def due(self, world):
        """Everything that the platform calls due, by chain."""
        due = {chain: [] for chain in FAMILIES}
        for entry in world.platform("GET", "/subscribe/chargeable/list?page=1&size=500")["list"]:
            due[entry["chainId"]].append(entry)
        return due

    def marked(self, entries):
        return entries

    def next_month(self, world):
        world.control("advance", months=1)

    def left(self, world, chain, unmade):
        """What is due: the platform says so, and of earlier months it says nothing."""
        return self.due(world)[chain]

    def payer(self, dice, chain):
        return dice.choice(self.testers)

    def contracts(self, world):
        return {
            chain["chainId"]: [plain_address(chain["contract"]).hex()] for chain in world.clock()["chains"]
        }


def plain_address(text):
    """The 20 bytes of an address of either chain."""
    return bytes.fromhex(text[2:]) if text.startswith("0x") else bytes.fromhex(tron_hex(text))


def spelled(chain, place):
    """An address as the chain spells it."""
    return "0x" + place.hex() if chain == 139 else base58(place)


CONTRACTS = {one.name: one for one in (Careless, Reference)}
