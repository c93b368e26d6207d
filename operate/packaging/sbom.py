#!/usr/bin/env python3
"""Writes the CycloneDX bill of materials of a program, from the list of crates that cargo-auditable put into it:

    cargo metadata --format-version 1 --locked | operate/packaging/sbom.py PROGRAM TO.cdx.json

What the program does not say, the licence and the digest of each crate, is taken from cargo and from Cargo.lock.
"""

import hashlib, json, os, struct, sys, tomllib, uuid, zlib
from datetime import datetime, timezone
from pathlib import Path

TREE = Path(__file__).resolve().parents[2]


def section(program, wanted):
    """The contents of a section of a 64-bit little-endian ELF file."""
    (table,) = struct.unpack_from("<Q", program, 0x28)
    size, count, names = struct.unpack_from("<HHH", program, 0x3A)
    heads = [struct.unpack_from("<IIQQQQ", program, table + size * at) for at in range(count)]
    offset_of_names = heads[names][4]
    for name, _, _, _, offset, length in heads:
        at = offset_of_names + name
        if program[at : program.index(b"\0", at)].decode() == wanted:
            return program[offset : offset + length]
    sys.exit(f"{sys.argv[1]}: has no section {wanted}; cargo auditable did not build it")


def component(crate, licences, digests):
    name, version = crate["name"], crate["version"]
    whole = f"{name}@{version}"
    found = {"type": "library", "bom-ref": whole, "name": name, "version": version}
    # A crate of this tree is in no registry, and must not be looked for there.
    if crate["source"] != "local":
        found["purl"] = f"pkg:cargo/{whole}"
    if licence := licences.get((name, version)):
        found["licenses"] = [{"expression": licence.replace("/", " OR ")}]
    if digest := digests.get((name, version)):
        found["hashes"] = [{"alg": "SHA-256", "content": digest}]
    built = crate.get("kind") == "build"
    return found | {"scope": "excluded" if built else "required"}


def main(path, to):
    program = Path(path).read_bytes()
    crates = json.loads(zlib.decompress(section(program, ".dep-v0")))["packages"]
    lock = tomllib.loads((TREE / "Cargo.lock").read_text())["package"]
    digests = {(one["name"], one["version"]): one.get("checksum") for one in lock}
    licences = {(one["name"], one["version"]): one["license"] for one in json.load(sys.stdin)["packages"]}
    components = [component(crate, licences, digests) for crate in crates]
    (root,) = (part for part, crate in zip(components, crates) if crate.get("root"))
    digest = hashlib.sha256(program).hexdigest()
    main_part = root | {"type": "application", "hashes": [{"alg": "SHA-256", "content": digest}]}
    del main_part["scope"]
    made = datetime.fromtimestamp(int(os.environ["SOURCE_DATE_EPOCH"]), timezone.utc)
    bill = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_OID, digest)}",
        "version": 1,
        "metadata": {"timestamp": made.strftime("%Y-%m-%dT%H:%M:%SZ"), "component": main_part},
        "components": [part for part in components if part is not root],
        "dependencies": [
            {"ref": part["bom-ref"], "dependsOn": [components[at]["bom-ref"] for at in crate.get("dependencies", [])]}
            for part, crate in zip(components, crates)
        ],
    }
    Path(to).write_text(json.dumps(bill, indent=1, sort_keys=True) + "\n")


main(*sys.argv[1:])
