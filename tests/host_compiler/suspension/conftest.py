"""Kernels that wait run in quickly compiled code here, unless a test uses optimised code."""

from collections.abc import Iterator

import pytest

from warploom.engine.device.host.device import HostDevice


@pytest.fixture
def host(quick_host: HostDevice) -> HostDevice:
    """The device of the tests in this folder."""
    return quick_host


@pytest.fixture(scope="session")
def one_by_one_host() -> Iterator[HostDevice]:
    """A host device whose quick code is translated for one thread after the other, as outside tests."""
    device = HostDevice(cores=2)
    yield device
    device.close()


@pytest.fixture(params=["together", "one by one"])
def either_host(request: pytest.FixtureRequest, quick_host: HostDevice, one_by_one_host: HostDevice) -> HostDevice:
    """First the device of this folder, then one whose threads run one after the other."""
    return quick_host if request.param == "together" else one_by_one_host
