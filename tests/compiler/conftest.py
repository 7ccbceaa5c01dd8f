"""Verifies every plan that a test makes; and the devices that plans run on."""

from collections.abc import Iterator

import pytest

from engine.device.device import Device
from engine.runtime.model.module_cache import ModuleCache
from tests.compiler.support.descriptions import verified_plans


@pytest.fixture(autouse=True)
def makes_sound_plans(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Verify each plan as it is made, except large ones, which would take longer than the rest of the test."""
    yield from verified_plans(monkeypatch)


@pytest.fixture(scope="module")
def modules(device: Device) -> Iterator[ModuleCache]:
    """Kernels, compiled once."""
    cache = ModuleCache(device)
    yield cache
    cache.close()
