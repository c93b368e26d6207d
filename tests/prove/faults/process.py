"""The Signer's own process, and the one that holds its keys."""

import os
import signal
import socket
import time

from faults import row
from machine import OPERATOR


@row()
def kill(world, dice):
    """The Signer is killed at random, and started again."""
    machine = world.machine
    time.sleep(dice.uniform(0, 0.6))
    machine.kill(signal.SIGKILL)
    world.count()
    machine.start()


@row()
def kill_while_starting(world, dice):
    """The Signer is killed, and killed again while it starts."""
    machine = world.machine
    time.sleep(dice.uniform(0, 0.3))
    for _ in range(dice.randint(1, 3)):
        machine.kill(signal.SIGKILL)
        world.count()
        machine.start()
        time.sleep(dice.uniform(0, 0.5))
    machine.kill(signal.SIGKILL)
    machine.start()


@row()
def restart(world, dice):
    """The Signer is asked to end, and started again."""
    machine = world.machine
    time.sleep(dice.uniform(0, 0.6))
    machine.kill(signal.SIGTERM)
    world.count()
    machine.start()


@row()
def freeze(world, dice):
    """The Signer stands still for up to three seconds, and wakes."""
    signer = world.machine.signer
    time.sleep(dice.uniform(0, 0.4))
    signer.send_signal(signal.SIGSTOP)
    world.count()
    time.sleep(dice.uniform(0.2, 3))
    signer.send_signal(signal.SIGCONT)


@row()
def keys_killed(world, dice):
    """The process that holds the keys is killed."""
    time.sleep(dice.uniform(0, 0.6))
    for child in world.machine.children():
        os.kill(child, signal.SIGKILL)
        world.count()


def _bind(world):
    """The supervisor listens, and hands its socket to each Signer in turn."""
    machine = world.machine
    listener = socket.create_server(("127.0.0.1", machine.port), backlog=1024)
    world.at_end.append(listener.close)
    machine.descriptors = (listener.fileno(),)
    handed = f'exec 3<&{listener.fileno()}; export LISTEN_FDS=1 LISTEN_PID=$$; exec "$@"'
    machine.wrap = ["bash", "-c", handed, "bash"]


@row(prepare=_bind)
def handed_over(world, dice):
    """The Signer is asked to end under load, and the next one gets its socket: no caller is refused a connection."""
    restart(world, dice)


def _fake(world):
    """The Signer's clock follows a file. It is one process, because the one that holds keys reads no file."""
    library = "/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1"
    if not os.path.exists(library):
        raise RuntimeError("there is no libfaketime: apt-get install libfaketime")
    world.text = world.text.replace("[http]", "[keys]\nsplit = false\n\n[http]", 1)
    world.offset = world.room / "offset"
    world.offset.write_text("+0")
    for machine in world.machines:
        machine.environment = {
            "LD_PRELOAD": library, "FAKETIME_TIMESTAMP_FILE": str(world.offset), "FAKETIME_NO_CACHE": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1", "FAKETIME_DISABLE_SHM": "1",
        }


@row(prepare=_fake)
def clock_jumps(world, dice):
    """The clock jumps by seconds, minutes or a day, under a Signer that runs or before a start, and jumps back."""
    machine = world.machine
    offset = dice.choice(["+4", "-4", "+45", "-45", "+600", "-600", "+86400", "-86400"])
    restarts = dice.random() < 0.5
    if restarts:
        machine.kill(signal.SIGKILL)
    world.offset.write_text(offset)
    world.count()
    if restarts:
        machine.start()
    time.sleep(dice.uniform(0.2, 2))
    world.offset.write_text("+0")


@row()
def pause(world, dice):
    """An operator pauses a chain or all, and resumes, while callers overlap and the Signer may be killed."""
    chain = dice.choice([139, 136, None])
    body = {"why": "a drill"} if chain is None else {"chainId": chain, "why": "a drill"}
    answer = world.ask("POST", "/PayTool/control/pause", body, caller=OPERATOR)
    if answer is not None and answer[0] == 200:
        world.count(*([] if chain is None else [chain]))
    time.sleep(dice.uniform(0.1, 1))
    if dice.random() < 0.3:
        world.machine.kill(signal.SIGKILL)
        world.machine.start()
    _resume(world)


def _resume(world):
    """Resumes everything that is paused, however long the Signer takes to answer."""
    while True:
        told = world.ask("GET", "/PayTool/control", caller=OPERATOR)
        if told is not None and told[0] == 200:
            chains = told[1]["data"]["chains"] if "chains" in told[1]["data"] else told[1]["data"]
            paused = {str(chain["chainId"]): chain["pausedSince"] for chain in chains if chain["pausedSince"]}
            if not paused:
                return
            world.ask("POST", "/PayTool/control/resume", {"pauses": paused}, caller=OPERATOR)
        time.sleep(0.2)
