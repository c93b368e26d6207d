"""The fixture `sandbox` of pytest."""

from typing import Iterator

import pytest

from . import Sandbox, start


@pytest.fixture(scope="session")
def sandbox() -> Iterator[Sandbox]:
    """A sandbox on free ports, for the whole session."""
    with start() as running:
        yield running
