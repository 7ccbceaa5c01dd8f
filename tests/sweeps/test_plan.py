"""The values of a sweep, its runs, their identities and slices."""

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.sweeps.sweep_support import saxpy_patch
from warploom import Patch
from warploom.engine.diagnostics import PatchError
from warploom.engine.sweeps.axes import Axis, files_axis, grid_axis, range_values
from warploom.engine.sweeps.plan import Run, Slice, plan_runs


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("0:1:0.1", (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)),
        ("0:1:0.3", (0.0, 0.3, 0.6, 0.9)),
        ("0:1:0.33333333", (0.0, 0.33333333, 0.66666666, 0.99999999)),
        ("0:1:0.33333334", (0.0, 0.33333334, 0.66666668, 1.0)),
        ("1:-1:-0.5", (1.0, 0.5, 0.0, -0.5, -1.0)),
        ("2:2:1", (2.0,)),
        ("1:3", (1.0, 2.0, 3.0)),
        ("1, 2,2,3e0", (1.0, 2.0, 3.0)),
    ],
)
def test_a_text_gives_the_values_of_an_axis(text: str, values: tuple[float, ...]) -> None:
    """A range has the decimal values that it names, and its end if a step hits it; a value is there once."""
    assert grid_axis(saxpy_patch(), "saxpy.a", text) == Axis("saxpy.a", values)


@given(st.integers(-50, 50), st.integers(0, 200), st.integers(1, 40), st.booleans())
def test_a_range_has_equal_steps_up_to_its_end(start: int, steps: int, step: int, falls: bool) -> None:
    """A range of n decimal steps has n + 1 values, and ends exactly at its end."""
    sign = -1 if falls else 1
    first, width = Fraction(start, 10), Fraction(sign * step, 100)
    last = first + steps * width
    text = ":".join(f"{float(number):.2f}" for number in (first, last, width))
    assert range_values(text) == [first + number * width for number in range(steps + 1)]


@pytest.mark.parametrize(
    ("target", "values", "message"),
    [
        ("saxpy.a", "0:1:0", "range must have a step other than 0, got '0:1:0', which never ends"),
        ("saxpy.a", "0:1:-0.1", "range must have a step that leads from its start to its end, got '0:1:-0.1'"),
        ("saxpy.a", "0:inf:1", "range must be start:stop:step with finite numbers, got '0:inf:1'"),
        ("saxpy.a", "0:nan:1", "range must be start:stop:step with finite numbers, got '0:nan:1'"),
        ("saxpy.a", "0:1:1e-9", "range must have at most 1,000,000 values, got '0:1:1e-9'"),
        ("saxpy.a", "0:1:2:3", "range must be start:stop:step with finite numbers, got '0:1:2:3'"),
        ("saxpy.a", "1,b", "parameter a must be a finite number, got 'b'"),
        ("saxpy.a", [], "values of saxpy.a must be one or more, got none"),
        ("saxpy.b", "1", "parameter saxpy.b: math.saxpy: parameter must be one of a, got 'b'"),
        ("other.a", "1", "parameter other.a: node must be one of x, y, saxpy, got 'other'"),
        ("saxpy", "1", "parameter must be NODE.PARAM, got 'saxpy'"),
        ("x.data", "1", "parameter x.data must be a number, switch, text or file, got one of type array"),
    ],
)
def test_wrong_values_have_one_message(target: str, values: Any, message: str) -> None:
    """Values that don't fit, a range that never ends and a parameter that is not there are named."""
    with pytest.raises(PatchError) as problem:
        grid_axis(saxpy_patch(), target, values)
    assert message in str(problem.value)


def test_a_driven_parameter_is_refused() -> None:
    """A parameter that a connection or keys drive would have the same value in all runs."""
    patch = saxpy_patch()
    patch.animate("saxpy", "a", [(0, 1.0), (1, 2.0)])
    with pytest.raises(PatchError, match=r"parameter saxpy.a must not be animated"):
        grid_axis(patch, "saxpy.a", "1,2")
    patch.animate("saxpy", "a", ())
    patch.connect(patch.add("value.lfo", node_id="lfo")["value"], patch["saxpy"]["a"])
    with pytest.raises(PatchError, match=r"parameter saxpy.a must not be driven, got a connection from lfo.value"):
        grid_axis(patch, "saxpy.a", "1,2")


def test_files_are_sorted_and_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pattern gives files, sorted, as whole paths; folders don't count, and a pattern without files is an error."""
    patch = Patch()
    patch.add("io.load_image", node_id="load")
    for name in ("b.png", "a.png", "c.txt"):
        (tmp_path / name).touch()
    (tmp_path / "d.png").mkdir()
    monkeypatch.chdir(tmp_path)
    axis = files_axis(patch, "load.file", "*.png")
    assert axis.values == (str(tmp_path / "a.png"), str(tmp_path / "b.png"))
    assert files_axis(patch, "load.file", str(tmp_path / "*.png")) == axis
    with pytest.raises(PatchError, match=r"files of load.file must match '\*.exr', got none in"):
        files_axis(patch, "load.file", "*.exr")
    with pytest.raises(PatchError, match=r"files of saxpy.a must be for a parameter that names a file"):
        files_axis(saxpy_patch(), "saxpy.a", "*.png")


def test_runs_are_the_product_of_all_axes() -> None:
    """The last axis changes first, then the frames; a parameter may only be there once."""
    axes = [Axis("a.x", (1, 2)), Axis("b.y", ("s", "t"))]
    runs = plan_runs(axes, [range(3), range(5, 7)])
    assert [(*run.values.values(), run.first, run.last) for run in runs] == [
        (x, y, first, last) for x in (1, 2) for y in "st" for first, last in ((0, 2), (5, 6))
    ]
    assert len({run.id for run in runs}) == 8
    with pytest.raises(PatchError, match=r"parameter a.x must have one list of values or files, got 2"):
        plan_runs([*axes, axes[0]], [range(1)])
    with pytest.raises(PatchError, match="sweep must have at most 1,000,000 runs, got 1,002,001"):
        plan_runs([Axis("a.x", tuple(range(1001))), Axis("b.y", tuple(range(1001)))], [range(1)])


def test_an_identity_follows_from_the_values_alone() -> None:
    """The order of axes and the form of a number don't matter; a value, a name or the frames do."""
    run = Run({"a.x": 1, "b.y": "s"}, 0, 4)
    assert run.id == Run({"b.y": "s", "a.x": 1.0}, 0, 4).id
    others = [Run({"a.x": 1, "b.y": "s"}, 1, 4), Run({"a.x": 1.5, "b.y": "s"}, 0, 4), Run({"a.x": 1}, 0, 4)]
    others += [Run({"a.x": "1", "b.y": "s"}, 0, 4), Run({"a.x": True, "b.y": "s"}, 0, 4)]
    assert len({run.id, *(other.id for other in others)}) == 6


@given(st.integers(0, 50), st.integers(1, 60))
def test_slices_part_the_runs(count: int, tasks: int) -> None:
    """Each run is in exactly one slice, and slices differ by one run at most."""
    runs = plan_runs([Axis("a.x", tuple(range(count)))], [range(1)])
    slices = [Slice(number, tasks).of(runs) for number in range(1, tasks + 1)]
    assert sorted(run.values["a.x"] for part in slices for run in part) == list(range(count))
    assert max(map(len, slices)) - min(map(len, slices)) <= 1


@pytest.mark.parametrize("text", ["0/4", "5/4", "1", "a/b", "1/0", "-1/4", ""])
def test_a_wrong_slice_is_refused(text: str) -> None:
    """A task is K/N with K from 1 to N."""
    assert Slice.parse("2/4") == Slice(2, 4)
    with pytest.raises(PatchError, match="task must be K/N with K from 1 to N"):
        Slice.parse(text)
