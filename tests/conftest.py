"""What every test gets: caches of its own, a check for threads left behind, and a clean catalogue."""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from engine.blocktypes.block import defined_blocks

# One folder for the whole run: a kernel that one test compiled is there for the next.
_HOME = Path(tempfile.mkdtemp(prefix="warploom-tests-"))
for _kind in ("CACHE", "CONFIG", "DATA", "STATE"):
    os.environ[f"XDG_{_kind}_HOME"] = str(_HOME / _kind.lower())

#: Threads that must end with the engine or watcher that started them. A device's workers may outlive a test, since
#: several rooms share a device among their tests.
_OWN_THREADS = ("warploom-engine", "warploom-prepare", "source-watcher", "block-loader")

# The same examples in every run, and no time limit on a loaded machine.
settings.register_profile("warploom", deadline=None, derandomize=True, database=None)
settings.load_profile("warploom")


def pytest_unconfigure() -> None:
    """Remove the run's caches."""
    shutil.rmtree(_HOME, ignore_errors=True)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what needs a CUDA device where there is none, and say why there is none."""
    marked = [item for item in items if item.get_closest_marker("gpu")]
    if not marked:
        return
    from engine.device.open import list_devices

    devices = [status for status in list_devices() if status.name != "host"]
    if not any(status.usable for status in devices):
        skip = pytest.mark.skip(reason=f"no CUDA device: {devices[0].reason}")
        for item in marked:
            item.add_marker(skip)


@pytest.fixture(autouse=True)
def leaves_no_threads() -> Iterator[None]:
    """Fail a test that leaves an engine or a watcher running."""
    before = set(threading.enumerate())
    yield
    left: list[str] = []
    for _ in range(50):
        left = sorted(t.name for t in set(threading.enumerate()) - before if t.name.startswith(_OWN_THREADS))
        if not left:
            return
        time.sleep(0.01)
    pytest.fail(f"threads must end with the test, got {', '.join(left)}; close the engine or watcher it made")


@pytest.fixture(autouse=True)
def leaves_no_block_types() -> Iterator[None]:
    """Take block types that a test defined out of the catalogue again."""
    before = dict(defined_blocks)
    yield
    for type_id, block in list(defined_blocks.items()):
        # The library is imported once, by whichever test asks for it first, and stays.
        if before.get(type_id) is not block and block.__module__.split(".")[0] != "blocks":
            del defined_blocks[type_id]
            if type_id in before:
                defined_blocks[type_id] = before[type_id]
