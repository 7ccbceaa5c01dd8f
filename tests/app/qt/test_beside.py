"""Slow work runs beside the UI thread and does not block it."""

import threading

import pytest
from PySide6.QtCore import QObject
from pytestqt.qtbot import QtBot

from warploom.app.qt.beside import Beside


def test_what_follows_is_done_in_the_ui_thread_and_in_order(qtbot: QtBot) -> None:
    """The callbacks of finished work run in the UI thread and in order, even after work that failed."""
    parent = QObject()
    beside = Beside(parent)
    may_end, done, told = threading.Event(), list[tuple[str, bool]](), list[str]()
    ui = threading.current_thread()
    beside.reported.connect(told.append)

    def follow(name: str) -> None:
        done.append((name, threading.current_thread() is ui))

    beside.run("first", may_end.wait, lambda _: follow("first"))
    beside.run("second", lambda: 1 / 0, lambda _: follow("second"))
    qtbot.waitUntil(lambda: told == ["first"])
    assert not done
    may_end.set()
    qtbot.waitUntil(lambda: len(done) == 2)
    assert done == [("first", True), ("second", True)]
    assert told == ["first", ""]
    beside.run("third", lambda: None, lambda _: follow("third"))
    qtbot.waitUntil(lambda: len(done) == 3)
    assert told == ["first", ""], "work that is quick tells nothing, and wipes out no message"
    beside.close()


def test_work_that_has_not_begun_is_forgotten_at_the_end(qtbot: QtBot) -> None:
    """On closing, work that has not started is dropped, and only running work is waited for."""
    parent = QObject()
    beside = Beside(parent)
    has_begun, may_end = threading.Event(), threading.Event()

    def work() -> None:
        has_begun.set()
        may_end.wait()

    beside.run("first", work, lambda _: None)
    beside.run("second", lambda: pytest.fail("it ran"), lambda _: pytest.fail("it followed"))
    has_begun.wait()
    closing = threading.Thread(target=beside.close)
    closing.start()
    may_end.set()
    closing.join()


def test_long_work_can_be_cancelled(qtbot: QtBot) -> None:
    """After a second, work that allows it can be cancelled: it has no effect, and the next work begins at once."""
    parent = QObject()
    beside, may_end, heard, offered = Beside(parent), threading.Event(), list[str](), list[bool]()
    beside.cancellable.connect(offered.append)
    beside.run("never ends", may_end.wait, lambda _: heard.append("followed"), lambda: heard.append("cancelled"))
    beside.run("next", lambda: None, lambda _: heard.append("next"))
    qtbot.waitUntil(lambda: offered == [True])
    beside.cancel()
    qtbot.waitUntil(lambda: heard == ["cancelled", "next"])
    assert offered[1] is False
    beside.run("must end", may_end.set, lambda _: heard.append("ended"))
    beside.cancel()
    qtbot.waitUntil(lambda: heard[2:] == ["ended"])
    qtbot.wait(20)
    assert "followed" not in heard
    beside.close()
