"""A provider of nodes: stands before the nodes of both chains, passes questions on, and lies when it is told to."""

import asyncio
import http.client
import json
from urllib.parse import urlsplit

from background import Listener


class Question:
    """One question to a node: its chain, its name, and the answer that the node gives."""

    def __init__(self, chain, url, method, path, headers, body):
        self.chain, self.path, self.body = chain, path, body
        self._url, self._method, self._headers = url, method, headers
        try:
            self.json = json.loads(body) if body else {}
        except ValueError:
            self.json = {}
        rpc = isinstance(self.json, dict) and self.json.get("method")
        #: `eth_…` of a JSON-RPC, and the last part of the path on TRON.
        self.name = rpc or path.rsplit("/", 1)[-1]
        self.is_rpc = bool(rpc)

    @property
    def sends(self):
        """Whether a transaction is offered."""
        return self.name in ("eth_sendRawTransaction", "broadcasthex", "broadcasttransaction")

    async def honest(self):
        """Asks the node. Returns the status and the body."""
        return await asyncio.get_running_loop().run_in_executor(None, self._ask)

    def _ask(self):
        line = http.client.HTTPConnection(self._url.hostname, self._url.port, timeout=30)
        try:
            line.request(self._method, (self._url.path.rstrip("/") + self.path) or "/", self.body or None, self._headers)
            answer = line.getresponse()
            return answer.status, answer.read()
        except (OSError, http.client.HTTPException):
            return 502, b""
        finally:
            line.close()

    def told(self, result):
        """A body that tells this result, as JSON-RPC does or as TRON."""
        if self.is_rpc:
            result = {"jsonrpc": "2.0", "id": self.json.get("id"), "result": result}
        return json.dumps(result).encode()

    def error(self, text, code=-32000):
        """A body that tells an error of JSON-RPC."""
        return json.dumps({"jsonrpc": "2.0", "id": self.json.get("id"), "error": {"code": code, "message": text}}).encode()


class Provider:
    """One provider: a door for each URL of the nodes. `lie(question)` is asked for each answer, and may return none."""

    def __init__(self, host, urls):
        self.lie, self.lies = None, {}
        self._doors = {
            name: Listener(lambda reader, writer, chain=chain, url=urlsplit(url): self._serve(chain, url, reader, writer), host)
            for name, (chain, url) in urls.items()
        }
        self.urls = {name: f"http://{host}:{door.port}" for name, door in self._doors.items()}

    async def _serve(self, chain, url, reader, writer):
        while head := await reader.readuntil(b"\r\n\r\n"):
            first, *lines = head.decode("latin1").strip().split("\r\n")
            method, path, _ = first.split(" ", 2)
            headers = {name.lower(): value.strip() for name, value in (line.split(":", 1) for line in lines)}
            body = await reader.readexactly(int(headers.get("content-length", 0)))
            kept = {name: value for name, value in headers.items() if name in ("content-type", "accept")}
            question = Question(chain, url, method, "" if path == "/" else path, kept, body)
            answer = None
            if self.lie is not None:
                answer = await self.lie(question, writer)
                if answer is not None:
                    self.lies[chain] = self.lies.get(chain, 0) + 1
            if answer is None:
                answer = await question.honest()
            status, told, *kind = answer
            writer.write(
                f"HTTP/1.1 {status} .\r\nContent-Type: {kind[0] if kind else 'application/json'}\r\n"
                f"Content-Length: {len(told)}\r\n\r\n".encode() + told
            )
            await writer.drain()

    def close(self):
        for door in self._doors.values():
            door.close()
