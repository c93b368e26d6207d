"""The PostgreSQL server of the journal, the lines to it, and the Signers that stand by."""

import signal
import time

from faults import row

_ONLY = ("server",)


@row(journals=_ONLY)
def server_killed(world, dice):
    """The server and all its sessions are killed, and it is started again."""
    time.sleep(dice.uniform(0, 0.6))
    world.journal.server.kill()
    world.count()
    world.journal.server.start()


@row(journals=_ONLY)
def server_restarted(world, dice):
    """The server is stopped, at once or after its transactions, and is away for up to two seconds."""
    time.sleep(dice.uniform(0, 0.6))
    world.journal.server.stop(dice.choice(["fast", "immediate"]))
    world.count()
    time.sleep(dice.uniform(0, 2))
    world.journal.server.start()


@row(journals=_ONLY)
def server_and_signer_killed(world, dice):
    """The server and the Signer are killed together."""
    machine = world.machine
    time.sleep(dice.uniform(0, 0.6))
    world.journal.server.kill()
    machine.kill()
    world.count()
    world.journal.server.start()
    machine.start()


@row(journals=_ONLY)
def line_cut(world, dice):
    """The line to the server breaks, and carries nothing for up to two seconds."""
    line = world.journal.line(world.machine)
    time.sleep(dice.uniform(0, 0.6))
    line.cut = True
    line.hang_up()
    world.count()
    time.sleep(dice.uniform(0, 2))
    line.cut = False


@row(journals=_ONLY)
def line_swallows(world, dice):
    """The line to the server swallows everything for up to four seconds: answers of COMMIT among it."""
    line = world.journal.line(world.machine)
    time.sleep(dice.uniform(0, 0.6))
    line.swallows = True
    world.count()
    time.sleep(dice.uniform(0.2, 4))
    if dice.random() < 0.5:
        line.hang_up()
    line.swallows = False


@row(journals=_ONLY)
def sessions_ended(world, dice):
    """The administrator ends the Signer's sessions, or cancels what they run."""
    time.sleep(dice.uniform(0, 0.6))
    how = dice.choice(["pg_terminate_backend", "pg_cancel_backend"])
    for _ in range(dice.randint(1, 4)):
        ended = world.journal.server.run(f"SELECT {how}(pid) FROM pg_stat_activity WHERE usename = 'signer'")
        for _ in range(len(ended)):
            world.count()
        time.sleep(dice.uniform(0, 0.2))


def _settings(world, dice, setting):
    server = world.journal.server
    server.run(f"ALTER ROLE signer SET {setting}")
    server.run("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'signer'")
    world.count()
    time.sleep(dice.uniform(0.5, 3))
    server.run("ALTER ROLE signer RESET ALL")
    server.run("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'signer'")


@row(journals=_ONLY)
def timeouts(world, dice):
    """The server ends statements, waits for locks or idle transactions after a few milliseconds, for some seconds."""
    _settings(world, dice, dice.choice([
        "statement_timeout = '3ms'", "statement_timeout = '15ms'", "lock_timeout = '1ms'",
        "idle_in_transaction_session_timeout = '1ms'", "idle_session_timeout = '50ms'",
    ]))


@row(journals=_ONLY)
def server_read_only(world, dice):
    """The server takes no writes for some seconds."""
    _settings(world, dice, "default_transaction_read_only = on")


@row(journals=_ONLY)
def failover_without_the_last_commits(world, dice):
    """The server is lost, and a replica that lacks the last commits takes its place."""
    world.journal.server.copy()
    time.sleep(dice.uniform(0.5, 4))
    world.journal.server.fail_over()
    world.count()


# --- two machines


@row(journals=_ONLY, machines=2)
def takeover_killed(world, dice):
    """The one of two Signers that serves is killed; the other takes over."""
    machine = world.machine
    time.sleep(dice.uniform(0, 0.6))
    machine.kill()
    world.count()
    _other_serves(world, machine)
    machine.start()


@row(journals=_ONLY, machines=2)
def takeover_frozen(world, dice):
    """The one of two Signers that serves stands still until the other has taken over, and wakes."""
    machine = world.machine
    time.sleep(dice.uniform(0, 0.6))
    machine.signal_all(signal.SIGSTOP)
    world.count()
    _other_serves(world, machine)
    time.sleep(dice.uniform(0, 1))
    machine.signal_all(signal.SIGCONT)


@row(journals=_ONLY, machines=2)
def takeover_cut_off(world, dice):
    """The one of two Signers that serves is cut off from the server, and reaches it again when the other serves."""
    machine = world.machine
    line = world.journal.line(machine)
    time.sleep(dice.uniform(0, 0.6))
    if dice.random() < 0.5:
        line.swallows = True
    else:
        line.cut = True
        line.hang_up()
    world.count()
    _other_serves(world, machine)
    if dice.random() < 0.5:
        line.hang_up()
    line.swallows = line.cut = False


@row(journals=_ONLY, machines=2)
def takeover_after_the_server(world, dice):
    """The server is killed with the one of two Signers that serves."""
    machine = world.machine
    time.sleep(dice.uniform(0, 0.6))
    world.journal.server.kill()
    machine.kill()
    world.count()
    world.journal.server.start()
    if dice.random() < 0.5:
        _other_serves(world, machine)
    machine.start()


def _other_serves(world, machine, patience_s=15):
    """Waits until another machine than this one serves."""
    until = time.monotonic() + patience_s
    while time.monotonic() < until:
        if any(other.ready()[0] for other in world.machines if other is not machine):
            return
        time.sleep(0.1)
