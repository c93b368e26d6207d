#!/usr/bin/env python3
"""Makes the packages for developers, byte for byte the same each time: build.py OUT [PLATFORM=SANDBOX …].

PLATFORM is linux-x64 or linux-arm64, SANDBOX the program for it; `linux-x64:linux=PATH` for one that is linked to this machine's
C library, which pip then takes on no other. Values that the owner alone knows stand in owner.json. Needs Python 3.9, and a JDK 17
for the jar.
"""

import base64
import gzip
import hashlib
import io
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
CLIENTS = HERE.parent
OWNER = json.loads((HERE / "owner.json").read_text("utf-8"))
VERSION = json.loads((CLIENTS / "node/package.json").read_text("utf-8"))["version"]
#: Each file bears this time: a zip knows none before 1980.
TIME = max(int(os.environ.get("SOURCE_DATE_EPOCH", 0)), 315_532_800)
LICENCES = {name: (CLIENTS.parent / name).read_bytes() for name in ("LICENSE-MIT", "LICENSE-APACHE")}
#: By platform: npm's words for it, and the tags of a wheel of a static program and of one that is linked to this machine's C library.
PLATFORMS = {"linux-x64": ("linux", "x64", "manylinux2014_x86_64.musllinux_1_1_x86_64", "linux_x86_64"), "linux-arm64": ("linux", "arm64", "manylinux2014_aarch64.musllinux_1_1_aarch64", "linux_aarch64")}


def read(path):
    return (CLIENTS / path).read_bytes()


def is_program(name):
    return name.endswith("merchant-sandbox") or name == "run.cjs"


def tgz(path, files):
    """An npm package."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, content in sorted(files.items()):
            one = tarfile.TarInfo(f"package/{name}")
            one.size, one.mtime, one.mode = len(content), TIME, 0o755 if is_program(name) else 0o644
            archive.addfile(one, io.BytesIO(content))
    path.write_bytes(gzip.compress(packed.getvalue(), 6, mtime=TIME))


def archive(path, files):
    """A wheel, a jar, or a zip for Composer."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, content in files.items():
            one = zipfile.ZipInfo(name, time.gmtime(TIME)[:6])
            one.compress_type, one.create_system = zipfile.ZIP_DEFLATED, 3
            one.external_attr = (0o100755 if is_program(name) else 0o100644) << 16
            packed.writestr(one, content)


def manifest(source, **more):
    """A package.json with the owner's values."""
    known = json.loads(read(source))
    known.update(author=OWNER["author"], homepage=OWNER["repository"], repository={"type": "git", "url": f"git+{OWNER['repository']}.git"}, **more)
    return json.dumps(known, indent=2, ensure_ascii=False).encode() + b"\n"


def common_js(source):
    """The module for `require`: its imports and exports in the other words, all else as it is."""
    text = re.sub(r"^import (\{.*?\}) from ('.*?');$", r"const \1 = require(\2);", source, flags=re.MULTILINE)
    names = re.findall(r"^export (?:async )?(?:const|function|class) (\w+)", text, flags=re.MULTILINE)
    text = re.sub(r"^export ", "", text, flags=re.MULTILINE)
    return f"'use strict';\n\n{text}\nmodule.exports = {{ {', '.join(names)} }};\n"


def npm(out, programs):
    code, types = read("node/merchant.mjs"), read("node/merchant.d.mts")
    files = {"merchant.mjs": code, "merchant.cjs": common_js(code.decode()).encode(), "merchant.d.mts": types, "merchant.d.cts": types}
    tgz(out / f"merchant-client-{VERSION}.tgz", {**files, **LICENCES, "README.md": read("node/README.md"), "package.json": manifest("node/package.json")})
    for platform, (program, _) in programs.items():
        system, processor = PLATFORMS[platform][:2]
        name = f"merchant-sandbox-{platform}"
        about = manifest("packages/npm/package.json", name=name, description=f"The program of merchant-sandbox for {platform}", os=[system], cpu=[processor])
        about = {word: value for word, value in json.loads(about).items() if word not in ("bin", "main", "types", "exports", "files", "engines")}
        files = {"merchant-sandbox": program.read_bytes(), "package.json": json.dumps(about, indent=2).encode() + b"\n"}
        tgz(out / f"{name}-{VERSION}.tgz", {**files, **LICENCES, "README.md": f"The program of merchant-sandbox for {platform}; install that.\n".encode()})
    if programs:
        files = {name: read(f"packages/npm/{name}") for name in ("run.cjs", "index.cjs", "index.d.ts", "README.md")}
        parts = {f"merchant-sandbox-{platform}": VERSION for platform in PLATFORMS}
        tgz(out / f"merchant-sandbox-{VERSION}.tgz", {**files, **LICENCES, "package.json": manifest("packages/npm/package.json", optionalDependencies=parts)})


def wheel(out, name, tag, files, about, extra=()):
    """A wheel, as the packaging specification has it."""
    module = name.replace("-", "_")
    info = f"{module}-{VERSION}.dist-info"
    head = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {VERSION}", f"Summary: {about['summary']}", f"Home-page: {OWNER['repository']}"]
    head += [f"Author: {OWNER['author']}", "License: MIT OR Apache-2.0", "Requires-Python: >=3.9", "Classifier: Typing :: Typed", *extra]
    head += [f"Project-URL: Source, {OWNER['repository']}", "Description-Content-Type: text/markdown", "", about["readme"].decode()]
    files = {**files, **{f"{info}/licenses/{file}": text for file, text in LICENCES.items()}, f"{info}/METADATA": "\n".join(head).encode()}
    pure = "true" if tag.endswith("-any") else "false"
    python_tag, abi, platforms = tag.split("-")
    tags = "".join(f"Tag: {python_tag}-{abi}-{platform}\n" for platform in platforms.split("."))
    files[f"{info}/WHEEL"] = f"Wheel-Version: 1.0\nGenerator: clients/packages\nRoot-Is-Purelib: {pure}\n{tags}".encode()
    if "entry" in about:
        files[f"{info}/entry_points.txt"] = about["entry"]
    rows = []
    for file, content in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        rows.append(f"{file},sha256={digest},{len(content)}")
    files[f"{info}/RECORD"] = "\n".join([*rows, f"{info}/RECORD,,", ""]).encode()
    archive(out / f"{module}-{VERSION}-{tag}.whl", files)


def python(out, programs):
    files = {f"merchant/{name}": read(f"python/merchant/{name}") for name in ("__init__.py", "__init__.pyi", "py.typed")}
    summary = re.search(r'^description = "(.*)"$', read("python/pyproject.toml").decode(), re.MULTILINE)[1]
    wheel(out, "merchant-client", "py3-none-any", files, {"summary": summary, "readme": read("python/README.md")})
    for platform, (program, is_static) in programs.items():
        names = ("__init__.py", "pytest_plugin.py", "py.typed")
        files = {f"merchant_sandbox/{name}": read(f"packages/pypi/merchant_sandbox/{name}") for name in names}
        files[f"merchant_sandbox-{VERSION}.data/scripts/merchant-sandbox"] = program.read_bytes()
        summary = json.loads(read("packages/npm/package.json"))["description"]
        entry = b"[pytest11]\nmerchant_sandbox = merchant_sandbox.pytest_plugin\n"
        about = {"summary": summary, "readme": read("packages/pypi/README.md"), "entry": entry}
        tag = PLATFORMS[platform][2 if is_static else 3]
        wheel(out, "merchant-sandbox", f"py3-none-{tag}", files, about, ["Classifier: Framework :: Pytest", "Classifier: Operating System :: POSIX :: Linux"])


def php(out):
    known = json.loads(read("php/composer.json"))
    known.update(name=f"{OWNER['packagistVendor']}/client", homepage=OWNER["repository"], authors=[{"name": OWNER["author"]}], support={"source": OWNER["repository"]})
    about = json.dumps(known, indent=4, ensure_ascii=False).replace("\\/", "/").encode() + b"\n"
    archive(out / f"merchant-client-php-{VERSION}.zip", {"merchant.php": read("php/merchant.php"), "composer.json": about, "README.md": read("php/README.md"), **LICENCES})


def java(out):
    """The jar, the jar of its sources, and the pom beside them, as Maven Central wants them."""
    name = f"merchant-client-{VERSION}"
    sources = sorted((CLIENTS / "java/src").rglob("*.java"))
    with tempfile.TemporaryDirectory() as made:
        subprocess.run(["javac", "--release", "17", "-g", "-Xlint:all", "-Werror", "-d", made, *map(str, sources)], check=True)
        classes = {str(file.relative_to(made)): file.read_bytes() for file in sorted(pathlib.Path(made).rglob("*.class"))}
    licences = {f"META-INF/{file}": text for file, text in LICENCES.items()}
    head = {"META-INF/MANIFEST.MF": b"Manifest-Version: 1.0\r\nAutomatic-Module-Name: merchant\r\n\r\n"}
    archive(out / f"{name}.jar", {**head, **classes, **licences})
    archive(out / f"{name}-sources.jar", {**head, **{str(file.relative_to(CLIENTS / "java/src")): file.read_bytes() for file in sources}, **licences})
    pom = read("java/pom.xml").decode().replace("https://git.example/signer", OWNER["repository"])
    pom = pom.replace("<groupId>example.signer<", f"<groupId>{OWNER['mavenGroup']}<").replace(">Signer maintainers<", f">{OWNER['author']}<")
    (out / f"{name}.pom").write_text(pom, "utf-8")


def main(target, *named):
    out = pathlib.Path(target)
    out.mkdir(parents=True, exist_ok=True)
    programs = {}
    for one in named:
        platform, path = one.split("=", 1)
        platform, _, linked = platform.partition(":")
        programs[platform] = (pathlib.Path(path), not linked)
    npm(out, programs)
    python(out, programs)
    php(out)
    if shutil.which("javac"):
        java(out)
    else:
        print("no jar: there is no javac")
    for file in sorted(out.iterdir()):
        print(f"{file.stat().st_size:>10} {file.name}")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main(*sys.argv[1:])
