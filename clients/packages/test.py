#!/usr/bin/env python3
"""Makes the packages, installs each from its file into an empty directory, and has programs bill from there.

test.py SANDBOX RUST_PROGRAM. Says what was left out, and ends with the first thing that is wrong.
"""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
import venv
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
EXAMPLES = HERE.parents[1] / "examples"
#: A program that bills may take so long on a busy machine (s).
PATIENCE = 300


def run(*command, at, **more):
    done = subprocess.run(list(map(str, command)), cwd=at, capture_output=True, text=True, timeout=PATIENCE, **more)
    assert done.returncode == 0, f"{command}: {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout


def bills(what, *command, at):
    """The program sends one transaction, and verifies the callback about it."""
    began = time.monotonic()
    said = dict(line.split(" ", 1) for line in run(*command, at=at).splitlines() if line.startswith(("sent ", "verified ")))
    assert said["sent"].startswith("0x") and said["sent"] == said["verified"], f"{what}: {said}"
    print(f"{what:<8} billed one charge and verified one callback, {time.monotonic() - began:.1f} s")


def made(sandbox, at):
    """The packages, of a sandbox without what only a debugger reads."""
    program = at / "sandbox"
    shutil.copy(sandbox, program)
    if shutil.which("strip"):
        run("strip", program, at=at)
    machine = {"x86_64": "linux-x64", "aarch64": "linux-arm64"}[os.uname().machine]
    print(run(sys.executable, HERE / "build.py", "out", f"{machine}:linux={program}", at=at), end="")
    run(sys.executable, HERE / "build.py", "again", at=at)
    for file in (at / "again").iterdir():
        assert file.read_bytes() == (at / "out" / file.name).read_bytes(), f"{file.name} is another one each time"
    return at / "out"


def one(out, pattern):
    found = list(out.glob(pattern))
    assert len(found) == 1, f"{pattern}: {found}"
    return found[0]


def node(out, at):
    (at / "package.json").write_text('{"private": true}')
    run("npm", "install", "--offline", "--no-audit", "--no-fund", *sorted(out.glob("*.tgz")), at=at)
    shutil.copy(EXAMPLES / "bill/bill.mjs", at)
    bills("node", "npx", "merchant-sandbox", "--ci", "--", "node", "bill.mjs", at=at)
    both = "const { Signer } = require('merchant-client'); import('merchant-client').then((all) => { if (!Signer || !all.Signer) process.exit(1); })"
    run("node", "-e", both, at=at)
    began = time.monotonic()
    report = json.loads(run("npx", "merchant-sandbox", "--once", "--json", at=at))
    assert report["evm"]["code"] == report["tron"]["code"] == 1, report
    print(f"node     npx plays the demonstration on both chains, {time.monotonic() - began:.1f} s")
    ends_with_its_parent(at)


def ends_with_its_parent(at):
    """The shim is killed, and the program that it has started ends by itself."""
    child = subprocess.Popen(["node_modules/.bin/merchant-sandbox", "--ci"], cwd=at, stdout=subprocess.PIPE, text=True)
    url = json.loads(child.stdout.readline())["signerUrl"]
    child.send_signal(signal.SIGKILL)
    child.wait()
    began = time.monotonic()
    try:
        while time.monotonic() - began < PATIENCE:
            urllib.request.urlopen(f"{url}/health", timeout=5).close()
            time.sleep(0.1)
    except OSError:
        return
    raise AssertionError("the sandbox outlives its shim")


def python(out, at):
    venv.create(at / "venv", with_pip=True)
    inside = at / "venv/bin"
    run(inside / "pip", "install", "--quiet", "--no-index", *sorted(out.glob("*.whl")), at=at)
    shutil.copy(EXAMPLES / "bill/bill.py", at)
    bills("python", inside / "merchant-sandbox", "--ci", "--", inside / "python", "bill.py", at=at)
    tools = subprocess.run([inside / "pip", "install", "--quiet", "pytest==9.2.0", "mypy==2.4.1"], capture_output=True, text=True)
    if tools.returncode:
        print(f"python   no pytest and mypy: PyPI cannot be reached\n{tools.stderr[-300:]}")
        return
    suite(EXAMPLES / "shop-python", at / "shop", lambda where: run(inside / "python", "-m", "pytest", "-q", at=where), "python")
    run(inside / "mypy", "--strict", "-p", "merchant", "-p", "merchant_sandbox", at=at)
    run(inside / "mypy", "--check-untyped-defs", "bill.py", at=at)


def suite(source, where, test, what):
    """A merchant's own tests, which start a sandbox by themselves."""
    shutil.copytree(source, where)
    began = time.monotonic()
    test(where)
    print(f"{what:<8} a merchant's tests pass, {time.monotonic() - began:.1f} s")


def node_suite(_, at):
    suite(EXAMPLES / "shop-node", at / "shop", lambda where: run("npm", "test", at=where), "node")


def php(out, at):
    if not shutil.which("php"):
        print("php      skipped: there is no php")
        return
    place = at / "vendor/client"
    zipfile.ZipFile(one(out, "*php*.zip")).extractall(place)
    files = json.loads((place / "composer.json").read_text("utf-8"))["autoload"]["files"]
    (at / "vendor/autoload.php").write_text("<?php\n" + "".join(f"require __DIR__ . '/client/{file}';\n" for file in files))
    for file in ("bill.php", "hooks.php"):
        shutil.copy(EXAMPLES / "bill" / file, at)
    bills("php", at.parent / "sandbox", "--ci", "--", "php", "bill.php", at=at)


def java(out, at):
    if not shutil.which("javac"):
        print("java     skipped: there is no JDK")
        return
    pom = one(out, "*.pom")
    if shutil.which("mvn"):
        run("mvn", "--offline", "--quiet", "--file", pom, "validate", at=at)
    jar = pom.with_suffix(".jar")
    shutil.copy(EXAMPLES / "bill/Bill.java", at)
    bills("java", at.parent / "sandbox", "--ci", "--", "java", "-cp", jar, "Bill.java", at=at)


def begins():
    """The README begins with the commands that are run here, and with the one that builds from a clone."""
    text = (HERE.parents[1] / "README.md").read_text("utf-8").split("## Begin")[1].split("```")[1]
    told = [line.split("#")[0].strip() for line in text.splitlines()[1:] if line]
    known = ["npx merchant-sandbox", "pip install merchant-sandbox && merchant-sandbox", "cargo run -p sandbox"]
    assert told == known, told


def main(sandbox, rust):
    begins()
    with tempfile.TemporaryDirectory() as named:
        at = pathlib.Path(named)
        out = made(sandbox, at)
        for step in (node, python, php, java):
            (at / step.__name__).mkdir()
            step(out, at / step.__name__)
        node_suite(out, at / "node")
        bills("rust", at / "sandbox", "--ci", "--", rust, at=at)


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve())
