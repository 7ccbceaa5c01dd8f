"""Fixtures of the library tests."""

from collections.abc import Iterator

import pytest

from tests.libraries.calls import Caller
from warploom.engine.device.device import Device


@pytest.fixture(scope="module")
def caller(device: Device) -> Iterator[Caller]:
    """Makes library calls on each device in turn. CUDA is skipped where NVIDIA's libraries are not installed."""
    if device.info.name != "host":
        pytest.importorskip("nvmath", reason="NVIDIA's libraries are not installed")
    made = Caller(device)
    yield made
    made.libraries.close()
