"""Random numbers have the same bits on a GPU and on the host."""

import numpy as np
import pytest

from tests.blocks.test_random import numbers
from warploom.engine.device.device import Device

pytestmark = pytest.mark.gpu


@pytest.mark.parametrize("block", ["uniform", "normal", "integers"])
def test_numbers_have_the_same_bits(block: str, cuda: Device, host: Device) -> None:
    """A million random numbers in the third frame have the same bits on the GPU and on the host."""
    found, expected = (numbers(block, device, frames=3, shape="1000003", seed=11)[2] for device in (cuda, host))
    np.testing.assert_array_equal(found.view(np.uint32), expected.view(np.uint32))
