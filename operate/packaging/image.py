#!/usr/bin/env python3
"""Writes an OCI image of one program as a tar that depends on its contents alone:

    operate/packaging/image.py x86_64|aarch64 PROGRAM CERTIFICATES TO.tar [LIBRARY...]

No registry and no daemon is asked. `skopeo copy oci-archive:TO.tar docker://…` puts it into a registry. A program that
is not static brings the libraries it loads, each to the path where it is now.
"""

import gzip, hashlib, io, json, os, sys, tarfile
from datetime import datetime, timezone

NOBODY = 65532
EPOCH = int(os.environ["SOURCE_DATE_EPOCH"])
CREATED = datetime.fromtimestamp(EPOCH, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
OCI = "application/vnd.oci.image."


def tar(entries):
    """A tar of (path, contents or None for a folder, mode, owner) in their order."""
    to = io.BytesIO()
    with tarfile.open(fileobj=to, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for path, contents, mode, owner in entries:
            entry = tarfile.TarInfo(path)
            entry.type = tarfile.DIRTYPE if contents is None else tarfile.REGTYPE
            entry.mode, entry.uid, entry.gid, entry.mtime = mode, owner, owner, EPOCH
            entry.size = len(contents or b"")
            archive.addfile(entry, io.BytesIO(contents or b""))
    return to.getvalue()


def read(path):
    with open(path, "rb") as file:
        return file.read()


def with_parents(files):
    """Root's files, each after the folders that it is in."""
    folders = {part for path in files for part in parents(path)}
    every = {folder: (folder, None, 0o755, 0) for folder in folders}
    every |= {path: (path, contents, mode, 0) for path, (contents, mode) in files.items()}
    return [every[path] for path in sorted(every)]


def parents(path):
    parts = path.split("/")[:-1]
    return ["/".join(parts[: count + 1]) for count in range(len(parts))]


def main(architecture, program, certificates, to, *libraries):
    files = {"merchant-signer": (read(program), 0o755)}
    files["etc/ssl/certs/ca-certificates.crt"] = (read(certificates), 0o644)
    files |= {path.lstrip("/"): (read(path), 0o755) for path in libraries}
    layer = tar([*with_parents(files), ("data", None, 0o700, NOBODY)])
    packed = gzip.compress(layer, 6, mtime=0)

    blobs = {}

    def blob(kind, contents):
        digest = hashlib.sha256(contents).hexdigest()
        blobs[f"blobs/sha256/{digest}"] = (contents, 0o644)
        return {"mediaType": OCI + kind, "digest": f"sha256:{digest}", "size": len(contents)}

    def described(kind, value):
        return blob(kind, json.dumps(value, sort_keys=True, separators=(",", ":")).encode())

    config = described("config.v1+json", {
        "created": CREATED,
        "architecture": {"x86_64": "amd64", "aarch64": "arm64"}[architecture],
        "os": "linux",
        "config": {
            "User": f"{NOBODY}:{NOBODY}",
            "Env": ["SIGNER__HTTP__LISTEN=0.0.0.0:9980"],
            "Entrypoint": ["/merchant-signer", "--config", "/etc/signer/signer.toml"],
            "WorkingDir": "/",
            "ExposedPorts": {"9980/tcp": {}},
            "Volumes": {"/data": {}},
        },
        "rootfs": {"type": "layers", "diff_ids": ["sha256:" + hashlib.sha256(layer).hexdigest()]},
        "history": [{"created": CREATED, "created_by": "operate/packaging/image.py"}],
    })
    layers = [blob("layer.v1.tar+gzip", packed)]
    manifest = described("manifest.v1+json", {
        "schemaVersion": 2, "mediaType": OCI + "manifest.v1+json", "config": config, "layers": layers,
    })
    manifest["annotations"] = {"org.opencontainers.image.ref.name": "merchant-signer"}
    index = {"schemaVersion": 2, "mediaType": OCI + "index.v1+json", "manifests": [manifest]}
    layout = {
        "oci-layout": (b'{"imageLayoutVersion":"1.0.0"}', 0o644),
        "index.json": (json.dumps(index, sort_keys=True).encode(), 0o644),
    }
    with open(to, "wb") as file:
        file.write(tar(with_parents(layout | blobs)))


main(*sys.argv[1:])
