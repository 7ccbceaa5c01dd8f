"""The devices on which blocks of kernels run."""

from collections.abc import Iterator

import pytest

from engine.device.device import Device
from engine.device.open import open_device


@pytest.fixture(params=["host", pytest.param("cuda:0", marks=pytest.mark.gpu)])
def device(request: pytest.FixtureRequest) -> Iterator[Device]:
    """Each device in turn."""
    opened = open_device(request.param)
    yield opened
    opened.close()
