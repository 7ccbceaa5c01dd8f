"""Each device in turn, with its libraries."""

from collections.abc import Iterator

import pytest

from engine.device.open import open_device
from engine.diagnostics import DeviceError
from tests.libraries.calls import Caller


@pytest.fixture(scope="module", params=["host", pytest.param("cuda:0", marks=pytest.mark.gpu)])
def caller(request: pytest.FixtureRequest) -> Iterator[Caller]:
    """What makes library calls on each device; the CUDA one is skipped, with the reason, where there is none."""
    try:
        device = open_device(request.param)
    except DeviceError as reason:
        pytest.skip(str(reason))
    if request.param != "host":
        pytest.importorskip("nvmath", reason="NVIDIA's libraries are not installed")
    made = Caller(device)
    yield made
    made.libraries.close()
    device.close()
