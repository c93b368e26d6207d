"""The journals that a world's Signers may have: a file, or a PostgreSQL server."""

import json
import re
import shutil
import sys

from background import Line
from postgres import NATIVE, Server

_SECTION = re.compile(r"\[journal\]\n(?:.+\n)*")


class FileJournal:
    """A file beside each Signer; so there is one Signer."""

    name = "file"

    def __init__(self, world):
        self.world = world

    def configure(self, text, machine):
        return _SECTION.sub(f'[journal]\npath = "{machine.journal}"\nmin_free = "1MiB"\n', text)

    def make(self, machine):
        machine.must("init")

    def questions(self, machine):
        """Stops the Signer, and asks its journal: the faults of the audit, a backup that is restored, and a move to a server."""
        copy = self.world.room / "backup.sqlite"
        copy.unlink(missing_ok=True)
        unkept = fault(machine.run("backup", copy))
        machine.kill()
        audit, room = fault(machine.run("audit")), machine.beside("restored")
        copies = [_copy("backup", room, unkept) if unkept else _copy("restore", room, fault(room.run("restore", copy)))]
        if NATIVE.exists():
            copies.append(self._moved(machine))
        else:
            print("the journal is not moved to a server: `./test --only node_packages` brings one", file=sys.stderr)
        return audit, copies

    def _moved(self, machine):
        """Moves the journal to a server of its own."""
        room, journal = machine.beside("moved"), ServerJournal(self.world)
        try:
            room.config.write_text(journal.configure(room.config.read_text(), room))
            moved = machine.run("journal", "copy", "--to", room.config, "--owner-url-file", journal.owner(room))
            return _copy("journal copy", room, fault(moved) or fault(room.run("audit")))
        finally:
            journal.close()

    def close(self):
        pass


class ServerJournal:
    """A server of the world's own, which several Signers may share."""

    name = "server"

    def __init__(self, world):
        self.world, self.server = world, Server(world.log)
        self.server.run("CREATE ROLE signer LOGIN")
        self.lines = {}
        #: Seconds until the one that serves is taken for gone, and until an answer is taken for lost.
        self.takeover_s, self.timeout_s = 3, 2

    def line(self, machine):
        """The machine's own line to the server, which can be cut."""
        if machine.name not in self.lines:
            self.lines[machine.name] = Line(self.server.port)
        return self.lines[machine.name]

    def configure(self, text, machine):
        url = f"postgresql://signer@127.0.0.1:{self.line(machine).port}/postgres"
        return _SECTION.sub(
            f'[journal]\nurl = "{url}"\nmark_path = "{machine.mark}"\n'
            f'instance = "{machine.name}"\ntakeover_after = "{self.takeover_s}s"\ntimeout = "{self.timeout_s}s"\n'
            'min_free = "1MiB"\n',
            text,
        )

    def make(self, machine):
        if machine is self.world.machines[0]:
            machine.must("init", "--owner-url-file", self.owner(machine))

    def owner(self, machine):
        """The file with the URL of the administrator."""
        owner = machine.room / "owner"
        owner.write_text(f"postgresql://postgres@127.0.0.1:{self.server.port}/postgres")
        owner.chmod(0o600)
        return owner

    def questions(self, machine):
        """Stops the Signers, and asks the journal: its audit after a migration that has nothing to do, and a move to a file."""
        for one in self.world.machines:
            one.kill()
        migrated = machine.run("journal", "migrate", "--owner-url-file", self.owner(machine))
        audit, room = fault(migrated) or fault(machine.run("audit")), machine.beside("moved")
        room.config.write_text(FileJournal(self.world).configure(room.config.read_text(), room))
        return audit, [_copy("journal copy", room, fault(machine.run("journal", "copy", "--to", room.config)))]

    def close(self):
        for line in self.lines.values():
            line.close()
        self.server.close()


JOURNALS = {one.name: one for one in (FileJournal, ServerJournal)}


def fault(ended):
    """The words of a command that failed; empty where it did not."""
    return "" if ended.returncode == 0 else f"{ended.args[3:]}: {ended.stderr or ended.stdout}"


def _copy(made_by, room, problem):
    """What the judge hears of a copy: what made it, why it could not, and its ledger. The copy is gone then."""
    exported = None if problem else ledger(room.run("export", "--format", "jsonl"))
    shutil.rmtree(room.room, ignore_errors=True)
    return made_by, problem, exported


def ledger(exported):
    """The charged rows of an export."""
    if exported.returncode != 0:
        raise RuntimeError(f"export: {exported.stderr}")
    return charged(map(json.loads, exported.stdout.splitlines()))


def charged(rows):
    """Of rows of the ledger those that were charged, in one order."""
    return sorted(
        (
            {"chain": row["chainId"], "subscription": int(row["subscribeId"]), "period": int(row["period"]),
             "amount": int(row["amount"])}
            for row in rows
            if row["state"] == "charged"
        ),
        key=lambda row: tuple(row.values()),
    )
