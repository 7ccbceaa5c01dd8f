"""The OSC dock and the inspector's part of OSC, used by mouse and keys."""

from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from pytestqt.qtbot import QtBot

from tests.app.app_support import make_report
from warploom.app.docks.osc import OscDock
from warploom.app.inspector.inspector import Inspector
from warploom.engine.patch.changes import PortRef
from warploom.engine.patch.files import dump_patch
from warploom.engine.patch.organise.osc import OscOut
from warploom.engine.patch.organise.osc_addresses import osc_settings
from warploom.engine.protocol.messages import HoldOsc, ReleaseOsc


@pytest.fixture
def window(shared_window: Any) -> Any:
    """One window for all tests of this file."""
    return shared_window


@pytest.mark.feature("osc")
def test_a_person_sets_a_port_and_chooses_what_is_sent(opened: Any, qtbot: QtBot) -> None:
    """Each is an undo step in the file; addresses are filtered and copied; undo leads to the first file."""
    patch = opened.session.patch
    first = dump_patch(patch)
    dock = opened.reveal(OscDock)
    qtbot.waitUntil(lambda: bool(dock.rows.rows))
    addresses = [row.address for row in dock.rows.rows]
    assert "/every/gain" in addresses and "/every/count" not in addresses
    qtbot.mouseClick(dock.listens, Qt.MouseButton.LeftButton)
    assert osc_settings(patch).port == 9000
    dock.port.setFocus()
    dock.port.selectAll()
    qtbot.keyClicks(dock.port, "7001\r")
    assert osc_settings(patch).port == 7001
    dock.to.selectAll()
    qtbot.keyClicks(dock.to, "nowhere\r")
    qtbot.waitUntil(lambda: dock.to.text() == "127.0.0.1:9001")
    qtbot.keyClicks(dock.filter, "every gain")
    assert dock.table.model().rowCount() == 1
    dock.table.setCurrentIndex(dock.table.model().index(0, 0))
    dock.table.setFocus()
    qtbot.keyClick(dock.table, Qt.Key.Key_Space)
    assert patch.annotations_of(OscOut) == [OscOut(node="every", port="gain")]
    qtbot.waitUntil(lambda: any(row.is_sent for row in dock.rows.rows))
    place = dock.table.visualRect(dock.table.model().index(0, 1)).center()
    for click in (qtbot.mouseClick, qtbot.mouseDClick):
        click(dock.table.viewport(), Qt.MouseButton.LeftButton, pos=place)
    assert QGuiApplication.clipboard().text() == "/every/gain"
    while patch.undo():
        pass
    assert dump_patch(patch) == first


def test_values_of_messages_are_shown_kept_and_given_back(opened: Any, qtbot: QtBot) -> None:
    """A row that messages set shows their value; a click gives it back, and Keep makes it the patch's."""
    patch, engine = opened.session.patch, opened.session.engine
    opened.canvas.select(["every"])
    inspector = opened.reveal(Inspector)
    held = make_report(values={"every.gain": 7.5, "every.on": 0.0})
    engine.reports.append(held)
    row = inspector.rows["gain"]
    qtbot.waitUntil(lambda: row.is_driven)
    assert row.label.toolTip().endswith("\nOSC: /every/gain")
    assert row.driven.source.text() == "← OSC" and row.driven.value.text() == "7.500 dB"
    qtbot.mouseClick(row.driven.source, Qt.MouseButton.LeftButton)
    assert engine.posted[-1] == ReleaseOsc((PortRef("every", "gain"),))
    row.menu.aboutToShow.emit()
    texts = [action.text() for action in row.menu.actions()]
    assert "Copy OSC address" in texts and "Keep the value from OSC" in texts
    dock = opened.reveal(OscDock)
    qtbot.waitUntil(dock.keep.isVisible)
    qtbot.mouseClick(dock.keep, Qt.MouseButton.LeftButton)
    assert (patch.value("every", "gain"), patch.value("every", "on")) == (7.5, False)
    assert patch.history.names[-1] == "Keep values from OSC"
    assert engine.posted[-1] == ReleaseOsc((PortRef("every", "gain"), PortRef("every", "on")))
    engine.reports.append(make_report(values={}))
    qtbot.waitUntil(lambda: not row.is_driven)
    qtbot.mouseClick(dock.give_back, Qt.MouseButton.LeftButton)


def test_values_of_messages_survive_another_engine(opened: Any, qtbot: QtBot) -> None:
    """The next engine of the patch gets what messages had set; that of another patch does not."""
    opened.session.engine.reports.append(make_report(values={"every.gain": 7.5}))
    inspector = opened.reveal(Inspector)
    opened.canvas.select(["every"])
    qtbot.waitUntil(lambda: inspector.rows["gain"].is_driven)
    opened.actions_by_id["restart_engine"].trigger()
    assert HoldOsc(((PortRef("every", "gain"), 7.5),)) in opened.session.engine.posted
    opened.files.new()
    assert not any(isinstance(each, HoldOsc) for each in opened.session.engine.posted)
