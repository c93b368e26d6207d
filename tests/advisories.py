#!/usr/bin/env python3
"""What is known against the crates in Cargo.lock, by a dated copy of the advisories' database.

    tests/advisories.py refresh    fetches the database (OSV's export of RustSec) into tests/advisories.json
    tests/advisories.py            judges Cargo.lock by that copy: fails where it is older than 30 days, or where an
                                   advisory that deny.toml does not ignore is about a version in Cargo.lock

Exits with 3 where there is no copy.
"""

import datetime
import io
import json
import pathlib
import sys
import tomllib
import urllib.request
import zipfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
COPY = ROOT / "tests" / "advisories.json"
SOURCE = "https://osv-vulnerabilities.storage.googleapis.com/crates.io/all.zip"
OLDEST = datetime.timedelta(days=30)
MISSING = 3


def refresh():
    with urllib.request.urlopen(SOURCE, timeout=60) as answer:
        packed = zipfile.ZipFile(io.BytesIO(answer.read()))
    entries = [json.loads(packed.read(name)) for name in packed.namelist()]
    kept = [shortened(one) for one in entries if one["id"].startswith("RUSTSEC-") and "withdrawn" not in one]
    if len(kept) < 500:
        sys.exit(f"only {len(kept)} advisories: that is not the database")
    now = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d")
    kept.sort(key=lambda one: one["id"])
    COPY.write_text(json.dumps({"taken": now, "advisories": kept}, indent=0) + "\n")
    print(f"{len(kept)} advisories, taken on {now}")


def shortened(entry):
    """The crates that an advisory is about, and between which versions."""
    about = []
    for affected in entry.get("affected", []):
        for span in affected.get("ranges", []):
            if span["type"] == "SEMVER":
                about.append({"crate": affected["package"]["name"], "events": span["events"]})
    return {"id": entry["id"], "summary": entry.get("summary", ""), "about": about}


def order(version):
    """A key that orders versions as SemVer does."""
    core, _, before = version.partition("+")[0].partition("-")
    numbers = [int(part) for part in core.split(".")] + [0, 0]
    parts = [(0, int(part), "") if part.isdigit() else (1, 0, part) for part in before.split(".")] if before else []
    return numbers[:3], not before, parts


def concerns(events, version):
    """Whether a version lies after `introduced` and before `fixed`."""
    inside = False
    for event in sorted(events, key=lambda event: order(next(iter(event.values())))):
        at = order(next(iter(event.values())))
        if "introduced" in event and order(version) >= at:
            inside = True
        if "fixed" in event and order(version) >= at:
            inside = False
        if "last_affected" in event and order(version) > at:
            inside = False
    return inside


def check():
    if not COPY.exists():
        print(f"there is no copy of the advisories' database: {sys.argv[0]} refresh makes one")
        return MISSING
    copy = json.loads(COPY.read_text())
    taken = datetime.date.fromisoformat(copy["taken"])
    age = datetime.datetime.now(datetime.UTC).date() - taken
    faults = []
    if age > OLDEST:
        faults.append(f"the copy of {taken} is {age.days} days old: {sys.argv[0]} refresh makes a new one")
    ignored = {one["id"] for one in tomllib.loads((ROOT / "deny.toml").read_text())["advisories"]["ignore"]}
    lock = tomllib.loads((ROOT / "Cargo.lock").read_text())["package"]
    crates = [(one["name"], one["version"]) for one in lock if "source" in one]
    known = {}
    for advisory in copy["advisories"]:
        for about in advisory["about"]:
            known.setdefault(about["crate"], []).append((advisory, about["events"]))
    for name, version in crates:
        for advisory, events in known.get(name, []):
            if advisory["id"] not in ignored and concerns(events, version):
                faults.append(f"{name} {version}: {advisory['id']} {advisory['summary']}")
    print("\n".join(faults) or f"{len(crates)} crates, {len(copy['advisories'])} advisories of {taken}: nothing known")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(refresh() if sys.argv[1:] == ["refresh"] else check())
