"""`./prove`: plays faults on the real programs, and judges what came of them. `--help` tells the options."""

import argparse
import subprocess
import sys
import time
from pathlib import Path

from faults import ROWS
from judge import LAWS
from row import play

ROOT = Path(__file__).resolve().parents[2]


def main():
    options = parse()
    programs = options.programs or built()
    rows, failed = options.only or list(ROWS), False
    share = options.minutes * 60 / len(rows)
    print("| fault | injected | charged EVM | charged TRON | twice | lost | stuck | other laws | recovery, median s | 99 % s | seed |")
    print("| --- " * 11 + "|")
    for name in rows:
        row = play(name, options.seed, programs, time.monotonic() + share)
        others = [law for law in LAWS if law not in ("twice", "lost", "ends")]
        cells = [
            name, row.injected, row.charged[139], row.charged[136], row.count("twice"), row.count("lost"),
            row.count("ends"), row.count(*others), f"{row.percentile(0.5):.1f}", f"{row.percentile(0.99):.1f}", row.seed,
        ]
        print("| " + " | ".join(map(str, cells)) + " |", flush=True)
        for law, evidence in row.convictions:
            failed = True
            print(f"  {name}, seed {row.seed}: {LAWS[law]}: {evidence}", file=sys.stderr, flush=True)
    return 1 if failed else 0


def parse():
    parser = argparse.ArgumentParser(prog="./prove", description="Plays faults on the real programs, and judges them.")
    parser.add_argument("--minutes", type=float, default=30, help="for all rows together (30)")
    parser.add_argument("--seed", type=int, default=1, help="of the misfortunes (1)")
    parser.add_argument("--only", action="append", choices=list(ROWS), help="this row; may be given several times")
    parser.add_argument("--programs", type=Path, help="a directory with merchant-signer and sandbox; built as released if not given")
    return parser.parse_args()


def built():
    """Builds the programs as they ship."""
    subprocess.run(
        ["cargo", "build", "--release", "--locked", "-p", "merchant-signer", "-p", "sandbox", "--bins"], cwd=ROOT, check=True
    )
    return ROOT / "target" / "release"


if __name__ == "__main__":
    sys.exit(main())
