"""Folders of blocks whose types are gone when a test ends, and files that hang until it says so."""

import io
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from engine.catalogue.block_folders import block_folders
from tests.catalogue.block_texts import BlockFolder


class HeldTimer:
    """Stands for `threading.Timer`: it runs out when a test calls its function."""

    def __init__(self, interval: float, function: Callable[[], object], started: list["HeldTimer"]) -> None:
        self.interval, self.function, self._started = interval, function, started

    def start(self) -> None:
        self._started.append(self)

    def cancel(self) -> None:
        """Do nothing: it doesn't run out by itself."""


class Gate:
    """Block code that waits outside Python, where no exception reaches it, until it may go on."""

    def __init__(self, path: Path) -> None:
        os.mkfifo(path)
        self._path, self._reader = path, io.FileIO(os.devnull)
        # More than a pipe holds.
        self.code = f"with open({str(path)!r}, 'wb', buffering=0) as gate: gate.write(bytes(1 << 20))"

    def wait_until_reached(self) -> None:
        self._reader.close()
        self._reader = io.FileIO(self._path)
        self._reader.read(1)

    def open(self) -> None:
        """Let the code go on; safe to call again."""
        if not self._reader.closed:
            self._reader.readall()
            self._reader.close()


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[BlockFolder]:
    """A folder `blocks` that nothing has loaded yet."""
    made = BlockFolder(tmp_path / "blocks")
    yield made
    block_folders.remove(made.path)
    block_folders.reload([]).result()


@pytest.fixture
def timers(monkeypatch: pytest.MonkeyPatch) -> list[HeldTimer]:
    """The timers that were started; none runs out by itself, however busy the machine is."""
    started: list[HeldTimer] = []
    monkeypatch.setattr(threading, "Timer", lambda interval, function: HeldTimer(interval, function, started))
    return started


@pytest.fixture
def gate(tmp_path: Path) -> Iterator[Gate]:
    """A gate that is shut until the test ends."""
    made = Gate(tmp_path / "gate")
    yield made
    made.open()
