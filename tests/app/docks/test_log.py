"""The log dock filters messages by level and text, does not scroll while a person reads, and is idle while hidden."""

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QDesktopServices, QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QToolButton
from pytestqt.qtbot import QtBot

from warploom.app.docks.log import Log
from warploom.engine.diagnostics import error
from warploom.engine.logs import LIMIT, wanted_level
from warploom.engine.protocol.messages import Saved

_log = logging.getLogger("warploom.tested")


@pytest.fixture
def log(qtbot: QtBot, tmp_path: Path) -> Iterator[Log]:
    """An empty, visible log dock."""
    made = Log()
    made.folder = tmp_path
    qtbot.addWidget(made)
    made.resize(700, 160)
    made.show()
    yield made
    made.end()


def rows(log: Log) -> list[str]:
    """Return the listed messages."""
    model = log.table.model()
    return [str(model.index(row, 3).data()) for row in range(model.rowCount())]


def test_records_of_any_thread_are_listed_while_it_is_seen(qtbot: QtBot, log: Log) -> None:
    """Records of any thread are listed while the dock is visible; an empty list shows a hint."""
    assert log.currentIndex() == 0
    _log.warning("careful")
    qtbot.waitUntil(lambda: rows(log) == ["careful"])
    assert log.currentIndex() == 1
    log.clear()
    assert log.currentIndex() == 0 and rows(log) == []


def test_what_a_person_must_know_goes_to_the_status_bar(qtbot: QtBot, log: Log) -> None:
    """Messages and errors are shown in the log and in the status bar, except those that the engine already logged."""
    noted: list[str] = []
    log.noted.connect(noted.append)
    log.add_message("hello")
    log.add_error("oh")
    log.add_saved(Saved("save", "pixels", "uchar4", (2, 3), "/tmp/a.png"))
    log.add_diagnostic(error("disk must have space", node="save"))
    assert noted == ["hello", "oh", "Saved /tmp/a.png", "error: save: disk must have space"]
    assert [(line.record.level, line.record.text) for line in log.lines] == [
        (logging.INFO, "hello"),
        (logging.ERROR, "oh"),
    ]


def test_a_hidden_list_takes_nothing_and_catches_up(qtbot: QtBot, log: Log) -> None:
    """A hidden list is not filled. When shown it catches up, with one line for the records that its buffer dropped."""
    log.hide()
    for number in range(LIMIT + 3):
        _log.info("%d", number)
    assert rows(log) == []
    log.show()
    found = rows(log)
    assert found[0] == "3 older records are not listed; the log file has those of level Info and above"
    assert found[1:] == [str(number) for number in range(3, LIMIT + 3)]


def test_it_stands_still_while_a_person_reads_further_up(qtbot: QtBot, log: Log) -> None:
    """While a person reads older lines the list does not scroll; a button shows how many new lines there are."""
    for number in range(100):
        _log.info("%d", number)
    qtbot.waitUntil(lambda: len(rows(log)) == 100)
    assert log.table.verticalScrollBar().value() == log.table.verticalScrollBar().maximum()
    log.table.verticalScrollBar().setValue(10)
    _log.info("new")
    qtbot.waitUntil(log.news.isVisible)
    assert log.news.text() == "1 new ↓" and len(rows(log)) == 100
    assert log.table.verticalScrollBar().value() == 10
    log.news.click()
    assert rows(log)[-1] == "new" and not log.news.isVisible()
    assert log.table.verticalScrollBar().value() == log.table.verticalScrollBar().maximum()


def test_details_are_logged_only_while_they_are_asked_for(log: Log) -> None:
    """DEBUG records are made only while the list shows that level; a higher level only hides records."""
    assert wanted_level() == logging.INFO
    log.level.setCurrentText("Everything")
    assert wanted_level() == logging.DEBUG
    _log.debug("detail")
    assert log.lines[-1].record.text == "detail"
    log.level.setCurrentText("Errors")
    assert wanted_level() == logging.INFO
    _log.info("kept")
    assert log.lines[-1].record.text == "kept" and rows(log) == []
    log.level.setCurrentText("Info")
    assert rows(log) == ["kept"]
    log.end()
    assert wanted_level() != logging.INFO


def test_lines_are_copied(log: Log) -> None:
    """Copy takes the selected lines, or else all lines that the filter shows."""
    for text in ("alpha", "beta", "gamma"):
        _log.info(text)
    assert len(log.lines) == 3
    log.filter.setText("a")
    log.copy()
    copied = QGuiApplication.clipboard().text().splitlines()
    assert [line.rpartition(" ")[2] for line in copied] == ["alpha", "beta", "gamma"]
    log.table.selectRow(1)
    QTest.keyClick(log.table, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    assert QGuiApplication.clipboard().text().endswith("warploom.tested: beta")


def test_the_folder_of_the_file_opens(log: Log, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The button opens the log file's folder in the system's file manager."""
    opened: list[str] = []
    monkeypatch.setattr(QDesktopServices, "openUrl", lambda url: opened.append(url.toLocalFile()))
    next(button for button in log.findChildren(QToolButton) if "folder" in button.toolTip()).click()
    assert opened == [str(tmp_path)]


def test_an_error_that_repeats_is_listed_once(log: Log) -> None:
    """An error that repeats in every frame is listed once."""
    for _ in range(5):
        log.add_error("the same")
    assert [line.count for line in log.lines] == [5]
    log.add_error("the same")
    assert [line.count for line in log.lines] == [6]
    assert rows(log) == ["the same (×6)"]


def test_it_follows_from_the_start_and_at_any_height(qtbot: QtBot, tmp_path: Path) -> None:
    """The newest line stays in view, even if lines came before the dock was shown or the table shrinks."""
    log = Log()
    qtbot.addWidget(log)
    for number in range(100):
        _log.info("%d", number)
    log.resize(700, 400)
    log.show()
    bar = log.table.verticalScrollBar()
    qtbot.waitUntil(lambda: bar.maximum() > 0)
    assert bar.value() == bar.maximum()
    before = bar.maximum()
    log.resize(700, 160)
    qtbot.waitUntil(lambda: bar.maximum() > before)
    assert bar.value() == bar.maximum()
    _log.info("new")
    qtbot.waitUntil(lambda: rows(log)[-1] == "new")
    assert bar.value() == bar.maximum()
    log.end()


def test_a_cleared_list_follows_again(qtbot: QtBot, log: Log) -> None:
    """After clearing, the list follows new lines, even if a person had scrolled up."""
    for number in range(100):
        _log.info("%d", number)
    qtbot.waitUntil(lambda: len(rows(log)) == 100)
    log.table.verticalScrollBar().setValue(0)
    log.clear()
    _log.info("new")
    qtbot.waitUntil(lambda: rows(log) == ["new"])
