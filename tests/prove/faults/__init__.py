"""The faults. Each function of a module here that `row` marks is a row of the report: `inject(world, dice)` brings one
fault about, counts it where it happens (`world.count`), and returns when the world goes on."""

from dataclasses import dataclass
from importlib import import_module


@dataclass(frozen=True)
class Fault:
    """A row: its function, and the world that it needs."""

    name: str
    family: str
    words: str
    inject: object
    #: The journals that it can befall, the number of Signers, and the preparation of a world before its first start.
    journals: tuple
    machines: int
    prepare: object


ROWS = {}


def row(journals=("file", "server"), machines=1, prepare=None):
    """Makes a function a row, named after it. Its first line of documentation tells what happens."""

    def take(inject):
        name, family = inject.__name__.replace("_", "-"), inject.__module__.rsplit(".", 1)[-1]
        words = inject.__doc__.splitlines()[0]
        ROWS[name] = Fault(name, family, words, inject, journals, machines, prepare)
        return inject

    return take


for module in ("process", "chain", "others", "journal", "settings", "disk", "syscalls", "server", "nodes"):
    import_module(f"faults.{module}")
