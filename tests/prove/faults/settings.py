"""Settings that change between two starts: those that would charge twice are refused, the others change what is billed."""

import re
import time

import contracts
from contracts import FAMILIES, spelled
from faults import row

#: What a start with another name of the period, another contract or without a chain says is left to the program: the
#: judge only looks at what was charged meanwhile.
_PATIENCE_S = 3


def _played(world, dice, change, *chains):
    """Starts the Signer with a changed configuration, lets callers ask it, and starts it as it was."""
    machine = world.machine
    time.sleep(dice.uniform(0, 0.5))
    machine.kill()
    machine.write(change(world.text))
    world.count(*chains)
    machine.start(supervised=False)
    until = time.monotonic() + _PATIENCE_S
    while machine.signer.poll() is None and time.monotonic() < until:
        world.ask_again(dice, patience_s=1)
    machine.kill()
    machine.write(world.text)
    machine.start()


def _in_section(text, chain, change):
    """Changes the main section of a chain."""
    return re.sub(rf"\[chains\.{chain}\]\n(?:.+\n)*", lambda found: change(found[0]), text)


@row()
def period_renamed(world, dice):
    """The period is named by another field of the entries at the next start, which counts otherwise."""
    chain = dice.choice(list(FAMILIES))
    was, will = contracts.section(chain), contracts.section(chain, "month")
    _played(world, dice, lambda text: text.replace(was, will), chain)


@row()
def period_left_out(world, dice):
    """A guard time replaces the period at the next start: no parameter of the call is named as one."""
    chain = dice.choice(list(FAMILIES))
    was, will = contracts.section(chain), contracts.section(chain, "cycle")
    _played(world, dice, lambda text: text.replace(was, will), chain)


@row()
def contract_changed(world, dice):
    """Another contract of the same kind is billed at the next start."""
    chain = dice.choice(list(FAMILIES))
    was, will = (spelled(chain, places[chain]) for places in (world.contract.places, world.contract.other_places))
    _played(world, dice, lambda text: text.replace(was, will), chain)


@row()
def chain_renumbered(world, dice):
    """A chain has another number of the platform at the next start."""
    chain = dice.choice(list(FAMILIES))
    _played(world, dice, lambda text: text.replace(f"[chains.{chain}", f"[chains.{chain + 1000}"), chain)


@row()
def chain_removed(world, dice):
    """A chain is gone from the configuration at the next start, or takes nothing new."""
    chain = dice.choice(list(FAMILIES))
    if dice.random() < 0.5:
        _played(world, dice, lambda text: re.sub(rf"\[chains\.{chain}[.\]].*\n(?:.+\n)*", "", text), chain)
    else:
        _played(world, dice, lambda text: _in_section(text, chain, lambda part: part + "retired = true\n"), chain)


@row()
def limits_lowered(world, dice):
    """Charges of one batch, or what they may cost, are limited to less at the next start."""
    chain = dice.choice(list(FAMILIES))
    limit = dice.choice(["max_batch = 1", 'max_fee_per_day = "1"' if chain == 139 else 'max_fee_per_day = "1 TRX"'])
    _played(world, dice, lambda text: text + f"\n[chains.{chain}.policy]\n{limit}\n", chain)


@row()
def guard_shortened(world, dice):
    """The time for which a charge without a period is held is a second at the next start, and attempts are given up soon."""
    chain = dice.choice(list(FAMILIES))
    _played(world, dice, lambda text: text.replace('guard = "1h"', 'guard = "1s"'), *FAMILIES)
