"""Pins: an output that holds again what it held passes in every engine, and fails beyond its tolerance."""

import json
import math
import random
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.fuzzing import seeds
from tests.protocol.engine_process import COMMAND
from tests.runtime.check.pinning import moving, pinned
from warploom import Engine, Patch, UpdateLevel
from warploom.engine.diagnostics import PatchError
from warploom.engine.patch.changes import PortRef
from warploom.engine.patch.files import dump_patch, load_patch, parse_patch, save_patch
from warploom.engine.patch.organise.pins import Pin, difference
from warploom.engine.profiling.levels import ProfilingLevel
from warploom.engine.runtime.check.pins import PinChecks, expected, pin_output
from warploom.engine.runtime.engine import open_engine

DTYPES = ("f2", "f4", "f8", "i1", "i4", "i8", "u1", "u4", "u8", "b1")


def texts(patch: Patch) -> list[str]:
    """Check the pins in a new engine, and return what each says."""
    with Engine(patch, "host") as engine:
        return [str(result) for result in PinChecks(patch).run(engine)]


def test_a_pin_passes_here_in_a_second_engine_and_over_the_pipe_and_then_fails(tmp_path: Path) -> None:
    """Frames count from 0 in steps of one length, so that state and time are as they were, in any engine."""
    patch = moving(100)
    patch.path = tmp_path / "moving.loom"
    for node, port in (("total", "out"), ("scale", "out"), ("lfo", "value")):
        pinned(patch, patch[node][port])
    save_patch(patch, patch.path)
    passed = [f"pin of {output}, frame 3: passed" for output in ("lfo.value", "scale.out", "total.out")]
    assert texts(patch) == passed
    opened = load_patch(patch.path)
    assert texts(opened) == passed
    with open_engine(opened, "host", COMMAND, profiling=ProfilingLevel.NONE) as client:
        assert [str(result) for result in PinChecks(client.patch).run(client)] == passed
    opened.set("scale", offset=0.25)
    assert texts(opened)[0::2] == passed[0::2]
    assert "100 of 100 elements: expected " in texts(opened)[1]


def oracle(expected: float, found: float, tolerance: float, relative: float) -> bool:
    """Return whether a number is within the tolerance, in exact arithmetic."""
    if not (math.isfinite(expected) and math.isfinite(found)):
        return expected == found or (math.isnan(expected) and math.isnan(found))
    one, other = Fraction(expected), Fraction(found)
    return abs(one - other) <= Fraction(tolerance) + Fraction(relative) * abs(one)


@pytest.mark.parametrize("seed", seeds(40))
def test_an_element_is_wrong_if_it_differs_by_more_than_the_tolerance(seed: int) -> None:
    """Elements of all types count as wrong exactly if they do in exact arithmetic; NaN equals NaN."""
    draw = random.Random(seed)
    kind = np.dtype(draw.choice(DTYPES))
    shape = draw.choice([(), (1,), (7,), (3, 4), (0,)])
    tolerance = draw.choice([0, 0, 0.5, 1, 3, 2.0**-10])
    relative = draw.choice([0, 0, 0.25, 2.0**-8])

    def element() -> float:
        if kind.kind == "f":
            return draw.choice([0.0, 1.0, -1.5, math.nan, math.inf, -math.inf, draw.randrange(-64, 64) / 8])
        if kind.kind == "b":
            return draw.random() < 0.5
        limits = np.iinfo(kind)
        return draw.choice([limits.min, limits.max, 0, 1, 3, 5, 100])

    one, other = (np.array([element() for _ in range(math.prod(shape))], kind).reshape(shape) for _ in range(2))
    pin = Pin(node="n", port="p", dtype=one.dtype.str, tolerance=tolerance, relative=relative)
    wrong = sum(
        not oracle(*pair, tolerance, relative)
        for pair in zip(one.ravel().tolist(), other.ravel().tolist(), strict=True)
    )
    said = difference(pin, one, other)
    assert bool(said) == bool(wrong)
    if wrong and one.size > 1:
        assert said.startswith(f"{wrong} of {one.size} elements: expected ")
    assert not difference(pin, one, one.copy())


@pytest.mark.parametrize("seed", seeds(12))
def test_small_contents_are_in_the_patch_and_equal_after_a_save(seed: int) -> None:
    """Numbers of all types come back from the file bit for bit, and undo gives the first file byte for byte."""
    draw = np.random.default_rng(seed)
    patch = moving()
    before = dump_patch(patch)
    kind = np.dtype(DTYPES[seed % len(DTYPES)])
    values = draw.integers(0, 256, (4, kind.itemsize), np.uint8).reshape(-1)
    array = (values[:4] % 2).astype(bool) if kind.kind == "b" else values.view(kind)
    pin = pin_output(patch, patch["total"]["out"], array, tolerance=0.5, budget_ms=1)
    text = dump_patch(patch)
    again = parse_patch(text)
    assert dump_patch(again) == text and again.annotations == patch.annotations
    np.testing.assert_array_equal(expected(again, again.annotations_of(Pin)[0]), array)
    assert not pin.file and patch.undo() == "Pin total.out" and dump_patch(patch) == before


def test_large_contents_are_in_a_file_that_only_the_patch_may_replace(tmp_path: Path) -> None:
    """A file beside the patch holds more than 64 elements; a patch that isn't trusted overwrites none but its own."""
    patch = moving(100)
    values = np.arange(100, dtype=np.float32)
    with pytest.raises(PatchError, match=r"patch must be saved before total.out is pinned"):
        pin_output(patch, patch["total"]["out"], values)
    save_patch(patch, tmp_path / "moving.loom")
    patch = load_patch(tmp_path / "moving.loom")
    pin = pin_output(patch, patch["total"]["out"], values)
    path = tmp_path / pin.file
    assert path.name.startswith("moving.total.out.") and path.suffix == ".npy"
    np.testing.assert_array_equal(np.load(path), values)
    pin_output(patch, patch["total"]["out"], values)  # the same file is not written again
    path.write_bytes(b"theirs")
    with pytest.raises(PatchError, match=r"pin of total.out: file must be new, or as this patch wrote it"):
        pin_output(patch, patch["total"]["out"], values)
    with pytest.raises(PatchError, match="must be as it was written, got other contents"):
        expected(patch, pin)
    pin_output(patch, patch["total"]["out"], values, overwrites=True)
    np.testing.assert_array_equal(expected(patch, pin), values)
    path.unlink()
    assert "must be readable, got No such file" in texts(patch)[0]


def test_pins_cost_nothing_and_go_with_their_blocks() -> None:
    """A pin is of update level NONE; it is copied with its block, deleted with it, and comes back with undo."""
    patch = moving()
    with Engine(patch, "host") as engine:
        engine.step()
        pin = pinned(patch, patch["scale"]["out"])
        assert engine.step().update_level is not UpdateLevel.COLD
        ids = patch.insert(patch.excerpt(["scale"]))
        assert {note.node for note in patch.annotations_of(Pin)} == {"scale", ids["scale"]}
        patch.remove("scale")
        assert [note.node for note in patch.annotations_of(Pin)] == [ids["scale"]]
        patch.undo()
        assert patch.annotations[pin.key] == pin
        patch.remove_annotation(pin.key)
        assert pin.key not in patch.annotations


def test_a_budget_is_compared_with_the_median_of_frames() -> None:
    """A pin with a time fails if frames take longer, and says both times."""
    patch = moving()
    pinned(patch, patch["total"]["out"], budget_ms=1e6)
    pinned(patch, patch["scale"]["out"], budget_ms=1e-6)
    scale, total = texts(patch)
    assert total.endswith("passed")
    assert "a frame, found a median of " in scale


@pytest.mark.parametrize(
    ("field", "value", "says"),
    [
        ("frame", -1, "frame of a pin must be from 0 to 216000, got -1"),
        ("tolerance", -1.0, "tolerance of a pin must be a number from 0 on, got -1.0"),
        ("budget_ms", "fast", "budget_ms of a pin must be a number from 0 on, got 'fast'"),
        ("file", "../x.0123456789abcdef.npy", "file of a pin must be NAME.DIGEST.npy in the patch's folder"),
        ("values", [1.0], "values of a pin must be those of "),
        ("values", [1.0, "x"], "values of a pin must be <f4, or one of nan, inf, -inf, got 'x'"),
        ("dtype", "O", "dtype of a pin without a file must be of numbers, such as <f4, got 'O'"),
        ("port", 3, "port of a pin must be a text"),
    ],
)
def test_a_wrong_field_in_a_file_is_named(field: str, value: object, says: str) -> None:
    """A file with a pin that can't be one is refused with the place and the rule."""
    patch = moving()
    pin_output(patch, patch["total"]["out"], np.float32([1, 2]))
    document = json.loads(dump_patch(patch))
    document["pins"][0][field] = value
    with pytest.raises(PatchError) as refused:
        parse_patch(json.dumps(document))
    assert "patch: pins[0]" in str(refused.value) and says in str(refused.value)


def test_only_outputs_of_the_patch_are_pinned() -> None:
    """An input and a port that does not exist are refused."""
    patch = moving()
    for port, says in ((PortRef("total", "x"), "pin must be of an output"), (PortRef("total", "z"), "z")):
        with pytest.raises(PatchError, match=says):
            pin_output(patch, port, np.float32([1]))


#: Arguments of `pin_output` beside the patch: right ones first, then wrong ones.
ARGUMENTS: dict[str, tuple[list[Any], list[Any]]] = {
    "port": (
        [PortRef("total", "out"), PortRef("lfo", "value"), PortRef("scale", "out")],
        [PortRef("total", "x"), PortRef("none", "out"), PortRef("total", ""), PortRef("", ""), "total.out", None, 3],
    ),
    "values": (
        [np.float32([1, 2]), [1, 2], 3.5, np.zeros((0, 3)), np.float32([math.nan, math.inf]), True, np.arange(64)],
        [None, "text", [None], object(), [[1], [2, 3]], np.array(["a"]), np.zeros(65), 1 << 70, {1: 2}],
    ),
    "frame": ([0, 59, 216_000], [-1, 216_001, 1.5, "1", None, math.nan, True, 1 << 80]),
    "tolerance": ([0, 0.5, Fraction(1, 2)], [-1, math.nan, math.inf, "0.1", None, True, [1], 1j]),
    "relative": ([0, 0.25], [-0.1, math.nan, -math.inf, "", None, False]),
    "budget_ms": ([None, 0, 16.6], [-1, math.nan, math.inf, "fast", True]),
}


@pytest.mark.parametrize("seed", seeds(60))
def test_a_wrong_argument_is_one_clear_error_and_changes_nothing(seed: int) -> None:
    """Any mixture of right and wrong arguments pins in one undo step, or raises one PatchError of one line."""
    draw, patch = random.Random(seed), moving()
    before = dump_patch(patch)
    wrong = [name for name in ARGUMENTS if draw.random() < 0.3]
    chosen = {name: draw.choice(ARGUMENTS[name][name in wrong]) for name in ARGUMENTS}
    port, values = chosen.pop("port"), chosen.pop("values")
    if not wrong:
        pin_output(patch, port, values, **chosen)
        assert parse_patch(dump_patch(patch)).annotations.keys() == patch.annotations.keys() == {f"pin {port}"}
        assert patch.undo() == f"Pin {port}"
    else:
        with pytest.raises(PatchError) as refused:
            pin_output(patch, port, values, **chosen)
        assert str(refused.value).strip() and "\n" not in str(refused.value)
    assert dump_patch(patch) == before


def test_plan_takes_nothing_and_is_none_while_nothing_runs() -> None:
    """`Client.plan` refuses any argument, answers None for an empty patch, and never runs a frame."""
    with Engine(Patch(), "host") as engine:
        for bad in (0, math.nan, None, "total"):
            with pytest.raises(TypeError):
                engine.plan(bad)  # type: ignore[call-arg]
        assert engine.plan() is None
        assert engine.flight_record().frames.size == 0
