"""Fixtures that verify every plan that a test makes, and kernels for the devices."""

from collections.abc import Iterator

import pytest

from tests.compiler.support.descriptions import verified_plans
from warploom.engine.device.device import Device
from warploom.engine.runtime.model.module_cache import ModuleCache


@pytest.fixture(autouse=True)
def makes_sound_plans(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Verify each plan when it is made, except for large ones, which take longer to verify than to test."""
    yield from verified_plans(monkeypatch)


@pytest.fixture(scope="module")
def modules(device: Device) -> Iterator[ModuleCache]:
    """Kernels for the devices, compiled once."""
    cache = ModuleCache(device)
    yield cache
    cache.close()
