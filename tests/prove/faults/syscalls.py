"""System calls of the Signer: the process is killed at them, or they fail, one after the other.

A tracer counts the calls of each thread by itself, and says where it has struck: that is what is counted.
"""

import contextlib
import shutil
import time

from faults import row

#: The calls that write, flush or send, and the errors that each may end with.
_CALLS = {
    "pwrite64": ("EIO", "ENOSPC"), "fdatasync": ("EIO",), "fsync": ("EIO",), "ftruncate": ("EIO",),
    "sendto": ("ECONNRESET", "EPIPE"), "writev": ("ECONNRESET", "EPIPE"), "write": ("EIO", "ENOSPC"),
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


def _next(world, kinds):
    """The next call, place and error of the script: the n-th call of each kind, from the first to the last."""
    if not getattr(world, "script", None):
        world.script = [(call, n, error) for n in range(1, 60) for call, errors in _CALLS.items() for error in kinds(errors)]
    return world.script.pop(0)


def _play(world, dice, kinds, how):
    # Rows of several seeds play several parts of the script.
    if not getattr(world, "script", None):
        _next(world, kinds)
        for _ in range(dice.randrange(len(world.script))):
            world.script.append(world.script.pop(0))
    call, place, error = _next(world, kinds)
    with traced(world, f"{call}:{how.format(error)}:when={place}") as log:
        until = time.monotonic() + 6
        while time.monotonic() < until and not _strikes(log) and world.machine.signer.poll() is None:
            time.sleep(0.05)
        if error is None:
            world.machine.signer.wait(5) if _strikes(log) else None
        else:
            time.sleep(dice.uniform(0, 0.5))
    for _ in range(_strikes(log)):
        world.count()


@row(prepare=TRACED)
def killed_at_a_call(world, dice):
    """The Signer is killed at the n-th write, flush or send of a thread."""
    _play(world, dice, lambda _: (None,), "signal=KILL")


@row(prepare=TRACED)
def failing_call(world, dice):
    """The n-th write, flush or send of a thread fails: EIO, ENOSPC, ECONNRESET, EPIPE."""
    _play(world, dice, lambda errors: errors, "error={}")
