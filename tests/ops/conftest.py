"""The devices that kernels of ops run on: each test with a `device` runs on the host device and on a GPU."""

from collections.abc import Iterator

import pytest

from warploom.engine.device.device import Device
from warploom.engine.device.host.device import HostDevice
from warploom.engine.device.open import open_device


@pytest.fixture(scope="module")
def optimised(device: Device) -> Iterator[Device]:
    """The same device; for the host, another host device, which runs optimised kernels only."""
    if device.info.name != "host":
        yield device
        return
    host = HostDevice(quick_first=False)
    yield host
    host.close()


@pytest.fixture(scope="session")
def host_device() -> Iterator[Device]:
    """The host device, for tests that don't concern a GPU."""
    device = open_device("host")
    yield device
    device.close()
