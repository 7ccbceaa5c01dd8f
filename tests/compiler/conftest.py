"""Every plan that a test makes, by whatever way, must break no rule."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.compiler.compiler_support import verified_plans


@pytest.fixture(autouse=True)
def makes_sound_plans(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Verify each plan as it is made; a large one would take longer than the rest of the test."""
    yield from verified_plans(monkeypatch)
