"""Docks that are made only when they are first seen."""

from functools import partial
from pathlib import Path

import pytest
import shiboken6
from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QAbstractButton, QAbstractItemView, QComboBox, QLabel, QLineEdit, QPlainTextEdit, QWidget
from pytestqt.qtbot import QtBot

from tests.app.app_support import FakeEngine, make_report
from tests.app.conftest import Asked
from warploom.app.docks.code.code import Code
from warploom.app.qt.throttle import Throttle
from warploom.app.window.docks import DOCKS
from warploom.app.window.main_window import MainWindow
from warploom.engine.diagnostics import Source, WarploomError, error

_LATE = [dock for dock in DOCKS if dock.is_made_late]


def _shown(widget: QWidget) -> list[str]:
    """Return the texts in a widget, in the order of its parts."""
    found = [widget.windowTitle()]
    for part in widget.findChildren(QWidget):
        if isinstance(part, QLabel | QAbstractButton | QLineEdit):
            found.append(f"{part.isHidden()} {part.text()}")
        elif isinstance(part, QComboBox):
            found.append(part.currentText())
        elif isinstance(part, QPlainTextEdit):
            found.append(part.toPlainText())
        elif isinstance(part, QAbstractItemView) and (model := part.model()) is not None:
            cells = [
                model.index(row, column) for row in range(model.rowCount()) for column in range(model.columnCount())
            ]
            found.append(str([cell.data() for cell in cells]))
    return found


class _Engine(FakeEngine):
    """Has no flight record, which would arrive at any time."""

    def flight_record(self, *, with_times: bool) -> object:
        raise WarploomError("a test's engine records no frames")


def _is_settled(widget: QWidget) -> bool:
    """Return whether nothing in a widget waits to be shown."""
    throttles = widget.findChildren(Throttle)
    return not any(timer.isActive() for throttle in throttles for timer in throttle.findChildren(QTimer))


def _contents(qtbot: QtBot, folder: Path, file: Path, at_first: bool) -> dict[str, list[str]]:
    """Return what the docks show that are made before a patch is open, or after a block has a problem."""
    window = MainWindow(_Engine, folder)  # type: ignore[arg-type]  # replaces Engine
    window.show()
    try:
        assert not any(window.docks.made(dock) for dock in _LATE)
        if at_first:
            for dock in _LATE:
                window.docks.widget(dock)
        assert window.files.open_path(file)
        window.canvas.select(["every"])
        problem = error("gain must be lower", node="every", source=Source.ENGINE)
        window.bridge.report.emit(make_report(diagnostics=(problem,), values={"every.gain": 2.0}))
        found = {}
        for dock in _LATE:
            widget = window.reveal(dock)
            assert isinstance(widget, QWidget)
            qtbot.waitUntil(widget.isVisible)
            qtbot.wait(1)
            qtbot.waitUntil(partial(_is_settled, widget))
            found[dock.name] = _shown(widget)
        return found
    finally:
        window.close()


def test_a_dock_that_is_made_late_shows_the_same(qtbot: QtBot, tmp_path: Path, file: Path, asked: Asked) -> None:
    """A dock that is made after a patch is open shows the patch, the selection and the report like any other."""
    late, early = (_contents(qtbot, tmp_path / name, file, at_first) for name, at_first in (("a", False), ("b", True)))
    assert late == early
    assert any("test_app.every_parameter" in text or "class" in text for text in late[Code.name])


def test_an_open_window_may_be_destroyed(
    qtbot: QtBot, tmp_path: Path, file: Path, asked: Asked, capsys: pytest.CaptureFixture[str]
) -> None:
    """Docks that are hidden since their window is destroyed don't look for it."""
    window = MainWindow(_Engine, tmp_path)  # type: ignore[arg-type]  # replaces Engine
    window.show()
    assert window.files.open_path(file)
    window.docks.toggle_lists()
    window.session.close()
    window.beside.close()
    window.bridge.set_engine(None)
    window.gc_timer.close()  # or garbage would be collected in no later test
    shiboken6.delete(window)
    assert "Traceback" not in capsys.readouterr().err
