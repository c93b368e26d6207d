"""What others do between the answer and the block: customers, the issuer of the token, the owner of the contract, and
whoever has the key as well."""

import time

import real
from contracts import FAMILIES
from faults import row


@row()
def emptied_wallet(world, dice):
    """A customer's tokens are gone between the answer and the block."""
    chain = dice.choice(list(FAMILIES))
    payer = world.contract.payer(dice, chain)
    world.control("fault", kind="drain", chainId=chain, wallet=payer)
    world.count(chain)
    time.sleep(dice.uniform(0.2, 1))
    world.control("fault", kind="drain", chainId=chain, wallet=payer, amount="1000")


@row()
def blocked_wallet(world, dice):
    """The issuer of the token blocks a customer, and lifts that later."""
    chain = dice.choice(list(FAMILIES))
    payer = world.contract.payer(dice, chain)
    world.control("fault", kind="block", chainId=chain, wallet=payer, on=True)
    world.count(chain)
    time.sleep(dice.uniform(0.2, 1))
    world.control("fault", kind="block", chainId=chain, wallet=payer, on=False)


@row()
def revoked_allowance(world, dice):
    """A customer takes the allowance back, and gives it again later."""
    chain, number = dice.choice(list(FAMILIES)), dice.randrange(world.contract.wallets)
    world.contract.allow(world, chain, number, 0)
    world.count(chain)
    time.sleep(dice.uniform(0.2, 1))
    world.contract.allow(world, chain, number, world.contract.plenty)


@row()
def refusing_contract(world, dice):
    """The contract refuses every charge from the next block on, and again takes them later: what was sent meanwhile reverts."""
    chain = dice.choice(list(FAMILIES))
    world.contract.fund_owner(world, chain)
    world.control("hold", on=True)
    world.contract.refuse(chain, True)
    time.sleep(dice.uniform(0.2, 1))
    world.count(chain)
    world.control("hold", on=False)
    time.sleep(dice.uniform(0.2, 1))
    world.contract.refuse(chain, False)


@row()
def key_used_elsewhere(world, dice):
    """Somebody else sends a coin with the Signer's key: what the Signer signed for that nonce is never mined."""
    chain = dice.choice(list(FAMILIES))
    time.sleep(dice.uniform(0, 0.5))
    if world.contract.use_key(chain, real.key(world.text)):
        world.count(chain)
    time.sleep(dice.uniform(0.5, 3))
