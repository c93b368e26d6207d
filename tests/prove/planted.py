"""Faults planted in the product, and the rows that have to convict them.

Each patch of planted/ breaks one rule where `PLANTED` in the environment names it. All are applied to one copy of the
tree, which is built once; each fault is then played in the rows that its patch names, until one convicts it, and by the
simulator of that tree where none does.
"""

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import closing
import row
from faults import ROWS

ROOT = Path(__file__).resolve().parents[2]

#: The seeds that the simulator plays at once, and at most.
SEEDS, AT_MOST = 25, 300


@dataclass(frozen=True)
class Planted:
    """A fault, the sentence on it, the crate that it is in, and the rows that play it."""

    name: str
    words: str
    crate: str
    rows: list
    patch: Path


def known():
    """Every fault, in the order of names."""
    return [read(path) for path in sorted(Path(__file__).with_suffix("").glob("*.patch"))]


def read(path):
    words, rows, _, _, changed, *_ = path.read_text().splitlines()
    parts = changed.removeprefix("+++ b/").split("/")
    crate = parts[1] if parts[0] == "crates" else "merchant-signer"
    return Planted(path.stem, words, crate, rows.removeprefix("Rows: ").split(), path)


def build(tree):
    """Applies every patch to a copy of the tree as it is committed, and builds it. Returns the directory of the programs."""
    tree.mkdir(parents=True, exist_ok=True)
    for old in tree.iterdir():
        # What was built before is built on.
        if old.name != "target":
            shutil.rmtree(old) if old.is_dir() else old.unlink()
    archive = subprocess.run(["git", "archive", "HEAD"], cwd=ROOT, capture_output=True, check=True).stdout
    subprocess.run(["tar", "-x"], input=archive, cwd=tree, check=True)
    for fault in known():
        with fault.patch.open() as patch:
            done = subprocess.run(["patch", "-p1", "--no-backup-if-mismatch"], stdin=patch, cwd=tree, capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(f"{fault.name} does not fit the tree any more: {done.stdout}")
    target = tree / "target"
    # By itself: the simulator wants features of the crates that no program has.
    for packages in (["-p", "merchant-signer", "-p", "sandbox"], ["-p", "simulator"]):
        build = ["cargo", "build", "--locked", *packages, "--bins", "--target-dir", target]
        subprocess.run(build, cwd=tree, check=True)
    return target / "debug"


def judge(fault, programs, seed, minutes, journal):
    """Plays a fault until a row convicts it, or the simulator. Returns the result as JSON has it."""
    os.environ["PLANTED"] = fault.name
    # Of a broken product that is stuck nothing else is to be learnt.
    closing.PATIENCE_S, row.MONTH_S = 60, 120
    result = {"planted": fault.name, "words": fault.words, "crate": fault.crate, "by": "", "law": "", "seed": seed}
    try:
        for name in fault.rows:
            try:
                journals = ROWS[name].journals
                on = journal if journal in journals else journals[0]
                convictions = row.play(name, on, seed, programs, minutes)["convictions"]
            except Exception as broken:
                # A command or an answer that every row needs failed: the row ends before its verdict.
                convictions = [("ends", None, f"the row itself failed: {broken}")]
            # A few requests that were not judged within two minutes are no more than a busy machine.
            slow = sum(1 for _, _, evidence in convictions if evidence.startswith("no verdict"))
            if len(convictions) > slow or slow > 8:
                laws = sorted({law for law, _, _ in convictions})
                return result | {"by": f"{name}, seed {seed}", "law": ", ".join(laws), "evidence": convictions[0][2]}
        return result | simulated(programs / "simulator")
    finally:
        del os.environ["PLANTED"]


def simulated(simulator):
    """The simulator's conviction of the fault that the environment names, in its own words; empty where it has none."""
    for first in range(0, AT_MOST, SEEDS):
        played = os.environ | {"FROM": str(first), "SEEDS": str(SEEDS), "THREADS": str(os.cpu_count())}
        said = subprocess.run([simulator], env=played, capture_output=True, text=True, check=False).stdout
        broken = re.search(r"^SEED=(\d+) breaks a law: (.*)$", said, re.MULTILINE)
        if broken:
            return {"by": f"the simulator, seed {broken[1]}", "evidence": broken[2]}
    return {}
