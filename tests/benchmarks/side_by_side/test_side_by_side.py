"""Contests of programs whose times and results are known, and their tables."""

from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from tests.benchmarks.side_by_side import contest, table
from tests.benchmarks.side_by_side.contest import OURS, Contest, Missing, Program, Row, hold
from tests.benchmarks.side_by_side.peers import npp_programs
from tests.benchmarks.side_by_side.topics import media
from warploom import open_device
from warploom.engine.device.device import DeviceInfo


@pytest.fixture(autouse=True)
def _is_quick(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SETTLE_S", "TURN_S", "MEASURED_S"):
        monkeypatch.setattr(contest, name, 1e-4)


def program(result: object, _: ExitStack) -> Program:
    """Return a program that does nothing and has a result."""
    return Program(lambda: None, result=lambda: result)


def missing(_: ExitStack) -> Program:
    """Raise, as a program that is not installed."""
    raise Missing("it is not installed")


def test_programs_are_measured_compared_and_named_when_missing() -> None:
    """Quartiles are in order; results that differ too much are listed, and programs that are missing."""
    ours = np.array([1.0, 200.0])
    others = {"same": ours + 1e-3, "other": ours + 1.0}
    made = {OURS: partial(program, ours), "gone": missing} | {
        name: partial(program, each) for name, each in others.items()
    }
    row = hold(Contest("work", made, tolerance=1e-4))
    assert set(row.times) == {OURS, *others}
    assert all(low <= middle <= high for low, middle, high in row.times.values())
    assert row.missing == {"gone": "it is not installed"}
    assert row.differs == {"other": 1.0}


@pytest.mark.parametrize(
    ("mine", "theirs"), [(True, False), (np.uint8(3), np.uint8(250)), (1 + 2j, 1 + 9j)], ids=["bool", "u8", "complex"]
)
def test_results_of_every_type_are_compared(mine: object, theirs: object) -> None:
    """Differences don't wrap around, and imaginary parts count."""
    made = {OURS: partial(program, np.array([mine])), "other": partial(program, np.array([theirs]))}
    assert hold(Contest("work", made)).differs == {"other": abs(complex(mine) - complex(theirs))}  # type: ignore[call-overload]


def broken(_: ExitStack) -> Program:
    """Return a program that fails when it is launched."""

    def launch() -> None:
        raise ValueError("no memory\nand more")

    return Program(launch)


@pytest.mark.parametrize("settles", [True, False])
def test_a_program_that_fails_is_named_and_the_others_are_measured(settles: bool) -> None:
    """The first line of the error is shown; also where programs begin anew in each launch."""
    row = hold(Contest("work", {OURS: partial(program, 1.0), "broken": broken}, turns=2, settles=settles))
    assert set(row.times) == {OURS}
    assert row.missing == {"broken": "work: ValueError: no memory"}


def test_a_kind_of_machine_has_a_baseline() -> None:
    """It is named after the GPU, or the number of cores."""
    names = ("cuda:0", "NVIDIA H200"), ("host", "a CPU")
    found = [table.baseline_of(DeviceInfo(*each, "compute_90", 1 << 30, 2)).name for each in names]
    assert found == ["nvidia-h200.json", "host-2-cores.json"]


def row_of(ours: float, *, against: str | None = None) -> Row:
    """Return a row whose other programs take 2 and 4 ms."""
    times = {OURS: (ours, ours, ours), "a": (2.0, 2.0, 2.0), "b": (4.0, 4.0, 4.0)}
    return Row("work", 1.0, against, times, moved_bytes=4_000_000)


def test_the_ratio_is_to_the_fastest_other_program_or_to_the_one_named() -> None:
    """The ratio of a row without our time or without another program's is None."""
    assert row_of(3.0).ratio == 1.5
    assert row_of(3.0, against="b").ratio == 0.75
    assert row_of(3.0, against="gone").ratio is None
    assert Row("work", 1.0, None).ratio is None


def test_a_table_shows_missed_ratios_and_shares_of_a_copy() -> None:
    """A row of 4 MB in 3 ms is 2/3 of a copy of 2 GB a second."""
    shown = table.markdown(table.machine("a device"), [row_of(3.0)], 2e9)
    assert "| 1.50 **missed** | 1 x the fastest | 0.67 |" in shown
    assert "missed" not in table.markdown(table.machine("a device"), [row_of(1.0)], 2e9)


def test_a_worse_ratio_than_in_an_earlier_run_is_listed(tmp_path: Path) -> None:
    """Rows that the earlier run lacks, and ratios that are a little worse, are not."""
    earlier = tmp_path / "earlier.json"
    table.write_json(earlier, table.machine("a device"), [row_of(2.0)])
    ratios = table.read_ratios(earlier)
    assert table.worse_than(ratios, [row_of(2.1)]) == []
    assert table.worse_than(ratios, [row_of(3.0)]) == ["work: 1.50 x the fastest, before 1.00 x"]
    assert table.worse_than(ratios, [Row("new", 1.0, None)]) == []


def test_a_photo_by_the_calls_of_npp_is_that_of_scipy() -> None:
    """It is blurred, searched for edges and toned alike up to the borders."""
    photo = np.random.default_rng(3).random((37, 53, 4), np.float32)
    with closing(open_device("host")) as device, ExitStack() as opened:
        made = npp_programs.photo(device, photo, media.SIGMA, media.CONTRAST, media.GREY, opened)
        expected = media.array_photo("numpy", photo, opened)
        for each in (made, expected):
            each.launch()
        made.wait()
        assert made.result is not None and expected.result is not None
        np.testing.assert_allclose(made.result(), expected.result(), atol=1e-5)
