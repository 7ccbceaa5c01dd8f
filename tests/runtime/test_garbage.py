"""Python's garbage collection while an engine opens a large patch and runs its first frame."""

import gc
from collections.abc import Iterator
from typing import Any

import pytest

from engine import Engine, Patch
from engine.runtime import engine as engine_module


@pytest.fixture
def collections() -> Iterator[list[int]]:
    """The generations that were collected."""
    seen: list[int] = []

    def note(phase: str, info: dict[str, Any]) -> None:
        if phase == "stop":
            seen.append(info["generation"])

    gc.callbacks.append(note)
    yield seen
    gc.callbacks.remove(note)


@pytest.fixture
def frozen() -> Iterator[None]:
    """Unfreeze the objects that the test run froze, and freeze them again."""
    gc.unfreeze()
    yield
    gc.freeze()


def large() -> Patch:
    patch = Patch()
    for _ in range(300):
        patch.add("math.scale_offset")
    return patch


@pytest.mark.usefixtures("frozen")
def test_no_garbage_is_collected_in_a_first_frame(collections: list[int]) -> None:
    """The objects of a large patch then count as old; after a million objects, everything is collected."""
    patch = large()
    gc.collect()
    with Engine(patch, "host") as engine:
        collections.clear()
        engine.step()
        assert (collections, gc.get_freeze_count(), gc.isenabled()) == ([], 0, True)
        assert gc.get_count()[0] < 700
    engine_module._aged = engine_module._MOST_AGED
    collections.clear()
    with Engine(patch, "host") as engine:
        engine.step()
        assert 2 in collections
    assert engine_module._aged == 0


def test_what_others_froze_or_switched_off_stays_so(collections: list[int]) -> None:
    """Unfreezing would affect others' objects; if automatic collection is off, it stays off."""
    patch = large()
    gc.freeze()
    before = gc.get_freeze_count()
    with Engine(patch, "host") as engine:
        engine.step()
    assert gc.get_freeze_count() > 0.9 * before
    gc.disable()
    try:
        with Engine(patch, "host") as engine:
            engine.step()
            assert not gc.isenabled()
    finally:
        gc.enable()
