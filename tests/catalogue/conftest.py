"""Folders whose block types are removed when a test ends, and block files that hang until a test releases them."""

import io
import os
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.catalogue.block_texts import BlockFolder
from warploom.engine.catalogue.block_folders import block_folders
from warploom.engine.user_code.limits import FILE, TimeLimits
from warploom.engine.user_code.runner import CodeRunner


class HeldRunner(CodeRunner):
    """Runs files without a time limit, until a test ends the limit of one of them."""

    def __init__(self) -> None:
        super().__init__()
        self._is_over = False

    def end_time(self) -> None:
        """End the time limit of the file that runs now."""
        self._is_over = True

    @property
    def limits(self) -> TimeLimits:
        """The time limit of the file that runs now."""
        is_over, self._is_over = self._is_over, False
        return FILE._replace(total_s=0.0) if is_over else FILE._replace(total_s=1e9)

    @limits.setter
    def limits(self, _: TimeLimits) -> None:
        """Ignore other time limits."""


class Gate:
    """A gate for block code, which waits at it outside Python, where no exception reaches the code."""

    def __init__(self, path: Path) -> None:
        os.mkfifo(path)
        self._path, self._reader = path, io.FileIO(os.devnull)
        # More bytes than a pipe holds.
        self.code = f"with open({str(path)!r}, 'wb', buffering=0) as gate: gate.write(bytes(1 << 20))"

    def wait_until_reached(self) -> None:
        self._reader.close()
        self._reader = io.FileIO(self._path)
        self._reader.read(1)

    def open(self) -> None:
        """Let the code continue. A second call has no effect."""
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
def held(monkeypatch: pytest.MonkeyPatch) -> Iterator[HeldRunner]:
    """The runner of the files; no file exceeds its time limit before the test says so."""
    with closing(HeldRunner()) as runner:
        monkeypatch.setattr(block_folders, "code", runner)
        yield runner


@pytest.fixture
def gate(tmp_path: Path) -> Iterator[Gate]:
    """A gate that is opened when the test ends."""
    made = Gate(tmp_path / "gate")
    yield made
    made.open()
