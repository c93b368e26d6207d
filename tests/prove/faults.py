"""The faults, one function each: `inject(world, dice)` brings one about, counts it, and returns when the world goes on.

A fault is counted where it happens. Every function of `ROWS` is a row of the report.
"""

import signal
import time

from world import FAMILIES, WALLETS


def kill(world, dice):
    """The Signer is killed at random, and started again."""
    time.sleep(dice.uniform(0, 0.6))
    world.kill(signal.SIGKILL)
    world.injected += 1
    world.start()


def restart(world, dice):
    """The Signer is asked to end, and started again."""
    time.sleep(dice.uniform(0, 0.6))
    world.kill(signal.SIGTERM)
    world.injected += 1
    world.start()


def freeze(world, dice):
    """The Signer stands still for up to three seconds, and wakes."""
    time.sleep(dice.uniform(0, 0.4))
    world.signer.send_signal(signal.SIGSTOP)
    world.injected += 1
    time.sleep(dice.uniform(0.2, 3))
    world.signer.send_signal(signal.SIGCONT)


def node_down(world, dice):
    """A chain's only node is gone for up to two seconds."""
    chain = dice.choice(list(FAMILIES))
    world.control("fault", kind="node-down", chainId=chain, on=True)
    world.injected += 1
    time.sleep(dice.uniform(0.1, 2))
    world.control("fault", kind="node-down", chainId=chain, on=False)


def reorganisation(world, dice):
    """The newest block is undone; its transactions are lost, or wait again."""
    time.sleep(dice.uniform(0, 0.6))
    for chain in FAMILIES:
        world.control("fault", kind="reorg", chainId=chain, depth=1, keep=dice.random() < 0.5)
    world.injected += 1


def kill_while_undone(world, dice):
    """The Signer is killed, a block is undone meanwhile, and the Signer starts again."""
    time.sleep(dice.uniform(0, 0.4))
    world.kill(signal.SIGKILL)
    for chain in FAMILIES:
        world.control("fault", kind="reorg", chainId=chain, depth=1, keep=dice.random() < 0.5)
    world.injected += 1
    world.start()


def held_blocks(world, dice):
    """No block is made for up to three seconds, while the Signer is killed."""
    world.control("hold", on=True)
    time.sleep(dice.uniform(0, 1.5))
    world.kill(signal.SIGKILL)
    world.injected += 1
    world.start()
    time.sleep(dice.uniform(0, 1.5))
    world.control("hold", on=False)


def emptied_wallet(world, dice):
    """A customer's tokens are gone between the answer and the block."""
    wallet, chain = dice.choice(WALLETS), dice.choice(list(FAMILIES))
    world.control("fault", kind="drain", chainId=chain, wallet=wallet)
    world.injected += 1
    time.sleep(dice.uniform(0.2, 1))
    world.control("fund", chainId=chain, wallet=wallet, amount="1000")


def old_copy(world, dice):
    """The journal is replaced by a backup from before the newest charges, as the documents say it is done."""
    copy = world.room / "old.sqlite"
    copy.unlink(missing_ok=True)
    made = world.run("backup", copy)
    if made.returncode != 0:
        raise RuntimeError(made.stderr)
    time.sleep(dice.uniform(0.1, 2))
    world.kill(signal.SIGKILL)
    for suffix in ("", "-wal", "-shm"):
        world.journal.with_name(world.journal.name + suffix).unlink(missing_ok=True)
    restored = world.run("restore", copy)
    if restored.returncode != 0:
        raise RuntimeError(restored.stderr)
    world.injected += 1
    world.start()


#: The faults by the names of their rows.
ROWS = {
    one.__name__.replace("_", "-"): one
    for one in (
        kill, restart, freeze, node_down, reorganisation, kill_while_undone, held_blocks, emptied_wallet, old_copy
    )
}
