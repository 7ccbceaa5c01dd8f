"""Fixtures that tests of random patches share."""

from collections.abc import Iterator

import pytest

from tests.compiler.support.descriptions import verified_plans
from tests.random_patches.comparing import KeptKernels
from tests.random_patches.materials import Materials
from warploom.engine.device.device import Device


@pytest.fixture(autouse=True)
def makes_sound_plans(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Verify each plan when it is made."""
    yield from verified_plans(monkeypatch)


@pytest.fixture(scope="module")
def kernels(device: Device) -> Iterator[KeptKernels]:
    """The kernels that the patches of a file compiled, as long as the device is open."""
    kept = KeptKernels()
    with kept.used():
        yield kept


@pytest.fixture(scope="module")
def materials(device: Device, tmp_path_factory: pytest.TempPathFactory) -> Materials:
    """The files that patches read."""
    return Materials(tmp_path_factory.mktemp("materials"), device)
