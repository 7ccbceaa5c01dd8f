"""The updates list shows why something was rebuilt, who caused it, and what it cost."""

from typing import Any

import pytest
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from tests.app.app_support import make_report
from warploom.app.docks.updates import LEVELS, Updates
from warploom.app.theme import colours
from warploom.engine.patch.document import Patch
from warploom.engine.protocol.messages import UpdateLevel, UpdateRecord

COLD, CODE, WARM = UpdateLevel.COLD, UpdateLevel.CODE, UpdateLevel.WARM


def record(level: UpdateLevel = COLD, cause: str = "block blur", **fields: Any) -> UpdateRecord:
    """Return an update that took 3 ms, of which the frame waited 0.2 ms."""
    plain: dict[str, Any] = {"source": "edit", "beside_ns": 2_800_000, "swap_ns": 200_000}
    return UpdateRecord(level, cause, 3_000_000, 1017, **{**plain, **fields})


def texts(updates: Updates) -> list[list[str]]:
    """Return the visible rows without their time of day."""
    rows = updates.table.model()
    return [
        [str(rows.index(row, column).data()) for column in range(1, rows.columnCount())]
        for row in range(rows.rowCount())
    ]


@pytest.fixture
def updates(qtbot: QtBot) -> Updates:
    """An empty, visible list."""
    made = Updates()
    qtbot.addWidget(made)
    made.resize(700, 160)
    made.show()
    return made


def test_a_row_shows_level_cause_author_frame_and_cost(updates: Updates) -> None:
    """A row shows the level, cause, author, frame and cost of an update, with units."""
    updates.add(record(COLD, "connection a.out to b.x", source="undo"))
    assert texts(updates) == [["Cold", "connection a.out to b.x", "undo", "1,017", "3.00 ms", "200 µs"]]
    tooltip = updates.rows.tooltip(updates.rows.rows[0], 0)
    assert "Prepared beside the running graph: 2.80 ms" in tooltip


def test_every_level_above_hot_is_listed() -> None:
    """Every level above HOT has a name in the list."""
    assert set(LEVELS) == {level for level in UpdateLevel if level > UpdateLevel.HOT}


def test_an_empty_list_says_what_will_be_in_it(updates: Updates) -> None:
    """An empty list shows a hint, before the first update and after clearing."""
    assert updates.currentIndex() == 0
    assert "No rebuilds yet" in updates.hint.text()
    updates.add(record())
    assert updates.currentIndex() == 1
    updates.clear_button.click()
    assert updates.currentIndex() == 0
    assert updates.rows.counts.total() == 0


def test_levels_are_counted_and_can_be_hidden(qtbot: QtBot, updates: Updates) -> None:
    """When a hidden level is shown again, all of its rows are back in order, including those added meanwhile."""
    for level, cause in ((COLD, "1"), (WARM, "2"), (COLD, "3")):
        updates.add(record(level, cause))
    updates.levels[COLD].setChecked(False)
    assert [row[1] for row in texts(updates)] == ["2"]
    updates.add(record(COLD, "4"))
    updates.add(record(CODE, "5"))
    assert [row[1] for row in texts(updates)] == ["2", "5"]
    updates.levels[COLD].setChecked(True)
    assert [row[1] for row in texts(updates)] == ["1", "2", "3", "4", "5"]
    qtbot.waitUntil(lambda: updates.levels[COLD].text() == "Cold 3")
    assert [updates.levels[level].text() for level in (CODE, WARM)] == ["Code 1", "Warm 1"]


def test_parameter_writes_are_counted_from_the_last_clear(qtbot: QtBot, updates: Updates) -> None:
    """Parameter writes are counted from the last clear, even if a new engine starts to count at 0."""
    updates.show_report(make_report(hot_updates=1200))
    qtbot.waitUntil(lambda: updates.hot_label.text() == "Hot 1,200")
    updates.clear()
    assert updates.hot_label.text() == "Hot 0"
    updates.show_report(make_report(hot_updates=1203))
    qtbot.waitUntil(lambda: updates.hot_label.text() == "Hot 3")
    updates.begin_again()
    updates.show_report(make_report(hot_updates=2))
    qtbot.waitUntil(lambda: updates.hot_label.text() == "Hot 5")


def test_a_click_goes_to_the_first_block_that_is_still_there(qtbot: QtBot, updates: Updates, patch: Patch) -> None:
    """A click selects the cause's first block that still exists; a cause whose blocks were removed says so."""
    patch.add("test_app.picture", node_id="p")
    updates.set_patch(patch)
    updates.add(record(nodes=("gone", "p")))
    updates.add(record(nodes=("gone",)))
    updates.add(record())
    went: list[str] = []
    said: list[str] = []
    updates.node_activated.connect(went.append)
    updates.noted.connect(said.append)
    for row in range(3):
        updates.table.clicked.emit(updates.table.model().index(row, 2))
    assert went == ["p"]
    updates.table.setCurrentIndex(updates.table.model().index(0, 0))
    qtbot.keyClick(updates.table, Qt.Key.Key_Return)
    assert went == ["p", "p"]
    assert said == ["gone is no longer in the patch"]


def test_another_patch_begins_with_an_empty_list(updates: Updates, patch: Patch) -> None:
    """Another patch starts with an empty list."""
    updates.add(record())
    updates.set_patch(patch)
    assert texts(updates) == []


def test_the_newest_stays_in_view_unless_the_person_looks_at_an_older_one(qtbot: QtBot, updates: Updates) -> None:
    """A new row scrolls the list only if the list was at its end."""
    bar = updates.table.verticalScrollBar()
    for _ in range(50):
        updates.add(record())
    qtbot.waitUntil(lambda: bar.maximum() > 0 and bar.value() == bar.maximum())
    bar.setValue(3)
    updates.add(record())
    assert bar.value() == 3


@pytest.mark.parametrize("shown", [frozenset({COLD}), frozenset({WARM}), frozenset({COLD, WARM}), frozenset()])
def test_the_list_does_not_grow_without_end(qtbot: QtBot, updates: Updates, shown: frozenset[UpdateLevel]) -> None:
    """The oldest rows are dropped, even of hidden levels, but still counted; the newest is kept."""
    rows = updates.rows
    for level, button in updates.levels.items():
        button.setChecked(level in shown)
    total = rows.LIMIT + 150
    for number in range(total):
        rows.add_record(record(COLD if number % 2 else WARM, str(number)))
        assert len(rows.rows) <= rows.LIMIT
    assert rows.counts.total() == total
    kept = [int(row.record.cause) for row in rows.rows]
    assert kept == list(range(total - len(kept), total))
    assert [row[1] for row in texts(updates)] == [r.record.cause for r in rows.rows if r.record.level in shown]


def test_a_wait_that_costs_a_display_frame_is_marked(updates: Updates) -> None:
    """An update that delays a frame by more than a sixtieth of a second is shown in the warning colour."""
    updates.add(record(swap_ns=16_000_000))
    updates.add(record(swap_ns=17_000_000))
    found = [updates.rows.data(updates.rows.index(row, 6), Qt.ItemDataRole.ForegroundRole) for row in (0, 1)]
    assert [colour.name() for colour in found] == [colours.current().text, colours.current().warning]  # type: ignore[attr-defined]
