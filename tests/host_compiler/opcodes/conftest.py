"""Opcodes run in quickly compiled code here; tests against recorded GPU results run them in optimised code."""

import pytest

from warploom.engine.device.host.device import HostDevice


@pytest.fixture
def host(quick_host: HostDevice) -> HostDevice:
    """The device of all tests in this folder."""
    return quick_host
