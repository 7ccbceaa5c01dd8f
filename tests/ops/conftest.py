"""The devices that kernels of ops run on: each test of a `device` runs on the host device and on a GPU."""

from collections.abc import Iterator

import pytest

from engine.device.device import Device
from engine.device.open import open_device


@pytest.fixture(scope="session", params=["host", pytest.param("cuda:0", marks=pytest.mark.gpu)])
def device(request: pytest.FixtureRequest) -> Iterator[Device]:
    """The host device, and the first GPU where there is one."""
    device = open_device(request.param)
    yield device
    device.close()


@pytest.fixture(scope="session")
def host_device() -> Iterator[Device]:
    """The host device, for tests that have nothing to say of a GPU."""
    device = open_device("host")
    yield device
    device.close()
