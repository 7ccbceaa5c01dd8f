"""The devices that kernels of ops run on: each test of a `device` runs on the host device and on a GPU."""

from collections.abc import Iterator

import pytest

from engine.device.device import Device
from engine.device.open import open_device


@pytest.fixture(scope="session")
def host_device() -> Iterator[Device]:
    """The host device, for tests that have nothing to say of a GPU."""
    device = open_device("host")
    yield device
    device.close()
