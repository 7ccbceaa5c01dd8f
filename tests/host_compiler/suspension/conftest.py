"""Kernels that wait run in quickly compiled code here, unless a test uses optimised code."""

import pytest

from warploom.engine.device.host.device import HostDevice


@pytest.fixture
def host(quick_host: HostDevice) -> HostDevice:
    """The device of the tests in this folder."""
    return quick_host
