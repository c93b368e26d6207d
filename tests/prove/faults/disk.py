"""The disk of the journal: full, closed to writers, slow."""

import os
import shutil
import subprocess
import time

from faults import row
from faults.syscalls import TRACED, traced


def _disk_of_its_own(world):
    """A small disk for each machine's journal."""
    if os.geteuid() != 0:
        raise RuntimeError("a disk of its own needs root")
    for machine in world.machines:
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64m", "prove", machine.disk], check=True)
        world.at_end.append(lambda disk=machine.disk: subprocess.run(["umount", "--lazy", disk], check=True))


@row(journals=("file",), prepare=_disk_of_its_own)
def disk_full(world, dice):
    """The disk of the journal fills up to the last byte, or to less than `min_free`, and is emptied again."""
    machine = world.machine
    ballast = machine.disk / "ballast"
    time.sleep(dice.uniform(0, 0.4))
    spare = dice.choice([0, 8192, 500_000])
    with ballast.open("wb", buffering=0) as file:
        try:
            while shutil.disk_usage(machine.disk).free > spare:
                file.write(bytes(min(1 << 16, max(4096, shutil.disk_usage(machine.disk).free - spare))))
        except OSError:
            pass
    world.count()
    time.sleep(dice.uniform(0.2, 2))
    if dice.random() < 0.3:
        machine.kill()
        machine.start()
        time.sleep(dice.uniform(0, 0.5))
    ballast.unlink()


@row(journals=("file",), prepare=_disk_of_its_own)
def read_only(world, dice):
    """The disk of the journal takes no writer at a start, and takes one again."""
    machine = world.machine
    time.sleep(dice.uniform(0, 0.4))
    machine.kill()
    subprocess.run(["mount", "-o", "remount,ro", machine.disk], check=True)
    world.count()
    machine.start()
    time.sleep(dice.uniform(0.3, 1))
    machine.kill()
    subprocess.run(["mount", "-o", "remount,rw", machine.disk], check=True)
    machine.start()


@row(journals=("file",), prepare=TRACED)
def slow_flush(world, dice):
    """Every flush of the journal takes up to a second, for some seconds."""
    with traced(world, f"fdatasync,fsync:delay_enter={dice.randrange(50, 1000)}ms") as log:
        time.sleep(dice.uniform(2, 4))
    for _ in range(log.read_text(errors="replace").count("(DELAYED)") // 10 or 1):
        world.count()
