"""`./prove`: plays faults on the real programs, and judges what came of them. `--help` tells the options."""

import argparse
import json
import multiprocessing
import os
import platform
import re
import signal
import subprocess
import sys
import traceback
from functools import partial
from pathlib import Path

import closing
import planted
import real
import report
import row
import soak
from contracts import CONTRACTS
from faults import ROWS
from journals import JOURNALS
from judge import LAWS

ROOT = Path(__file__).resolve().parents[2]


def main():
    options = parse()
    begin()
    if options.report:
        options.report.write_text(report.page(report.read(options.results or [])))
        return 0
    if real.named() and (options.soak or options.planted is not None or set(options.only or []) - set(real.ROWS)):
        sys.exit(f"on the chains of REAL_EVM and REAL_TRON only these rows are played: {', '.join(real.ROWS)}")
    if options.planted is not None:
        return plant(options)
    if options.soak:
        breaches = soak.play(options.programs or built(), options.soak, options.keep)
        print(*breaches, sep="\n", file=sys.stderr)
        return 1 if breaches else 0
    if real.named():
        options.only = options.only or real.ROWS
    programs, plays = options.programs or built(), chosen(options)
    at_once = min(options.at_once, len(plays))
    share, failed = options.minutes * at_once / len(plays), False
    asked = {"seed": options.seed, "programs": programs, "minutes": share, "contract": options.contract, "keep": options.keep}
    print(report.HEAD, flush=True)
    # A row has a process of its own, so that nothing is left of it; a fork would lack the thread of background.py.
    with multiprocessing.get_context("spawn").Pool(at_once, begin, maxtasksperchild=1) as pool:
        for name, journal, result, trace in pool.imap_unordered(partial(play, asked), plays):
            if trace:
                failed = True
                print(f"  {name}, {journal}, seed {options.seed}: the row itself failed\n{trace}", file=sys.stderr, flush=True)
                continue
            result |= {"commit": options.commit or commit(), "machine": machine(), "programs": programs.name}
            for line in report.lines([result]):
                print(line, flush=True)
            for law, _, evidence in result["convictions"]:
                failed = True
                print(f"  {name}, {journal}, seed {options.seed}: {LAWS[law]}: {evidence}", file=sys.stderr, flush=True)
            record(options, result)
    return 1 if failed else 0


def begin():
    """What each process begins with, this one and those of the rows."""
    def end(*_):
        # Whoever ends it ends what it has started, however often it is told.
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        sys.exit(143)

    signal.signal(signal.SIGTERM, end)
    if real.named():
        # Time is not to be moved on there.
        closing.PATIENCE_S = row.MONTH_S = real.FINAL_S


def play(asked, which):
    """Plays a row. Returns its names with the result, or with the trace of an error of its own."""
    name, journal = which
    try:
        return name, journal, row.play(name, journal, **asked), ""
    except (Exception, SystemExit):
        # A process that ended without an answer would be waited for.
        return name, journal, None, traceback.format_exc()


def plant(options):
    """Plays the planted faults, and tells which survive."""
    tree, names = options.tree or ROOT / "target" / "planted", options.planted
    there = {fault.name: fault for fault in planted.known()}
    faults = [there[name] for name in names or there]
    programs = options.programs or planted.build(tree)
    survivors = 0
    for fault in faults:
        result = planted.judge(fault, programs, options.seed, options.minutes / len(faults), options.journal or "file")
        result |= {"commit": options.commit or commit(), "machine": machine()}
        survivors += not result["by"]
        print(f"{fault.name}: {result['by'] or 'SURVIVED'} {result['law']}", flush=True)
        record(options, result)
    return 1 if survivors else 0


def record(options, result):
    """Adds a result to the files of results."""
    for results in options.results or []:
        with results.open("a") as file:
            file.write(json.dumps(result) + "\n")


def parse():
    parser = argparse.ArgumentParser(prog="./prove", description="Plays faults on the real programs, and judges them.")
    parser.add_argument("--minutes", type=float, default=30, help="for all rows together (30)")
    parser.add_argument("--seed", type=int, default=1, help="of the misfortunes (1)")
    parser.add_argument("--at-once", type=int, default=1, metavar="ROWS", help="rows that are played beside each other; they mostly wait (1)")
    parser.add_argument("--only", action="append", choices=list(ROWS), metavar="ROW", help="this row; may be given several times: " + ", ".join(ROWS))
    parser.add_argument("--journal", choices=list(JOURNALS), help="rows on this journal alone")
    parser.add_argument("--contract", choices=list(CONTRACTS), default="careless", help="the contract that is billed (careless)")
    parser.add_argument("--programs", type=Path, help="a directory with merchant-signer and sandbox; built as released if not given")
    parser.add_argument("--commit", help="the commit that --programs were built from, if it is another than the tree's")
    parser.add_argument("--results", type=Path, action="append", help="a file to which results are added as JSON lines; for --report, which are read, several times")
    parser.add_argument("--report", type=Path, help="writes the report from --results, such as docs/reliability.md, and plays nothing")
    parser.add_argument("--soak", type=float, metavar="MINUTES", help="instead, a steady load for so long, with a surge in the middle: memory, files and waits")
    parser.add_argument("--planted", nargs="*", metavar="FAULT", help="instead, the faults that are planted in a copy of the product, all or these")
    parser.add_argument("--tree", type=Path, help="where that copy is made and built; it may be built already (target/planted)")
    parser.add_argument("--keep", type=Path, help="a directory where the rooms of the rows stay: configurations, journals, logs")
    return parser.parse_args()


def chosen(options):
    """The rows to play, each with its journal."""
    journals = [options.journal] if options.journal else list(JOURNALS)
    rows = [
        (name, journal) for journal in journals for name in options.only or ROWS if journal in ROWS[name].journals
    ]
    return rows or sys.exit("no such row on that journal")


def built():
    """Builds the programs as they ship."""
    subprocess.run(
        ["cargo", "build", "--release", "--locked", "-p", "merchant-signer", "-p", "sandbox", "--bins"], cwd=ROOT, check=True
    )
    return ROOT / "target" / "release"


def commit():
    """The commit of the tree, with a mark where files differ from it."""
    told = subprocess.run(["git", "describe", "--always", "--abbrev=12", "--dirty=+"], cwd=ROOT, capture_output=True, text=True)
    return told.stdout.strip() or "unknown"


def machine():
    """The processor, and how many of them and how much memory there are."""
    name = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return f"{os.cpu_count()} x {name[1] if name else platform.machine()}, {memory:.0f} GiB, Linux {platform.release()}"


if __name__ == "__main__":
    sys.exit(main())
