"""Problems lead to their node."""

from PySide6.QtCore import QEvent, QObject
from PySide6.QtWidgets import QApplication, QPushButton, QWidget
from pytestqt.qtbot import QtBot

from app.docks.problems import Problems
from app.window.toolbars import count_text
from engine.diagnostics import Mend, error, warning
from engine.patch.document import Patch


def test_errors_come_before_warnings_and_name_the_block(qtbot: QtBot, patch: Patch) -> None:
    """A row says what is wrong, in which block, and what to do."""
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
    assert [[row.text(column) for column in (0, 1, 3)] for row in rows if row] == [
        ["image must be connected", "Backdrop, image", "connect one"],
        ["output is unused", "Backdrop", ""],
    ]


def test_a_kernel_error_names_its_line(qtbot: QtBot) -> None:
    """In a column that has room for the file's name and the line, however long the message is."""
    problems = Problems()
    qtbot.addWidget(problems)
    problems.resize(700, 200)
    problems.show()
    problems.show_diagnostics((error("expected a ; " * 50, file="/some/where/my_own_blocks.py", line=1234),))
    (index,) = (
        problems.list.model().index(0, i) for i in range(5) if problems.list.topLevelItem(0).text(i)[-5:] == ":1234"
    )
    assert index.data() == "my_own_blocks.py:1234"
    assert problems.list.columnWidth(index.column()) >= problems.list.sizeHintForIndex(index).width()
    problems.show_diagnostics((error("no file"),))
    assert problems.list.isColumnHidden(index.column())


def test_a_compilers_errors_have_a_row_each(qtbot: QtBot) -> None:
    """The first row names the first mistake, the rows below it the others; the tooltip has all of the message."""
    problems = Problems()
    qtbot.addWidget(problems)
    text = "blur.cu must compile, got 2 errors:\nblur.cu(3): no a\n  a;\n  ^\nblur.cu(5): no b\n  b;\n  ^"
    problems.show_diagnostics((error(text, node="p", file="/some/where/blur.cu", line=3, remedy="mend it"),))
    row = problems.list.topLevelItem(0)
    assert row is not None
    assert row.text(0) == "blur.cu(3): no a"
    assert [row.child(i).text(0) for i in range(row.childCount())] == ["blur.cu(5): no b"]
    assert "got 2 errors" in row.toolTip(0) and "  a;" in row.toolTip(0)
    assert not problems.list.isColumnHidden(3)
    problems.show_diagnostics((error("no remedy"),))
    assert problems.list.isColumnHidden(3)


def test_a_renamed_block_is_renamed_in_the_list(qtbot: QtBot, patch: Patch) -> None:
    """The list names blocks as the canvas does."""
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
    """A button that is shown before it is in the list would be a window for a moment, which takes the keyboard."""
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
    QApplication.instance().installEventFilter(watch)  # type: ignore[union-attr]  # qtbot has made one
    problems.show_diagnostics((error("nothing comes in", node="screen", port="image", mend=Mend.CONNECT),))
    QApplication.instance().removeEventFilter(watch)  # type: ignore[union-attr]  # as above
    assert problems.list.findChildren(QPushButton)
    assert opened == []


def test_no_problems_is_said(qtbot: QtBot) -> None:
    """Without problems the list says so, and the count is emitted once for each change."""
    problems = Problems()
    qtbot.addWidget(problems)
    counts: list[tuple[int, int, int]] = []
    problems.counted.connect(lambda *count: counts.append(count))
    wrong = (error("no"), warning("hm"), error("x must be connected", mend=Mend.CONNECT))
    for diagnostics in (wrong, wrong, ()):
        problems.show_diagnostics(diagnostics)
    assert counts == [(1, 1, 1), (0, 0, 0)]
    assert problems.currentIndex() == 0
    assert problems.hint.text() == "No problems"


def test_count_text() -> None:
    """The status bar counts errors and warnings separately."""
    assert count_text(0, 0) == ""
    assert count_text(1, 0) == "1 error"
    assert count_text(2, 1) == "2 errors, 1 warning"
