"""Lines between the programs of a world, carried by one thread beside it: a line can be cut, or swallow everything."""

import asyncio
import contextlib
import socket
import threading


#: Bound and not listening, so that the system gives a port to nobody else while a program is down that has it. A server
#: that sets SO_REUSEADDR, as all of them do, listens beside it.
_KEPT = []


def free_port():
    """A port that nobody listens on, and that nobody else gets."""
    kept = socket.socket()
    kept.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    kept.bind(("127.0.0.1", 0))
    _KEPT.append(kept)
    return kept.getsockname()[1]


_LOOP = asyncio.new_event_loop()
threading.Thread(target=_LOOP.run_forever, daemon=True).start()


def do(work):
    """Runs a coroutine on the thread of the lines, and returns its result."""
    return asyncio.run_coroutine_threadsafe(work, _LOOP).result(60)


class Listener:
    """A place where connections are served by `serve(reader, writer)`. `close` ends it."""

    def __init__(self, serve, host="127.0.0.1"):
        self._serve, self._open = serve, set()
        self._server = do(asyncio.start_server(self._take, host, 0, limit=2**24))
        self.port = self._server.sockets[0].getsockname()[1]

    async def _take(self, reader, writer):
        self._open.add(writer)
        with contextlib.suppress(OSError, EOFError, asyncio.IncompleteReadError):
            await self._serve(reader, writer)
        self._open.discard(writer)
        writer.close()

    def hang_up(self):
        """Breaks every connection."""
        async def work():
            for writer in list(self._open):
                writer.transport.abort()
        do(work())

    def close(self):
        _LOOP.call_soon_threadsafe(self._server.close)
        self.hang_up()


class Line(Listener):
    """A line to a port of this machine."""

    def __init__(self, goal):
        self._goal = goal
        #: Whether new connections are refused, and whether what is sent is swallowed.
        self.cut = self.swallows = False
        super().__init__(self._carry)

    async def _carry(self, reader, writer):
        if self.cut:
            return
        there, back = await asyncio.open_connection("127.0.0.1", self._goal)
        try:
            await asyncio.gather(self._pump(reader, back), self._pump(there, writer))
        finally:
            back.close()

    async def _pump(self, reader, writer):
        while part := await reader.read(65536):
            while self.swallows:
                await asyncio.sleep(0.05)
            writer.write(part)
            await writer.drain()
        writer.close()
