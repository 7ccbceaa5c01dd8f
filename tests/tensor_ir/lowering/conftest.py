"""The services of a device, shared by the tests of a file."""

from collections.abc import Iterator

import pytest

from warploom.engine.device.device import Device
from warploom.engine.tensor_runtime.tensors import Tensors


@pytest.fixture(scope="module")
def tensors(device: Device) -> Iterator[Tensors]:
    """The services that programs need of the device."""
    made = Tensors(device)
    yield made
    made.close()
