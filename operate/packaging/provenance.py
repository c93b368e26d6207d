#!/usr/bin/env python3
"""Writes the provenance of a folder's artefacts, an in-toto statement in SLSA's terms:

    operate/packaging/provenance.py VERSION COMMIT PROFILE DIRECTORY >TO

It holds no time and no name of a machine, so that everybody who builds the commit gets the same one.
"""

import hashlib, json, os, subprocess, sys
from pathlib import Path

TREE = Path(__file__).resolve().parents[2]
# The files that choose what a build is made of: crates, compiler, packers and linker.
PACKAGING = ["operate/packaging/tools", "operate/packaging/requirements.txt", "operate/packaging/zig.txt"]
CHOICES = ["Cargo.lock", "rust-toolchain.toml", *PACKAGING]


def named(path, name):
    return {"name": name, "digest": {"sha256": hashlib.sha256(path.read_bytes()).hexdigest()}}


def main(version, commit, profile, directory):
    compiler = subprocess.run(["rustc", "-vV"], check=True, capture_output=True, text=True, cwd=TREE).stdout
    facts = dict(line.split(": ", 1) for line in compiler.splitlines() if ": " in line)
    choices = [named(TREE / name, name) for name in CHOICES]
    statement = {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [named(path, path.name) for path in sorted(Path(directory).iterdir())],
        "predicateType": "https://slsa.dev/provenance/v1",
        "predicate": {
            "buildDefinition": {
                "buildType": "urn:merchant-signer:release:1",
                "externalParameters": {"command": f"./release {version}", "profile": profile},
                "internalParameters": {"sourceDateEpoch": int(os.environ["SOURCE_DATE_EPOCH"])},
                "resolvedDependencies": [
                    {"name": "source", "digest": {"gitCommit": commit}},
                    {"name": f"rustc {facts['release']}", "digest": {"gitCommit": facts["commit-hash"]}},
                    *choices,
                ],
            },
            "runDetails": {"builder": {"id": os.environ.get("RELEASE_BUILDER", "urn:merchant-signer:owner")}},
        },
    }
    json.dump(statement, sys.stdout, indent=1, sort_keys=True)
    print()


main(*sys.argv[1:])
