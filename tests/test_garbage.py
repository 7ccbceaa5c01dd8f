"""Python's garbage collection while an engine opens a large patch and prepares graphs."""

import gc
import weakref
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest

from warploom import Engine, Patch, ProfilingLevel
from warploom.engine import garbage


@pytest.fixture
def collections() -> Iterator[list[int]]:
    """The generations that were collected, by an automatic collection that an editor of other tests may have ended."""
    seen, was_enabled = list[int](), gc.isenabled()
    gc.enable()

    def note(phase: str, info: dict[str, Any]) -> None:
        if phase == "stop":
            seen.append(info["generation"])

    gc.callbacks.append(note)
    yield seen
    gc.callbacks.remove(note)
    if not was_enabled:
        gc.disable()


@pytest.fixture
def frozen(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Unfreeze the objects that the test run froze, and freeze them again."""
    monkeypatch.setattr(garbage, "_is_frozen", False)
    gc.unfreeze()
    yield
    gc.freeze()


def large() -> Patch:
    patch = Patch()
    for _ in range(300):
        patch.add("math.scale_offset")
    return patch


@pytest.mark.usefixtures("frozen")
def test_old_objects_are_not_looked_at_while_graphs_are_prepared(collections: list[int]) -> None:
    """While graphs are prepared, no old objects are collected until a million objects have become old."""
    patch = large()
    gc.collect()
    with Engine(patch, "host") as engine:
        for _ in range(5):
            collections.clear()
            engine.step()
            assert 2 not in collections and gc.isenabled() and not gc.get_freeze_count()
            patch.add("math.scale_offset")
        garbage._aged = garbage._MOST_AGED + 1
        collections.clear()
        engine.step()
        assert 2 in collections and garbage._aged < garbage._MOST_AGED


def test_what_others_froze_or_switched_off_stays_so(collections: list[int]) -> None:
    """Objects that others froze stay frozen, and automatic collection stays off if others switched it off."""
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


@pytest.mark.parametrize("fuse", [True, False])
def test_a_replaced_plan_needs_no_collection(fuse: bool) -> None:
    """A plan that an edit has replaced is freed at once, also if a port was read meanwhile."""
    patch = Patch()
    nodes = [patch.add("buffer.constant"), *(patch.add("math.scale_offset") for _ in range(3))]
    for source, target in pairwise(nodes):
        patch.connect(source["out"], target["x"])
    with Engine(patch, "host", fuse=fuse, profiling=ProfilingLevel.NONE) as engine:
        gc.disable()
        try:
            plans = []
            for _ in range(3):
                engine.step()
                engine.read(nodes[1]["out"])
                compiled = engine.core.updates.compiled
                assert compiled is not None
                plans.append(weakref.ref(compiled.plan))
                del compiled
                patch.add("math.scale_offset")
            engine.step()
            assert [plan() for plan in plans] == [None] * 3
        finally:
            gc.enable()
