"""System calls of the Signer: the process is killed at them, or they fail, one after the other.

A tracer counts the calls of each thread by itself, and says where it has struck: that is what is counted.
"""

import contextlib
import shutil
import time

from faults import row

#: The calls that write, flush or send, and the errors that each may end with.
_CALLS = {
    "pwrite64": ("EIO", "ENOSPC"), "fdatasync": ("EIO",), "sendto": ("ECONNRESET", "EPIPE"),
    "writev": ("ECONNRESET", "EPIPE"), "write": ("EIO", "ENOSPC"), "fsync": ("EIO",), "ftruncate": ("EIO",),
}


def TRACED(world):
    """There is a tracer."""
    if shutil.which("strace") is None:
        raise RuntimeError("there is no strace: apt-get install strace")


@contextlib.contextmanager
def traced(world, injection):
    """The Signer starts again under a tracer that injects, and after it without."""
    machine, log = world.machine, world.room / "strace"
    log.unlink(missing_ok=True)
    calls = injection.split(":")[0]
    machine.kill()
    machine.start(supervised=False, wrap=["strace", "-f", "-qq", "-o", log, "-e", f"trace={calls}", "-e", f"inject={injection}"])
    try:
        yield log
    finally:
        machine.kill()
        machine.start()


def _strikes(log):
    """The number of the tracer's strikes: errors it injected, and threads that it killed at a call."""
    told = log.read_text(errors="replace") if log.exists() else ""
    return told.count("(INJECTED)") + (1 if "+++ killed by SIGKILL" in told else 0)


class Script:
    """Every call of each kind, one after the other: until a thread makes so many no more."""

    def __init__(self, kinds):
        self.kinds, self.place = [(call, error) for call, errors in _CALLS.items() for error in kinds(errors)], 1

    def go_on(self, dice, struck):
        if struck:
            self.place += dice.randint(1, 3)
        else:
            self.kinds, self.place = [*self.kinds[1:], self.kinds[0]], 1


def _play(world, dice, kinds, how):
    if not hasattr(world, "script"):
        world.script = Script(kinds)
    (call, error), place = world.script.kinds[0], world.script.place
    with traced(world, f"{call}:{how.format(error)}:when={place}") as log:
        until = time.monotonic() + 5
        while time.monotonic() < until and not _strikes(log) and world.machine.signer.poll() is None:
            time.sleep(0.05)
        # One that failed may go on for a while.
        time.sleep(0 if error is None else dice.uniform(0, 0.5))
    strikes = _strikes(log)
    if strikes:
        world.count(times=strikes)
    world.script.go_on(dice, strikes)


@row(prepare=TRACED)
def killed_at_a_call(world, dice):
    """The Signer is killed at the n-th write, flush or send of a thread."""
    _play(world, dice, lambda _: (None,), "signal=KILL")


@row(prepare=TRACED)
def failing_call(world, dice):
    """The n-th write, flush or send of a thread fails: EIO, ENOSPC, ECONNRESET, EPIPE."""
    _play(world, dice, lambda errors: errors, "error={}")
