"""Problems as texts, with an order and a filter."""

import time

import pytest

from warploom.app.view_models.lists.problems import (
    Problem,
    ProblemColumn,
    ProblemFilter,
    ProblemOrder,
    Rank,
    listed,
    rank_text,
)
from warploom.engine.diagnostics import Mend, Sighting, Source, error, warning
from warploom.engine.patch.document import Patch


def clock(time_s: float) -> str:
    return time.strftime("%H:%M:%S", time.localtime(time_s))


FADING = Problem(
    warning("buffer is full", node="b", port="out", source=Source.CAPACITY), Sighting(100, 160, 1234, is_fading=True)
)
BROKEN = Problem(
    error("k.cu must compile, got 2 errors:\nk.cu(3): no a\n  a;\nk.cu(5): no b", node="a", file="/x/k.cu", line=3),
    Sighting(120, 120),
)
LONELY = Problem(error("x must be connected", node="c", port="x", remedy="connect one", mend=Mend.CONNECT))


def test_the_texts_of_a_row() -> None:
    """A row shows a compiler's first error, and the time at which a fading problem was last found."""
    assert FADING.texts(Patch()) == ("buffer is full", "b, out", "Capacity", "", "", "1,234", clock(160))
    assert BROKEN.texts(Patch()) == ("k.cu(3): no a", "a", "Validation", "k.cu:3", "", "1", "now")
    assert BROKEN.details == ["k.cu(5): no b"]
    assert LONELY.texts(Patch()) == ("x must be connected", "c, x", "Validation", "", "connect one", "", "")
    assert len(LONELY.texts(Patch())) == len(ProblemColumn)


def test_the_history_is_a_sentence() -> None:
    """The tooltip's history of a problem is a sentence."""
    assert FADING.history == (f"First seen at {clock(100)}, found 1,234 times, last at {clock(160)}. No longer found.")
    assert BROKEN.history == f"First seen at {clock(120)}."
    assert LONELY.history == ""


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (None, [BROKEN, FADING, LONELY]),
        (ProblemColumn.PROBLEM, [FADING, BROKEN, LONELY]),
        (ProblemColumn.BLOCK, [BROKEN, FADING, LONELY]),
        (ProblemColumn.SOURCE, [FADING, BROKEN, LONELY]),
        (ProblemColumn.COUNT, [LONELY, BROKEN, FADING]),
        (ProblemColumn.LAST_SEEN, [LONELY, FADING, BROKEN]),
    ],
)
def test_the_order(column: ProblemColumn | None, expected: list[Problem]) -> None:
    """Problems are sorted by the chosen column, and otherwise by severity."""
    assert ProblemOrder(column).sort([LONELY, FADING, BROKEN], Patch()) == expected


def test_clicks_on_titles() -> None:
    """Clicks on a title sort ascending, descending, then not; another title starts ascending."""
    order = ProblemOrder()
    for expected in (
        ProblemOrder(ProblemColumn.COUNT),
        ProblemOrder(ProblemColumn.COUNT, descending=True),
        ProblemOrder(),
        ProblemOrder(ProblemColumn.COUNT),
    ):
        order = order.clicked(ProblemColumn.COUNT)
        assert order == expected
    assert order.clicked(ProblemColumn.FILE) == ProblemOrder(ProblemColumn.FILE)


def test_the_filter() -> None:
    """A problem must match both the severities and the source of a filter."""
    everything = [LONELY, FADING, BROKEN]
    for chosen, expected in (
        (ProblemFilter(), everything),
        (ProblemFilter(frozenset({Rank.ERROR, Rank.WARNING})), [FADING, BROKEN]),
        (ProblemFilter(source=Source.VALIDATION), [LONELY, BROKEN]),
        (ProblemFilter(frozenset({Rank.ERROR}), Source.VALIDATION), [BROKEN]),
        (ProblemFilter(frozenset()), []),
    ):
        assert [problem for problem in everything if chosen.fits(problem)] == expected
    assert [rank_text(rank, 2) for rank in Rank] == ["2 errors", "2 warnings", "2 incomplete"]


def test_sightings_go_with_their_diagnostics() -> None:
    """Diagnostics are paired with their sightings, or with None if there are no sightings."""
    found, seen = (FADING.diagnostic, BROKEN.diagnostic), (Sighting(1, 2), Sighting(3, 4))
    assert listed(Patch(), found, seen) == [Problem(*pair) for pair in zip(found, seen, strict=True)]
    assert [each.sighting for each in listed(Patch(), found)] == [None, None]
