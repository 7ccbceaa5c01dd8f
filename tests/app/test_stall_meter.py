"""The meter of `bench_ui` distinguishes waiting for Python's lock from own work and from sleep."""

import ctypes
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from tests.benchmarks.edit_session import EditSession, KernelFile, make_patch
from tests.benchmarks.stall_meter import StallMeter
from tests.fuzzing import many
from warploom.app.window.main_window import MainWindow

_HELD_MS = 120


@pytest.fixture
def meter(qtbot: QtBot) -> Iterator[StallMeter]:
    """A running meter of the test's own thread."""
    made = StallMeter()
    made.start()
    yield made
    made.stop()


def hold_the_lock() -> None:
    """Sleep without releasing Python's lock."""
    ctypes.PyDLL(None).usleep(_HELD_MS * 1000)


def test_a_thread_that_keeps_pythons_lock_is_a_wait(qtbot: QtBot, meter: StallMeter) -> None:
    """While another thread holds Python's lock, the time counts as a wait, recorded with what the person did."""
    meter.doing = "nothing"
    thread = threading.Thread(target=hold_the_lock)
    qtbot.wait(20)
    thread.start()
    qtbot.waitUntil(lambda: not thread.is_alive())
    qtbot.wait(20)
    worst = meter.worst(1)[0]
    assert worst.held_ms + worst.no_core_ms > 0.8 * _HELD_MS
    assert worst.own_ms < 0.5 * _HELD_MS
    assert worst.doing == "nothing"


def test_own_work_is_no_wait(qtbot: QtBot, meter: StallMeter) -> None:
    """The time in which a slot computes counts as own work, not as a wait."""
    end_s = time.thread_time() + _HELD_MS / 1000
    while time.thread_time() < end_s:
        pass
    qtbot.wait(20)
    assert meter.own_ms.quantile(1) > 0.9 * _HELD_MS
    assert meter.held_ms.quantile(1) < 0.9 * _HELD_MS


def test_a_session_of_random_edits_leaves_the_editor_whole(
    qtbot: QtBot, real_window: MainWindow, tmp_path: Path
) -> None:
    """In a session of random edits, no slot fails, and undo reverts all of them."""
    kernel, meter = KernelFile(tmp_path), StallMeter()
    patch = make_patch(24)
    before = {**patch.nodes}, set(patch.connections)
    real_window.session.replace(patch, blocks=kernel.blocks)
    session = EditSession(real_window, kernel, meter, seed=3)
    session.start()
    qtbot.waitUntil(lambda: len(session.counts) > 4 and sum(session.counts.values()) > many(6))
    session.stop()
    while patch.history.undo_name:
        patch.undo()
    assert ({**patch.nodes}, set(patch.connections)) == before
    real_window.session.replace(None)
