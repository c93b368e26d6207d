"""A machine with a Signer: its directory and configuration, its process, and how it is asked."""

import base64
import hashlib
import hmac
import json
import os
import re
import shutil
import signal
import subprocess
import threading
import time
import urllib.error
import urllib.request

from background import free_port

SCHEDULER = ("sandbox-scheduler", "everybody-knows-this-secret")
OPERATOR = ("sandbox-operator", "everybody-knows-this-one-too")


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


class Machine:
    """A directory with a configuration, and at most one Signer that runs from it."""

    def __init__(self, world, name, port=None):
        self.world, self.name, self.port = world, name, port or free_port()
        self.room = world.room / name
        self.room.mkdir()
        self.config = self.room / "signer.toml"
        #: The directory of its journal and mark, which may be a disk of its own.
        self.disk = self.room / "disk"
        self.disk.mkdir()
        self.signer, self.supervised, self.lock = None, False, threading.RLock()
        #: Words before the program, variables of its environment, and sockets that it gets, at every start.
        self.wrap, self.environment, self.descriptors = [], {}, ()
        #: Whether it signs with the second of two keys.
        self.second = False

    @property
    def journal(self):
        return self.disk / "journal.sqlite"

    @property
    def mark(self):
        return self.disk / "journal.sqlite.mark"

    def write(self, text):
        """Takes this text for its configuration, with its own address and journal."""
        text = re.sub(r'listen = ".*"', f'listen = "127.0.0.1:{self.port}"', text)
        text = text.replace('filter = "error"', 'filter = "warn"')
        self.config.write_text(self.world.journal.configure(text, self))
        self.config.chmod(0o600)

    def beside(self, name):
        """An empty directory with the same configuration."""
        shutil.rmtree(self.world.room / name, ignore_errors=True)
        other = Machine(self.world, name, self.port)
        other.config.write_text(self.config.read_text().replace(str(self.room), str(other.room)))
        other.config.chmod(0o600)
        return other

    def run(self, *words):
        """Runs one command of the program."""
        return subprocess.run(
            [self.world.programs / "merchant-signer", "--config", self.config, *words],
            capture_output=True, text=True, cwd=self.room, timeout=600,
        )

    def must(self, *words):
        """Runs one command of the program, which has to succeed."""
        ended = self.run(*words)
        if ended.returncode != 0:
            raise RuntimeError(f"{words}: {ended.stderr or ended.stdout}")
        return ended

    def start(self, supervised=True, wrap=()):
        """Starts the Signer. One that is supervised is started again when it ends by itself."""
        with self.lock:
            self.signer, self.supervised = subprocess.Popen(
                [*wrap, *self.wrap, self.world.programs / "merchant-signer", "--config", self.config],
                stdout=self.world.log, stderr=self.world.log, cwd=self.room, start_new_session=True,
                env=os.environ | self.environment, pass_fds=self.descriptors,
            ), supervised

    def kill(self, number=signal.SIGKILL):
        """Ends the Signer, with everything that it started. One that is asked to end and does not is killed."""
        with self.lock:
            self.supervised = False
            if self.signer is None:
                return
            try:
                os.killpg(self.signer.pid, number)
                self.signer.wait(60)
            except ProcessLookupError:
                self.signer.wait()
            except subprocess.TimeoutExpired:
                self.kill()

    def signal_all(self, number):
        """Sends a signal to the Signer and everything that it started."""
        try:
            os.killpg(self.signer.pid, number)
        except ProcessLookupError:
            pass

    def tend(self):
        """Starts the Signer again where it has ended by itself, as a supervisor does."""
        with self.lock:
            if self.supervised and self.signer.poll() is not None:
                self.start()

    def children(self):
        """The processes that the Signer has started."""
        told = subprocess.run(["ps", "-o", "pid=", "--ppid", str(self.signer.pid)], capture_output=True, text=True)
        return [int(pid) for pid in told.stdout.split()]

    def ask(self, method, path, body=None, caller=SCHEDULER, patience=30):
        return ask(f"http://127.0.0.1:{self.port}", *caller, method, path, body, patience, proven=True)

    def ready(self):
        """Whether it is ready, and what it says of itself; nothing where nobody answers."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/health/ready", timeout=10) as answer:
                return answer.status == 200, json.load(answer)
        except urllib.error.HTTPError as refused:
            return False, json.load(refused)
        except (OSError, ValueError):
            return False, None
        except Exception:  # http.client raises its own kinds where a connection breaks in the middle
            return False, None
