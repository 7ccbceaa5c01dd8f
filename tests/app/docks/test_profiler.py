"""The profiler dock."""

from collections.abc import Iterator
from typing import cast

import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QColor
from PySide6.QtTest import QTest

from tests.app.app_support import make_report
from tests.app.docks.recording import Recording
from tests.profiling.spans import span
from warploom.app.docks.profiler.profiler import Profiler
from warploom.app.theme.colours import current, make_current
from warploom.engine.profiling.levels import ProfilingLevel
from warploom.engine.profiling.profile import Profile, SpanProfile
from warploom.engine.protocol.client import Client

pytestmark = pytest.mark.usefixtures("qapp")


def profile_of(*spans: SpanProfile, level: ProfilingLevel = ProfilingLevel.PER_BLOCK) -> Profile:
    return Profile(1, level, 2_000_000, 2_100_000, 10_000, 1_000_000, spans)


@pytest.fixture
def profiler() -> Iterator[Profiler]:
    made = Profiler()
    made.resize(900, 300)
    made.set_level(ProfilingLevel.PER_BLOCK)
    made.show()
    made.set_seen(True)
    yield made
    made.close()
    made.deleteLater()


def test_it_watches_only_while_it_is_seen() -> None:
    """The dock watches profiles only while it is visible, and signals each change once."""
    profiler, told = Profiler(), list[bool]()
    profiler.watching.connect(told.append)
    for seen in (False, True, True, False):
        profiler.set_seen(seen)
    assert told == [True, False]
    profiler.deleteLater()


def test_a_profile_of_another_level_is_late(profiler: Profiler) -> None:
    """A profile of another level changes nothing; one of the chosen level fills the dock."""
    profiler.show_profile(profile_of(span("a"), level=ProfilingLevel.PER_KERNEL))
    assert profiler.page.currentIndex() == 0
    profiler.show_profile(profile_of(span("a")))
    assert profiler.page.currentIndex() == 1
    assert "measuring takes 1.0%" in profiler.summary.text()
    profiler.show_report(make_report(failed=True))
    assert profiler.page.currentIndex() == 0
    assert "stopped" in profiler.page.hint.text()


def test_the_last_frames_are_bars_and_a_click_chooses_one(profiler: Profiler) -> None:
    """The last frames are bars, requested while the dock is visible; a click chooses one, and a new engine has none."""
    engine, chosen = Recording(), list[int]()
    profiler.frame_chosen.connect(lambda flight, place: chosen.append(int(flight.frames["frame"][place])))
    profiler.show_profile(profile_of(span("a")))
    profiler._show()
    profiler.set_engine(cast(Client, engine))
    QTest.mouseClick(profiler.bars, Qt.MouseButton.LeftButton, pos=QPoint(profiler.bars.width() // 2, 8))
    place = profiler.bars.place_at(profiler.bars.width() // 2)
    assert place is not None and 200 < place < 400
    assert chosen == [place + 1], "its first frame has number 1"
    profiler.set_seen(False)
    asked = engine.asked
    profiler.feed.ask()
    assert engine.asked == asked
    profiler.set_engine(None)
    assert profiler.bars.place_at(10) is None


def test_times_change_in_place(profiler: Profiler) -> None:
    """If only times change, the rows and the selection stay."""
    profiler.show_profile(profile_of(span("a", busy_ns=10), span("b", busy_ns=5)))
    table = profiler.table
    resets: list[None] = []
    table.rows.modelReset.connect(lambda: resets.append(None))
    profiler.show_selection(["b"])
    table.show_profile(profile_of(span("a", busy_ns=1), span("b", busy_ns=50_000)))
    assert not resets
    assert table.rows.data(table.rows.index_of(1, 1)) == "50.0 µs"
    assert table.rows.table.node(table.currentIndex().internalId()) == "b"


@pytest.mark.feature("times")
def test_rows_and_bars_choose_nodes(profiler: Profiler) -> None:
    """Choosing a row or a bar signals its node; a selection made elsewhere is not signalled."""
    profiler.show_profile(profile_of(span("a", busy_ns=10_000), span("b", first_ns=10_000, busy_ns=10_000)))
    chosen: list[str] = []
    profiler.node_chosen.connect(chosen.append)
    profiler.show_selection(["a"])
    assert chosen == []
    profiler.table.setCurrentIndex(profiler.table.rows.index_of(1))
    assert chosen == ["b"]
    timeline = profiler.timeline
    assert timeline.bar_at(QPointF(timeline.width() / 4, 24)).row == 0  # type: ignore[union-attr]
    QTest.mouseClick(timeline, Qt.MouseButton.LeftButton, pos=QPoint(timeline.width() // 4, 24))
    assert chosen == ["b", "a"]


def test_the_timeline_zooms_about_a_point_and_stays_in_the_frame(profiler: Profiler) -> None:
    """The timeline zooms about the point under the pointer, and panning stops at the frame's end."""
    profiler.show_profile(profile_of(span("a", busy_ns=100_000)))
    timeline = profiler.timeline
    timeline.zoom(4, timeline.width() / 2)
    assert timeline.shown == pytest.approx((37_500, 62_500))
    timeline.pan(-100 * timeline.width())
    assert timeline.shown == pytest.approx((75_000, 100_000))
    timeline.fit()
    assert timeline.shown == (0, 100_000)


@pytest.mark.parametrize("theme", ["dark", "light"])
def test_bars_in_loops_stand_out_from_the_canvas(profiler: Profiler, theme: str) -> None:
    """Bars of work in loops are pale but visibly outlined."""
    make_current(theme)
    try:
        profiler.show_profile(profile_of(span("a", busy_ns=1000, is_region=True), span("b", region="a", turns=3)))
        picture, view = profiler.timeline.grab().toImage(), profiler.timeline
        bar = next(bar for bar in view.timeline.bars if view._table.node(bar.row) == "b")
        place = view._place(bar)
        corner = picture.pixelColor(round(place.left()), round(place.top()) + 4)
        canvas = QColor(current().canvas)
        assert max(abs(a - b) for a, b in zip(corner.getRgb(), canvas.getRgb(), strict=True)) > 40
    finally:
        make_current("dark")
