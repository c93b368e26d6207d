"""The chains and their only node: the sandbox's own faults."""

import signal
import time

import contracts
import real
from contracts import FAMILIES
from faults import row

#: More blocks than ever wait to be final: the final one is never undone.
DEEPEST = 1000


@row()
def node_down(world, dice):
    """A chain's only node is gone for up to two seconds."""
    chain = dice.choice(list(FAMILIES))
    world.control("fault", kind="node-down", chainId=chain, on=True)
    world.count(chain)
    time.sleep(dice.uniform(0.1, 2))
    world.control("fault", kind="node-down", chainId=chain, on=False)


@row()
def reorganisation(world, dice):
    """The newest blocks are undone, one or all that are not final; their transactions are lost, or wait again."""
    time.sleep(dice.uniform(0, 0.6))
    _undo(world, dice)
    world.count()


@row()
def kill_while_undone(world, dice):
    """The Signer is killed, blocks are undone meanwhile, and the Signer starts again."""
    machine = world.machine
    time.sleep(dice.uniform(0, 0.4))
    machine.kill(signal.SIGKILL)
    _undo(world, dice)
    world.count()
    machine.start()


def _undo(world, dice):
    for chain in FAMILIES:
        depth = dice.choice([1, 1, 2, 5, DEEPEST])
        world.control("fault", kind="reorg", chainId=chain, depth=depth, keep=dice.random() < 0.5)


@row()
def held_blocks(world, dice):
    """No block is made for up to three seconds, while the Signer is killed."""
    machine = world.machine
    world.control("hold", on=True)
    time.sleep(dice.uniform(0, 1.5))
    machine.kill(signal.SIGKILL)
    world.count()
    machine.start()
    time.sleep(dice.uniform(0, 1.5))
    world.control("hold", on=False)


@row()
def dear_gas(world, dice):
    """The base fee of Ethereum rises beyond what a waiting transaction bids, and falls again."""
    world.control("hold", on=True)
    time.sleep(dice.uniform(0, 0.5))
    world.control("fault", kind="fees", chainId=139, price=dice.choice([40, 90, 150]) * 10**9)
    world.count(139)
    world.control("hold", on=False)
    time.sleep(dice.uniform(0.5, 2))
    world.control("fault", kind="fees", chainId=139, on=False)


def _burn_freely(world):
    """What fails for want of energy burns its whole limit, of which a day has few."""
    world.text = world.text.replace("[chains.136.fees]\n", '[chains.136.fees]\nmax_burnt_per_day = "1000000 TRX"\n', 1)


@row(prepare=_burn_freely)
def dear_energy(world, dice):
    """The price of energy on TRON rises beyond what a waiting transaction may cost, and falls again."""
    world.control("fund", chainId=136, wallet=contracts.spelled(136, real.biller(world.text)))
    world.control("hold", on=True)
    time.sleep(dice.uniform(0, 0.5))
    world.control("fault", kind="fees", chainId=136, price=dice.choice([1_000, 10_000, 100_000]))
    world.count(136)
    world.control("hold", on=False)
    time.sleep(dice.uniform(0.5, 2))
    world.control("fault", kind="fees", chainId=136, on=False)
