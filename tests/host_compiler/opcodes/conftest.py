"""Opcodes run in quickly compiled code here; in optimised code, they are compared with what a GPU gave."""

import pytest

from engine.device.host import HostDevice


@pytest.fixture
def host(quick_host: HostDevice) -> HostDevice:
    """The device of all tests in this folder."""
    return quick_host
