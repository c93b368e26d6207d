"""The world of one row: a sandbox with both chains, customers of a merchant, Signers that can be killed, and callers."""

import json
import subprocess
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path

import blocks
import real
from contracts import CONTRACTS, FAMILIES
from judge import Post
from journals import JOURNALS
from machine import Machine, ask


class World:
    """Everything that runs for one row. `close` ends it."""

    def __init__(self, programs, room, journal="file", contract="careless", machines=1, beat_ms=300):
        self.programs, self.room = Path(programs).resolve(), Path(room)
        self.room.mkdir(parents=True, exist_ok=True)
        self.log = open(self.room / "log", "ab")
        self.posts, self.faults, self.lock = [], [], threading.Lock()
        self.machines, self.journal = [], None
        #: Requests of earlier months.
        self.asked = []
        #: What is to be done when the world ends.
        self.at_end = []
        options = [f"--{which}-port=0" for which in ("platform", "signer", "evm", "tron")]
        self.sandbox = subprocess.Popen(
            [self.programs / "sandbox", "--bare", "--json", f"--state={self.room / 'state'}",
             f"--beat={beat_ms}", *options],
            stdout=subprocess.PIPE, stderr=self.log, cwd=self.room,
        )
        try:
            self.at, self.real = json.loads(self.sandbox.stdout.readline()), real.chains()
            self.journal, self.contract = JOURNALS[journal](self), CONTRACTS[contract]()
            self.text = self.contract.found(self)
            for number in range(machines):
                self.machines.append(Machine(self, f"machine-{number + 1}"))
        except BaseException:
            self.close()
            raise

    def start(self):
        """Installs and starts every Signer."""
        for machine in self.machines:
            machine.write(self.text)
            self.journal.make(machine)
            machine.start()

    # --- the sandbox

    def control(self, name, **body):
        """Uses one of the sandbox's controls. Time is moved on where every chain is the sandbox's, and passes where not."""
        if name == "advance" and self.real:
            return time.sleep(1)
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

    # --- the Signers

    @property
    def machine(self):
        """The machine whose Signer serves, or served last."""
        return self.machines[0]

    def ask(self, method, path, body=None, **how):
        """Asks the Signer that serves: one that stands by, or is gone, is passed over once.

        There is no answer where any of them gave none and none gave a better one.
        """
        answers = []
        for machine in list(self.machines):
            answers.append(machine.ask(method, path, body, **how))
            if answers[-1] is not None and answers[-1][0] != 503:
                self._prefer(machine)
                return answers[-1]
        return None if None in answers else answers[-1]

    def _prefer(self, machine):
        with self.lock:
            if machine is not self.machines[0]:
                self.machines.remove(machine)
                self.machines.insert(0, machine)

    def ready(self):
        """Whether a Signer is ready, and what that one says of itself."""
        told = None
        for machine in list(self.machines):
            ready, seen = machine.ready()
            if ready:
                self._prefer(machine)
                return True, seen
            told = seen if seen is not None and "chains" in seen else told
        return False, told

    def bill(self, chain, entries, request_id=None):
        """Posts once to each Signer until one that serves answers. Writes down what each was asked and answered: one that
        says nothing may have made the charges, and the next then tells of a repeat."""
        for machine in list(self.machines):
            post = self._post(machine, chain, entries, request_id)
            if post.status not in (None, 503):
                self._prefer(machine)
                break
        return post

    def _post(self, machine, chain, entries, request_id):
        body = {"list": entries} if request_id is None else {"requestId": request_id, "list": entries}
        post = Post(chain, entries, time.monotonic(), name=request_id)
        answer = machine.ask("POST", f"/PayTool/{FAMILIES[chain]}/subscribe/signProcessSubscribePlan", body)
        post.answered = time.monotonic()
        if answer is not None:
            post.status, post.code, post.body = answer[0], answer[1]["code"], answer[1]
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

    def ask_again(self, dice, patience_s=60):
        """Posts a request of each chain again that was promised a moment ago: what was forgotten is charged twice now."""
        for chain in FAMILIES:
            with self.lock:
                promised = [post for post in self.posts[-60:] if post.chain == chain and post.code == 1]
            if promised:
                self.bill_until_judged(chain, dice.choice(promised[-20:]).entries, until=time.monotonic() + patience_s)

    def tend(self):
        for machine in list(self.machines):
            machine.tend()

    def count(self, *chains, times=1):
        """Counts a fault where it happens: of some chains, or of all."""
        with self.lock:
            self.faults.extend((time.monotonic(), chain, times) for chain in chains or FAMILIES)

    # --- the chains

    def blocks(self, kind=blocks.Blocks):
        """The payments that the blocks of both chains hold."""
        places, amount = self.contract.contracts(self), getattr(self.contract, "amount", 0)
        first = {chain: one.first_block for chain, one in self.real.items()}
        read = ((139, blocks.read_evm), (136, blocks.read_tron))
        return tuple(of(chain, self._node(chain), places[chain], amount, kind(), first.get(chain, 0)) for chain, of in read)

    def block_hash(self, chain, number):
        """The hash of a block of one of the chains."""
        of = blocks.hash_evm if chain == 139 else blocks.hash_tron
        return of(self._node(chain), number)

    def _node(self, chain):
        """The URL of a chain's node that tells the truth."""
        return self.real[chain].node.url if chain in self.real else self.at["evm" if chain == 139 else "tronFull"]

    def close(self):
        for machine in self.machines:
            machine.kill()
        if self.journal is not None:
            self.journal.close()
        for end in self.at_end:
            end()
        self.sandbox.terminate()
        self.sandbox.wait()
        self.log.close()
