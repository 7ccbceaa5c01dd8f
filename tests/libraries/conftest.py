"""Each device in turn, with its libraries."""

from collections.abc import Iterator

import pytest

from engine.device.device import Device
from tests.libraries.calls import Caller


@pytest.fixture(scope="module")
def caller(device: Device) -> Iterator[Caller]:
    """What makes library calls on each device; the CUDA one is skipped where NVIDIA's libraries are not installed."""
    if device.info.name != "host":
        pytest.importorskip("nvmath", reason="NVIDIA's libraries are not installed")
    made = Caller(device)
    yield made
    made.libraries.close()
