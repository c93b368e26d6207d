"""The journal in a file: older copies of it, with and without its mark, and damage."""

import os
import re
import shutil
import time

import curve
from contracts import FAMILIES, spelled
from faults import row


def _files(machine):
    return [machine.journal.with_name(machine.journal.name + suffix) for suffix in ("", "-wal", "-shm")]


def _backup(world):
    copy = world.room / "old.sqlite"
    copy.unlink(missing_ok=True)
    # The Signer may have ended just now, and a backup needs none.
    world.machine.must("backup", copy)
    return copy


def _put_back(machine, copy):
    for path in _files(machine):
        path.unlink(missing_ok=True)
    shutil.copy(copy, machine.journal)


@row(journals=("file",))
def old_copy(world, dice):
    """The journal is replaced by a backup from before the newest charges, by the command `restore`."""
    machine, copy = world.machine, _backup(world)
    time.sleep(dice.uniform(0.1, 2))
    machine.kill()
    for path in _files(machine):
        path.unlink(missing_ok=True)
    machine.must("restore", copy)
    world.count()
    machine.start()


@row(journals=("file",))
def old_copy_by_hand(world, dice):
    """The journal is replaced by a backup, by hand, with the newer journal's mark beside it or none."""
    machine, copy = world.machine, _backup(world)
    time.sleep(dice.uniform(0.1, 2))
    machine.kill()
    _put_back(machine, copy)
    if dice.random() < 0.5:
        machine.mark.unlink(missing_ok=True)
    world.count()
    machine.start()


@row(journals=("file",))
def snapshot(world, dice):
    """Journal and mark are put back together, as a snapshot of the disk does, while the pools show what waits."""
    machine, room = world.machine, world.room / "snapshot"
    machine.kill()
    shutil.rmtree(room, ignore_errors=True)
    shutil.copytree(machine.disk, room)
    machine.start()
    time.sleep(dice.uniform(0.2, 3))
    machine.kill()
    for path in [*_files(machine), machine.mark]:
        path.unlink(missing_ok=True)
        if (room / path.name).exists():
            shutil.copy2(room / path.name, path)
    world.count()
    machine.start()


@row(journals=("file",))
def lost_commits(world, dice):
    """The newest commits are gone from the journal's log, as after a disk that lied about its flush."""
    machine = world.machine
    time.sleep(dice.uniform(0, 0.6))
    machine.kill()
    log = _files(machine)[1]
    if log.exists() and log.stat().st_size > 0:
        os.truncate(log, int(log.stat().st_size * dice.random()))
        world.count()
    machine.start()


@row(journals=("file",))
def damaged_file(world, dice):
    """The journal's file is cut or overwritten: the start refuses it, or the charge it has forgotten is learnt."""
    machine, whole = world.machine, world.room / "whole"
    machine.kill()
    shutil.rmtree(whole, ignore_errors=True)
    shutil.copytree(machine.disk, whole)
    size = machine.journal.stat().st_size
    if dice.random() < 0.5:
        os.truncate(machine.journal, int(size * dice.uniform(0.1, 0.9)))
    else:
        with machine.journal.open("r+b") as file:
            file.seek(dice.randrange(size - 4096))
            file.write(dice.randbytes(4096))
    world.count()
    machine.start(supervised=False)
    _wait_for_its_end(machine, 3)
    machine.kill()
    for path in [*_files(machine), machine.mark]:
        path.unlink(missing_ok=True)
        if (whole / path.name).exists():
            shutil.copy2(whole / path.name, path)
    machine.start()


def _wait_for_its_end(machine, patience_s):
    until = time.monotonic() + patience_s
    while machine.signer.poll() is None and time.monotonic() < until:
        time.sleep(0.05)


def _another_key(world):
    """A second account on each chain, with coins, whose key the Signer does not use yet."""
    for machine in world.machines:
        secret = curve.key("second biller")
        (machine.room / "second.key").write_text(f"{secret:064x}\n")
        (machine.room / "second.key").chmod(0o600)
    for chain in FAMILIES:
        # Each time is enough for some batches.
        for _ in range(12):
            world.control("fund", chainId=chain, wallet=spelled(chain, curve.address(curve.key("second biller"))))


def _use(machine, second):
    """Writes the configuration that signs with one of the two keys, and ends what the other has open."""

    def keys(line):
        first, other = line[1], f'"file:{machine.room / "second.key"}"'
        new, old = (other, first) if second else (first, other)
        return f"key = {new}\nretired_keys = [{old}]\n"

    machine.write(re.sub(r'^key = ("file:.*")\n', keys, machine.world.text, flags=re.M))


@row(prepare=_another_key)
def key_changed(world, dice):
    """Another account signs from the next start on, and the one before ends what it has open."""
    machine = world.machine
    time.sleep(dice.uniform(0, 0.5))
    machine.kill()
    machine.second = not machine.second
    _use(machine, machine.second)
    world.count()
    machine.start()


@row(journals=("file",), prepare=_another_key)
def copy_from_before_a_key_change(world, dice):
    """The key is changed, and then the journal is replaced by a backup from before the change."""
    copy = _backup(world)
    key_changed(world, dice)
    time.sleep(dice.uniform(0.1, 2))
    machine = world.machine
    machine.kill()
    _put_back(machine, copy)
    if dice.random() < 0.5:
        machine.mark.unlink(missing_ok=True)
    world.count()
    machine.start()
