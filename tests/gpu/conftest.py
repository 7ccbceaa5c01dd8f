"""Fixtures for the two devices that these tests compare."""

from collections.abc import Iterator

import pytest

from warploom.engine.device.device import Device
from warploom.engine.device.open import open_device


@pytest.fixture(scope="module")
def cuda() -> Iterator[Device]:
    """The first GPU."""
    device = open_device("cuda:0")
    yield device
    device.close()


@pytest.fixture(scope="module")
def host() -> Iterator[Device]:
    """The host device with all cores."""
    device = open_device("host")
    yield device
    device.close()
