"""io.external: memory of the user's own, in place of a copy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine import Engine, Patch, UpdateLevel
from engine.diagnostics import PatchError
from engine.patch.document import NodeRef
from engine.patch.files import load_patch, save_patch
from tests.blocks.running import problems, run


def _scaled(array: Any) -> tuple[Patch, NodeRef, NodeRef]:
    patch = Patch()
    source, scale = patch.add("io.external", array=array), patch.add("math.scale_offset", scale=2.0)
    patch.connect(source["out"], scale["x"])
    return patch, source, scale


class OnlyDlpack:
    """An array that gives its memory by DLPack alone, as a tensor of PyTorch on the CPU does."""

    def __init__(self, array: Any) -> None:
        self.array = array

    def __dlpack__(self, **options: Any) -> Any:
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self.array.__dlpack_device__()


@pytest.mark.parametrize("wrap", [lambda array: array, OnlyDlpack])
def test_the_patch_reads_what_the_array_holds_now(wrap: Any) -> None:
    """A write by the user is in the next frame, with nothing set, and after a rebuild too."""
    array = np.arange(301, dtype=np.float32)
    patch, _, scale = _scaled(wrap(array))
    with Engine(patch, device="host") as engine:
        for value in (3.0, 4.0, 5.0):
            array[7] = value
            assert not engine.step().diagnostics
            np.testing.assert_array_equal(engine.read(scale["out"]), 2 * array)
            patch.add("buffer.constant")


def test_blocks_in_place_change_the_array() -> None:
    """Assign writes into the user's memory."""
    array = np.zeros((3, 5), np.float32)
    patch = Patch()
    source, assign = patch.add("io.external", array=array), patch.add("buffer.assign")
    value = np.arange(15, dtype=np.float32).reshape(3, 5)
    patch.connect(source["out"], assign["target"])
    patch.connect(patch.add("io.array", data=value)["out"], assign["value"])
    run(patch, assign["out"])
    np.testing.assert_array_equal(array, value)


def test_gaps_are_seen_as_strides() -> None:
    """Every other column of an array, through a Copy."""
    array = np.arange(42, dtype=np.int16).reshape(6, 7)
    patch = Patch()
    source, copy = patch.add("io.external", array=array[::2, 1:6:2]), patch.add("buffer.copy")
    patch.connect(source["out"], copy["x"])
    np.testing.assert_array_equal(run(patch, copy["out"])[0], array[::2, 1:6:2])


def test_another_array_takes_its_place() -> None:
    """One of the same layout changes an address, one of another shape changes launches: neither needs a rebuild."""
    patch, source, scale = _scaled(np.ones(10, np.float32))
    with Engine(patch, device="host") as engine:
        engine.step()
        patch.set(source, array=np.full(10, 3, np.float32))
        assert engine.step().update_level is UpdateLevel.WARM
        np.testing.assert_array_equal(engine.read(scale["out"]), np.full(10, 6))
        patch.set(source, array=np.full(11, 4, np.float32))
        assert engine.step().update_level is UpdateLevel.WARM
        np.testing.assert_array_equal(engine.read(scale["out"]), np.full(11, 8))
        patch.undo()
        engine.step()
        np.testing.assert_array_equal(engine.read(scale["out"]), np.full(10, 6))


def test_it_is_not_saved(tmp_path: Path) -> None:
    """The file holds the block without its array, and says on the block what to do."""
    patch, source, _ = _scaled(np.ones(10, np.float32))
    save_patch(patch, tmp_path / "mine.loom")
    loaded = load_patch(tmp_path / "mine.loom")
    assert "base64" not in (tmp_path / "mine.loom").read_text()
    assert any(at == source.id and "array must be set from Python" in text for at, _, text in problems(loaded))


@pytest.mark.parametrize("value", [3, "text", [1, 2], object()])
def test_what_gives_no_memory_is_refused(value: Any) -> None:
    """When it is set."""
    with pytest.raises(PatchError, match="parameter array must be an array that has one of"):
        Patch().add("io.external", array=value)


def test_memory_that_can_t_be_used_is_told() -> None:
    """Read-only memory, with what to do."""
    array = np.ones(10, np.float32)
    array.flags.writeable = False
    patch, _, _ = _scaled(array)
    assert any("must be writable" in text for _, _, text in problems(patch))
