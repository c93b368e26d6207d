"""Schemathesis against a Signer in the sandbox: whatever the document allows is taken, whatever it does
not allow is refused, and every answer is as it says. `./test --deep` runs this.

Usage: run.py SANDBOX SCHEMATHESIS
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
DOCUMENT = HERE.parent.parent / "src" / "http" / "openapi.json"
BILL = "/PayTool/{}/subscribe/signProcessSubscribePlan"
CONTROL = "^/PayTool/control"

#: What is wrong with one entry is a verdict on that entry, with HTTP 200; a check in hooks.py stands in.
PER_ENTRY = ["--exclude-checks", "negative_data_rejection"]

#: Each run: whose key, the chain of the entries, and what of the document.
RUNS = [
    ("scheduler", 139, ["--exclude-path-regex", f"signProcessSubscribePlan|{CONTROL}"]),
    ("scheduler", 139, ["--include-path", BILL.format("EVM"), *PER_ENTRY]),
    ("scheduler", 136, ["--include-path", BILL.format("TVM"), *PER_ENTRY]),
    ("operator", 139, ["--include-path-regex", CONTROL]),
]
SECRETS = {"scheduler": "everybody-knows-this-secret", "operator": "everybody-knows-this-one-too"}


def installed(chain):
    """The document for one chain of this installation. What no schema can say is made unsayable: which chains
    there are, that all entries name the same one, that two names of an id do not contradict, and which cursors
    were told."""
    document = json.loads(DOCUMENT.read_text())
    entry = document["components"]["schemas"]["Entry"]
    entry["properties"]["chainId"] = {"const": chain}
    entry["required"] = [*entry["required"], "chainId", "subscribeId"]
    del entry["anyOf"], entry["properties"]["subscriptionId"]
    for path in ("/PayTool/charges", "/PayTool/events"):
        asked = document["paths"][path]["get"]
        # Nobody waits here: it would take all of the time.
        asked["parameters"] = [one for one in asked["parameters"] if one["name"] not in ("after", "wait")]
    return document


def signer_of(sandbox):
    """Waits until the sandbox has told its story; tells where its Signer is."""
    told = ""
    for line in sandbox.stdout:
        told += line
        if line.startswith("Every call, as it arrives"):
            break
    found = re.search(r"The Signer starts.*?^  (http://127[^\s]*)$", told, re.S | re.M)
    if not found:
        sys.exit(f"the sandbox did not start:\n{told}")
    return found.group(1)


def main(program, schemathesis):
    ports = [word for side in ("platform", "signer", "evm", "tron") for word in (f"--{side}-port", "0")]
    pipe = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    with tempfile.TemporaryDirectory() as room, subprocess.Popen([program, *ports], **pipe) as sandbox:
        try:
            url = signer_of(sandbox)
            # What is still said is not for anybody; unread, it would stop the sandbox.
            drain = subprocess.Popen(["cat"], stdin=sandbox.stdout, stdout=subprocess.DEVNULL)
            failed = False
            for caller, chain, chosen in RUNS:
                document = pathlib.Path(room) / f"{chain}.json"
                document.write_text(json.dumps(installed(chain)))
                environment = {
                    "SCHEMATHESIS_HOOKS": "hooks",
                    "PYTHONPATH": str(HERE),
                    "SIGNER_KEY": f"sandbox-{caller}",
                    "SIGNER_SECRET": SECRETS[caller],
                }
                asked = [
                    *[schemathesis, "run", str(document), "--url", url, *chosen],
                    *["--phases", "coverage,fuzzing", "--max-examples", "60", "--max-time", "60", "--seed", "7"],
                    *["--request-timeout", "20", "--continue-on-failure", "--warnings", "off"],
                ]
                print(f"\n{caller}, chain {chain}: {' '.join(chosen)}", flush=True)
                failed |= subprocess.run(asked, env=os.environ | environment, cwd=room).returncode != 0
        finally:
            sandbox.terminate()
        drain.wait()
    sys.exit(failed)


main(*sys.argv[1:])
