"""Work of all kinds shares the time of a turn of the event loop."""

import time

from PySide6.QtCore import QTimer
from pytestqt.qtbot import QtBot

from warploom.app.qt.turn import TURN_S, left_s


def _work(time_s: float) -> None:
    end_s = time.thread_time() + time_s
    while time.thread_time() < end_s:
        pass


def test_work_of_a_turn_leaves_less_for_the_rest_of_it(qtbot: QtBot) -> None:
    """What one slot uses up is missing in the next one of the same turn; sleeping uses nothing up."""
    found: list[float] = []

    def first() -> None:
        found.append(left_s())
        time.sleep(2 * TURN_S)
        found.append(left_s())
        _work(TURN_S)
        found.append(left_s())

    left_s()  # follows the event loop from now on
    for slot in (first, lambda: found.append(left_s())):
        QTimer.singleShot(0, slot)
    qtbot.waitUntil(lambda: len(found) == 4)
    assert TURN_S >= found[0] >= found[1] > 0
    assert found[2] == found[3] == 0
    QTimer.singleShot(0, lambda: found.append(left_s()))
    qtbot.waitUntil(lambda: len(found) == 5)
    assert found[4] > 0
