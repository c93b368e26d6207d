"""Starts the sandbox for tests: `with start() as sandbox: …`."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sysconfig
import urllib.error
import urllib.request
from types import TracebackType
from typing import Any, Optional

__version__ = "0.1.0"
__all__ = ["Sandbox", "program", "start"]


def program() -> str:
    """The path of the program; $MERCHANT_SANDBOX names another one."""
    named = os.environ.get("MERCHANT_SANDBOX")
    if named:
        return named
    beside = os.path.join(sysconfig.get_path("scripts"), "merchant-sandbox")
    found = beside if os.path.exists(beside) else shutil.which("merchant-sandbox")
    if not found:
        raise FileNotFoundError("merchant-sandbox is not installed here")
    return found


class Sandbox:
    """A running sandbox: its addresses and secrets by their names, `sandbox["baseUrl"]`."""

    def __init__(self, child: "subprocess.Popen[str]", addresses: dict[str, Any]) -> None:
        self._child, self.addresses = child, addresses

    def __getitem__(self, name: str) -> Any:
        return self.addresses[name]

    def control(self, name: str, **body: Any) -> Any:
        """Steers it: control("advance", months=1)."""
        request = urllib.request.Request(
            f"{self['adminUrl']}/sandbox/{name}", json.dumps(body).encode(), {"Content-Type": "application/json"}
        )
        try:
            with urllib.request.urlopen(request, timeout=120) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as refused:
            raise RuntimeError(f"{name}: {json.load(refused)['error']}") from refused

    def stop(self) -> None:
        """Ends it."""
        self._child.terminate()
        self._child.wait()
        if self._child.stdout:
            self._child.stdout.close()

    def __enter__(self) -> "Sandbox":
        return self

    def __exit__(
        self, kind: Optional[type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        self.stop()


def start(
    seed: Optional[int] = None,
    at: Optional[str] = None,
    subscribers: Optional[int] = None,
    beat: Optional[int] = None,
) -> Sandbox:
    """Starts a sandbox on free ports; it ends with stop() or with this process. The options are those of --ci."""
    options = {"--seed": seed, "--at": at, "--subscribers": subscribers, "--beat": beat}
    words = [word for name, value in options.items() if value is not None for word in (name, str(value))]
    child = subprocess.Popen([program(), "--ci", *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    line = child.stdout.readline() if child.stdout else ""
    if not line:
        raise RuntimeError(f"the sandbox ended with {child.wait()}")
    return Sandbox(child, json.loads(line))
