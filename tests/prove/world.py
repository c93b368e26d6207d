"""The world of one row: a sandbox with both chains, subscribers of a merchant, and one Signer that can be killed."""

import base64
import hashlib
import hmac
import json
import os
import signal
import socket
import subprocess
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path

import blocks
from judge import Post

#: The platform's ids of the two chains of the sandbox, each with the path that bills there.
FAMILIES = {139: "EVM", 136: "TVM"}
WALLETS = ["ada", "ben", "cleo", "dan", "eve", "finn"]
PLAN = 70


def sign(secret, timestamp, text, body=b""):
    """base64(HMAC-SHA256(secret, timestamp + text + body))."""
    digest = hmac.new(secret.encode(), f"{timestamp}{text}".encode() + body, hashlib.sha256)
    return base64.b64encode(digest.digest()).decode()


def ask(url, key, secret, method, path, body=None, patience=30, proven=False):
    """Sends one signed request. Returns the status and the body as read, or None where no proven answer came."""
    raw = b"" if body is None else json.dumps(body).encode()
    timestamp = int(time.time())
    signature = sign(secret, timestamp, f"{method}{path}", raw)
    headers = {"X-PAY-KEY": key, "X-PAY-TIMESTAMP": str(timestamp), "X-PAY-SIGN": signature}
    if body is not None:
        headers["Content-Type"] = "application/json"
    request = urllib.request.Request(url + path, raw or None, headers, method=method)
    try:
        with urllib.request.urlopen(request, timeout=patience) as answer:
            status, answered, read = answer.status, answer.headers, answer.read()
    except urllib.error.HTTPError as refused:
        status, answered, read = refused.code, refused.headers, refused.read()
    except OSError:
        return None
    except Exception:  # http.client raises its own kinds where a connection breaks in the middle
        return None
    if proven:
        signed = answered.get("X-PAY-TIMESTAMP", "")
        expected = sign(secret, signed, f"{status}{signature}", read)
        if not hmac.compare_digest(expected, answered.get("X-PAY-SIGN", "")):
            return None
    try:
        return status, json.loads(read)
    except ValueError:
        return None


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class World:
    """Everything that runs for one row. `close` ends it."""

    def __init__(self, programs, room, beat_ms=300):
        self.programs, self.room = Path(programs), Path(room)
        self.room.mkdir(parents=True, exist_ok=True)
        self.log = open(self.room / "log", "ab")
        options = [f"--{which}-port=0" for which in ("platform", "signer", "evm", "tron")]
        self.sandbox = subprocess.Popen(
            [self.programs / "sandbox", "--bare", "--json", f"--state={self.room / 'state'}",
             f"--beat={beat_ms}", *options],
            stdout=subprocess.PIPE, stderr=self.log, cwd=self.room,
        )
        self.at = json.loads(self.sandbox.stdout.readline())
        self.posts, self.injected, self.recovered = [], 0, []
        self.lock = threading.Lock()
        self.signer, self.standing = None, threading.Event()
        self.port = free_port()
        self.config = self._configure()
        self.run("init")
        self._found()

    # --- the sandbox

    def control(self, name, **body):
        """Uses one of the sandbox's controls."""
        request = urllib.request.Request(
            f"{self.at['clock']}/{name}", json.dumps(body).encode(), {"Content-Type": "application/json"}
        )
        try:
            with urllib.request.urlopen(request, timeout=120) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as refused:
            raise RuntimeError(f"{name} {body}: {refused.read().decode()}") from refused

    def clock(self):
        with urllib.request.urlopen(self.at["clock"], timeout=30) as answer:
            return json.load(answer)

    def platform(self, method, path, body=None):
        key, secret = self.at["api"]["key"], self.at["api"]["secret"]
        answer = ask(self.at["baseUrl"], key, secret, method, f"/api/mer{path}", body)
        if answer is None or answer[1]["code"] != 200:
            raise RuntimeError(f"{method} {path}: {answer}")
        return answer[1]["data"]

    def _found(self):
        """A plan that two admins approved, and one subscriber for each wallet, on each chain."""
        for chain in FAMILIES:
            self.control("propose-plan", admin="alice", planId=PLAN, chainId=chain, amount="1",
                         intervalSeconds=30 * 86400, periods=120)
        self.control("advance", seconds=120)
        for chain in FAMILIES:
            self.control("approve-plan", admin="bob", planId=PLAN, chainId=chain, version=1)
        self.control("advance", seconds=120)
        for chain in FAMILIES:
            for wallet in WALLETS:
                link = self.platform("POST", "/subscribe/payment/create", {
                    "chainId": chain, "planId": PLAN, "externalUserId": f"{wallet}-{chain}",
                    "redirectionUrl": "https://shop.example/", "notifyUrl": "http://127.0.0.1:9/",
                })
                self.control("follow-link", paymentUrl=link["paymentUrl"], wallet=wallet, allowance="1000")
        self.control("advance", seconds=180)

    def due(self):
        """Everything that is due, by chain."""
        due = {chain: [] for chain in FAMILIES}
        for entry in self.platform("GET", "/subscribe/chargeable/list?page=1&size=500")["list"]:
            due[entry["chainId"]].append(entry)
        return due

    # --- the Signer

    def _configure(self):
        text = Path(self.at["signerConfig"]).read_text()
        text = text.replace('listen = "127.0.0.1:0"', f'listen = "127.0.0.1:{self.port}"')
        config = self.room / "state" / "signer" / "prove.toml"
        config.write_text(text)
        config.chmod(0o600)
        return config

    @property
    def journal(self):
        return self.room / "state" / "signer" / "journal.sqlite"

    def run(self, *words, config=None):
        """Runs one command of the program."""
        return subprocess.run(
            [self.programs / "merchant-signer", "--config", config or self.config, *words],
            capture_output=True, text=True, cwd=self.room, timeout=600,
        )

    def start(self):
        self.signer = subprocess.Popen(
            [self.programs / "merchant-signer", "--config", self.config],
            stdout=self.log, stderr=self.log, cwd=self.room, start_new_session=True,
        )

    def kill(self, number=signal.SIGKILL):
        """Ends the Signer, with everything that it started."""
        if self.signer is not None:
            try:
                os.killpg(self.signer.pid, number)
            except ProcessLookupError:
                pass
            self.signer.wait()

    def ask(self, method, path, body=None, caller=("sandbox-scheduler", "everybody-knows-this-secret"), patience=30):
        return ask(f"http://127.0.0.1:{self.port}", *caller, method, path, body, patience, proven=True)

    def ready(self):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/health/ready", timeout=10) as answer:
                return answer.status == 200, json.load(answer)
        except urllib.error.HTTPError as refused:
            return False, json.load(refused)
        except OSError:
            return False, None

    def bill(self, chain, entries, request_id=None):
        """Posts once, and writes down what was asked and answered."""
        body = {"list": entries} if request_id is None else {"requestId": request_id, "list": entries}
        post = Post(chain, entries, time.monotonic())
        answer = self.ask("POST", f"/PayTool/{FAMILIES[chain]}/subscribe/signProcessSubscribePlan", body)
        post.answered = time.monotonic()
        if answer is not None:
            post.code, post.body = answer[1]["code"], answer[1]
        with self.lock:
            self.posts.append(post)
        return post

    def bill_until_judged(self, chain, entries, request_id=None, until=float("inf")):
        """Posts the same again until there is a verdict, as callers do."""
        pause = 0.05
        while time.monotonic() < until:
            post = self.bill(chain, entries, request_id)
            if post.code in (1, 2):
                return post
            time.sleep(pause)
            pause = min(pause * 2, 1.0)
        return None

    # --- the chains

    def blocks(self):
        """What the blocks of both chains hold."""
        contracts = {chain["chainId"]: chain["contract"] for chain in self.clock()["chains"]}
        evm = blocks.read_evm(139, self.at["evm"], contracts[139])
        tron = blocks.read_tron(136, self.at["tronFull"], blocks.tron_hex(contracts[136]))
        return evm, tron

    def close(self):
        self.kill()
        self.sandbox.terminate()
        self.sandbox.wait()
        self.log.close()
