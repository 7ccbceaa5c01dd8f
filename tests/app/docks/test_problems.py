"""The problem list, whose rows lead to their nodes."""

import time

import msgspec
from PySide6.QtCore import QEvent, QObject
from PySide6.QtWidgets import QApplication, QPushButton, QWidget
from pytestqt.qtbot import QtBot

from warploom.app.docks.problems import Problems
from warploom.app.view_models.lists.problems import ProblemColumn, Rank
from warploom.app.window.problem_count import count_text
from warploom.engine.diagnostics import Mend, Sighting, Source, error, warning
from warploom.engine.patch.document import Patch


def test_errors_come_before_warnings_and_name_the_block(qtbot: QtBot, patch: Patch) -> None:
    """Errors come before warnings, and a row shows the problem, its block and the remedy."""
    patch.add("test_app.picture", node_id="p", title="Backdrop")
    problems = Problems()
    qtbot.addWidget(problems)
    problems.set_patch(patch)
    problems.show_diagnostics(
        (
            warning("output is unused", node="p"),
            error("image must be connected", node="p", port="image", remedy="connect one"),
        )
    )
    rows = [problems.list.topLevelItem(i) for i in range(2)]
    assert [
        [row.text(column) for column in (ProblemColumn.PROBLEM, ProblemColumn.BLOCK, ProblemColumn.REMEDY)]
        for row in rows
        if row
    ] == [
        ["image must be connected", "Backdrop, image", "connect one"],
        ["output is unused", "Backdrop", ""],
    ]


def test_a_kernel_error_names_its_line(qtbot: QtBot) -> None:
    """A kernel error's file name and line are visible in their column, however long the message is."""
    problems = Problems()
    qtbot.addWidget(problems)
    problems.resize(700, 200)
    problems.show()
    problems.show_diagnostics((error("expected a ; " * 50, file="/some/where/my_own_blocks.py", line=1234),))
    row, model = problems.list.topLevelItem(0), problems.list.model()
    assert row is not None
    (index,) = (model.index(0, column) for column in ProblemColumn if row.text(column).endswith(":1234"))
    assert index.data() == "my_own_blocks.py:1234"
    assert problems.list.columnWidth(index.column()) >= problems.list.sizeHintForIndex(index).width()
    problems.show_diagnostics((error("no file"),))
    assert problems.list.isColumnHidden(index.column())


def test_a_compilers_errors_have_a_row_each(qtbot: QtBot) -> None:
    """The first row shows a compiler's first error, and rows below it the others; the tooltip is the whole message."""
    problems = Problems()
    qtbot.addWidget(problems)
    text = "blur.cu must compile, got 2 errors:\nblur.cu(3): no a\n  a;\n  ^\nblur.cu(5): no b\n  b;\n  ^"
    problems.show_diagnostics((error(text, node="p", file="/some/where/blur.cu", line=3, remedy="correct it"),))
    row = problems.list.topLevelItem(0)
    assert row is not None
    assert row.text(0) == "blur.cu(3): no a"
    assert [row.child(i).text(0) for i in range(row.childCount())] == ["blur.cu(5): no b"]
    assert "got 2 errors" in row.toolTip(0) and "  a;" in row.toolTip(0)
    assert not problems.list.isColumnHidden(ProblemColumn.REMEDY)
    problems.show_diagnostics((error("no remedy"),))
    assert problems.list.isColumnHidden(ProblemColumn.REMEDY)


def test_a_renamed_block_is_renamed_in_the_list(qtbot: QtBot, patch: Patch) -> None:
    """When a block is renamed, the list shows its new name."""
    patch.add("test_app.picture", node_id="p", title="Backdrop")
    problems = Problems()
    qtbot.addWidget(problems)
    problems.set_patch(patch)
    problems.show_diagnostics((error("no", node="p"),))
    patch.rename("p", "Sky")
    row = problems.list.topLevelItem(0)
    assert row is not None
    assert row.text(1) == "Sky"


def test_a_problem_with_a_button_opens_no_window(qtbot: QtBot, patch: Patch) -> None:
    """Adding a button to a row opens no window, which would take the keyboard focus."""
    patch.add("test_app.screen", node_id="screen")
    problems = Problems()
    qtbot.addWidget(problems)
    problems.set_patch(patch)
    problems.show()
    opened: list[str] = []

    class Watch(QObject):
        def eventFilter(self, watched: QObject, event: QEvent) -> bool:
            if event.type() == QEvent.Type.Show and isinstance(watched, QWidget) and watched.isWindow():
                opened.append(repr(watched))
            return False

    watch = Watch()
    QApplication.instance().installEventFilter(watch)  # type: ignore[union-attr]  # qtbot made the application
    problems.show_diagnostics((error("nothing comes in", node="screen", port="image", mend=Mend.CONNECT),))
    QApplication.instance().removeEventFilter(watch)  # type: ignore[union-attr]  # qtbot made the application
    assert problems.list.findChildren(QPushButton)
    assert opened == []


SLOW = warning("kernel scale leaves much idle", node="p", source=Source.OCCUPANCY)
FULL = warning("append buffer is at 91 % of its capacity", node="q", port="out", source=Source.CAPACITY)
BROKEN = error("scale.cu must compile", node="p", source=Source.COMPILE)


def listed(problems: Problems) -> list[str]:
    """Return the first word of each row."""
    rows = [problems.list.topLevelItem(i) for i in range(problems.list.topLevelItemCount())]
    return [row.text(ProblemColumn.PROBLEM).split()[0] for row in rows if row is not None]


def test_filters_choose_what_is_listed(qtbot: QtBot) -> None:
    """Filters by severity and source show their counts; the status bar still counts all problems."""
    problems = Problems()
    qtbot.addWidget(problems)
    with qtbot.waitSignal(problems.counted) as counted:
        problems.show_diagnostics((SLOW, FULL, BROKEN))
    assert counted.args == [1, 2, 0]
    assert [problems.ranks[rank].text() for rank in Rank] == ["1 error", "2 warnings", "0 incomplete"]
    assert [problems.source.itemText(i) for i in range(problems.source.count())] == [
        "All sources",
        "Compile (1)",
        "Capacity (1)",
        "Occupancy (1)",
    ]
    problems.ranks[Rank.ERROR].click()
    assert listed(problems) == ["kernel", "append"]
    problems.source.setCurrentIndex(2)
    problems.source.activated.emit(2)
    assert listed(problems) == ["append"]
    problems.show_diagnostics((SLOW, BROKEN))  # the chosen source stays chosen without any problems
    assert listed(problems) == []
    assert problems.source.currentText() == "Capacity (0)"
    assert problems.currentIndex() == 1


def test_a_click_on_a_title_sorts(qtbot: QtBot) -> None:
    """A click on a title sorts up, the next one down, and the third restores errors before warnings."""
    problems = Problems()
    qtbot.addWidget(problems)
    seen = [Sighting(1000, 1000, count) for count in (5, 12, 1)]
    problems.show_diagnostics((SLOW, FULL, BROKEN), seen)
    click = problems.list.header().sectionClicked.emit
    orders = []
    for column in (ProblemColumn.COUNT, ProblemColumn.COUNT, ProblemColumn.COUNT, ProblemColumn.SOURCE):
        click(column)
        orders.append(listed(problems))
    first = ["scale.cu", "kernel", "append"]
    up = ["scale.cu", "kernel", "append"]
    assert orders == [up, up[::-1], first, ["append", "scale.cu", "kernel"]]


def test_what_fades_is_dim_and_rows_stay(qtbot: QtBot, patch: Patch) -> None:
    """Fading problems are dim, and new numbers change rows in place, so selections and pressed buttons persist."""
    patch.add("test_app.screen", node_id="screen")
    problems = Problems()
    qtbot.addWidget(problems)
    problems.set_patch(patch)
    problems.show()
    problems.show_diagnostics((SLOW,))  # so that the list is visible when the button is added
    lonely = error("image must be connected", node="screen", port="image", mend=Mend.CONNECT)
    found = Sighting(1000, 1000), Sighting(1000, 1000)
    problems.show_diagnostics((lonely, FULL), found)
    row = problems.list.topLevelItem(0)
    assert row is not None and row.text(ProblemColumn.PROBLEM).startswith("append")
    (button,) = problems.list.findChildren(QPushButton)
    qtbot.waitUntil(lambda: button.width() > 0)
    assert button.width() >= button.sizeHint().width()
    row.setSelected(True)
    assert (row.text(ProblemColumn.COUNT), row.text(ProblemColumn.LAST_SEEN)) == ("1", "now")
    bright = row.foreground(ProblemColumn.PROBLEM).color()
    fuller = msgspec.structs.replace(FULL, message=FULL.message.replace("91", "99"))
    problems.show_diagnostics((lonely, fuller), (found[0], Sighting(1000, 1002, 1234, is_fading=True)))
    assert problems.list.selectedItems() == [row]
    assert (row.text(ProblemColumn.PROBLEM), row.text(ProblemColumn.COUNT)) == (fuller.message, "1,234")
    assert row.text(ProblemColumn.LAST_SEEN) == time.strftime("%H:%M:%S", time.localtime(1002))
    assert row.foreground(ProblemColumn.PROBLEM).color() != bright
    assert "No longer found" in row.toolTip(ProblemColumn.PROBLEM)
    assert problems.list.findChildren(QPushButton) == [button]


def test_a_column_that_says_nothing_is_left_out(qtbot: QtBot) -> None:
    """The columns for count and time are shown only if a problem repeats or fades, and there is room."""
    problems = Problems()
    qtbot.addWidget(problems)
    problems.resize(1200, 200)
    problems.show()

    def shown() -> list[ProblemColumn]:
        return [column for column in ProblemColumn if not problems.list.isColumnHidden(column)]

    once, twice = Sighting(1000, 1000), Sighting(1000, 1001, 2)
    problems.show_diagnostics((FULL, BROKEN), (once, once))
    assert shown() == [ProblemColumn.PROBLEM, ProblemColumn.BLOCK, ProblemColumn.SOURCE]
    problems.show_diagnostics((FULL, BROKEN), (twice, once))
    assert shown() == [
        ProblemColumn.PROBLEM,
        ProblemColumn.BLOCK,
        ProblemColumn.SOURCE,
        ProblemColumn.COUNT,
        ProblemColumn.LAST_SEEN,
    ]
    problems.resize(700, 200)
    assert shown() == [ProblemColumn.PROBLEM, ProblemColumn.BLOCK]


def test_a_hidden_list_is_written_when_it_is_shown(qtbot: QtBot) -> None:
    """A hidden list is written when it is shown; until then only changes of its problems are counted."""
    problems = Problems()
    qtbot.addWidget(problems)
    problems.show_diagnostics((FULL,), (Sighting(1000, 1000),))
    problems.show_diagnostics((FULL,), (Sighting(1000, 1001, 7),))
    row = problems.list.topLevelItem(0)
    assert row is not None and row.text(ProblemColumn.COUNT) == "1"
    problems.show()
    assert row.text(ProblemColumn.COUNT) == "7"


def test_no_problems_is_said(qtbot: QtBot) -> None:
    """A list without problems says so, and each change of the count is signalled once."""
    problems = Problems()
    qtbot.addWidget(problems)
    counts: list[tuple[int, int, int]] = []
    problems.counted.connect(lambda *count: counts.append(count))
    wrong = (error("no"), warning("hm"), error("x must be connected", mend=Mend.CONNECT))
    for diagnostics in (wrong, wrong, ()):
        problems.show_diagnostics(diagnostics)
    assert counts == [(1, 1, 1), (0, 0, 0)]
    assert problems.currentIndex() == 0
    assert problems.hint.text().startswith("No problems")


def test_count_text() -> None:
    """The status bar counts errors and warnings separately."""
    assert count_text(0, 0) == ""
    assert count_text(1, 0) == "1 error"
    assert count_text(2, 1) == "2 errors, 1 warning"
