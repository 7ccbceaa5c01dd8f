"""A device that works late, and a patch that counts."""

from collections.abc import Iterator

import pytest

from tests.device.lagging_device import LaggingDevice
from tests.runtime.conftest import Kernels
from warploom import Patch
from warploom.engine.runtime.frame import launcher


@pytest.fixture
def lagging(monkeypatch: pytest.MonkeyPatch) -> Iterator[LaggingDevice]:
    """A device that works late; its frames are launched one by one."""
    monkeypatch.setattr(launcher, "LONGEST_BURST", 1)
    device = LaggingDevice()
    yield device
    device.close()


@pytest.fixture
def counter(kernels: Kernels) -> Patch:
    """A counter, and a block that scales its number."""
    patch = Patch()
    patch.connect(
        patch.add("test_run.count", node_id="count")["out"], patch.add("test_run.scale", node_id="scale")["x"]
    )
    return patch
