"""The window and its engine: reports, playing, and failed engines."""

from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QPushButton
from pytestqt.qtbot import QtBot

from tests.app.app_support import make_report
from tests.app.conftest import Asked
from tests.app.window.window_support import engine_of, patch_of
from warploom.app.canvas.drawing.node_layout import node_size
from warploom.app.docks.problems import Problems
from warploom.app.docks.updates import Updates
from warploom.app.edits.remedies import remedies
from warploom.app.window.main_window import MainWindow
from warploom.engine.diagnostics import Mend, error
from warploom.engine.patch.document import Patch
from warploom.engine.profiling.levels import ProfilingLevel
from warploom.engine.protocol.messages import (
    NodeReport,
    NodeState,
    Reset,
    RunMuted,
    Saved,
    SaveOutputs,
    SetFusing,
    SetKernelTimeLimit,
    SetProfiling,
    SetRunning,
    UpdateLevel,
    UpdateRecord,
)
from warploom.engine.protocol.sampling import ObservePorts


@pytest.fixture
def window(shared_window: Any) -> Any:
    """One window for all tests of this file."""
    return shared_window


def test_reports_reach_every_part(opened: MainWindow) -> None:
    """One report updates the badge, the problem list and the inspector."""
    opened.canvas.select(["every"])
    node = NodeReport("test_app.every_parameter", NodeState.ERROR, "x must be connected")
    problem = error("x must be connected", node="every", port="x")
    engine_of(opened).reports.append(make_report(nodes={"every": node}, diagnostics=(problem,)))
    opened.bridge.poll()
    assert opened.badge.label.text() == "host · 420 µs"
    assert opened.docks.widget(Problems).list.topLevelItemCount() == 1
    assert opened.inspector.status is not None
    assert opened.inspector.status.message == "x must be connected"
    assert opened.problem_count.text() == "1 error"
    opened.docks.reveal("log")
    opened.problem_count.click()
    assert not opened.docks.widget(Problems).visibleRegion().isEmpty()
    engine_of(opened).reports.append(make_report(frame=2))
    opened.bridge.poll()
    assert opened.problem_count.text() == "No problems"


def test_a_problem_leads_to_its_node(qtbot: QtBot, opened: MainWindow) -> None:
    """Activating a problem's row selects its node."""
    engine_of(opened).reports.append(make_report(diagnostics=(error("no", node="every"),)))
    opened.bridge.poll()
    row = opened.docks.widget(Problems).list.topLevelItem(0)
    assert row is not None
    opened.docks.widget(Problems).list.itemActivated.emit(row, 0)
    assert opened.canvas.selected() == ["every"]


def test_what_happened_is_listed(opened: MainWindow) -> None:
    """File messages and failures are shown in the status bar, and updates in their own list."""
    engine_of(opened).events = [
        UpdateRecord(UpdateLevel.COLD, "first build", 2_000_000, 0),
        Saved("screen", "image", "uchar4", (2, 2), "a.png"),
        error("disk must have space"),
    ]
    opened.bridge.poll()
    assert opened.statusBar().currentMessage() == "error: disk must have space"
    assert [row.record.cause for row in opened.docks.widget(Updates).rows.rows] == ["first build"]


def test_playing_and_stepping(opened: MainWindow) -> None:
    """Play, step, reset, saving outputs, profiling and fusing each send their message to the engine."""
    engine_of(opened).posted.clear()
    opened.actions_by_id["play"].trigger()
    opened.actions_by_id["step"].trigger()
    opened.actions_by_id["play"].trigger()
    opened.actions_by_id["reset"].trigger()
    opened.actions_by_id["save_outputs"].trigger()
    opened.actions_by_id["profiling_per_kernel"].trigger()
    opened.actions_by_id["fuse"].trigger()
    opened.actions_by_id["fuse"].trigger()
    sent = [message for message in engine_of(opened).posted if not isinstance(message, ObservePorts)]
    assert sent == [
        SetRunning(False),
        SetRunning(True, frames=1),
        SetRunning(True),
        Reset(),
        SaveOutputs(),
        SetProfiling(ProfilingLevel.PER_KERNEL),
        SetFusing(False),
        SetFusing(True),
    ]


def test_pausing_profiling_and_fusing_hold_for_the_next_patch(opened: MainWindow) -> None:
    """Pause, profiling and fusion settings carry over to the next patch."""
    opened.actions_by_id["play"].trigger()
    opened.actions_by_id["profiling_none"].trigger()
    opened.actions_by_id["fuse"].trigger()
    opened.files.new()
    assert engine_of(opened).profiling is ProfilingLevel.NONE
    assert SetRunning(False) in engine_of(opened).posted
    assert SetFusing(False) in engine_of(opened).posted


def test_an_engine_that_can_not_start_leaves_the_patch_editable(qtbot: QtBot, tmp_path: Path, asked: Asked) -> None:
    """If an engine can't start, the log shows the reason, and the patch can still be edited and saved."""
    from warploom.engine.diagnostics import DeviceError

    def fail(patch: Patch, profiling: ProfilingLevel) -> Any:
        raise DeviceError("device must be cuda:0, got none")

    window = MainWindow(fail, tmp_path)
    qtbot.addWidget(window)
    window.show()
    window.files.new()
    patch_of(window).add("test_app.picture")
    assert window.log.lines[-1].record.text == "device must be cuda:0, got none"
    assert window.docks.widget(Problems).list.topLevelItemCount() == 1
    asked.path = tmp_path / "x.loom"
    assert window.files.save()
    window.close()


def test_restarting_the_engine_keeps_the_patch(opened: MainWindow) -> None:
    """Restarting the engine after a device failure keeps the patch."""
    old, patch = engine_of(opened), patch_of(opened)
    opened.actions_by_id["restart_engine"].trigger()
    assert old.closed.wait()
    assert engine_of(opened) is not old
    assert opened.session.patch is patch
    engine_of(opened).reports.append(make_report())
    opened.bridge.poll()
    assert opened.badge.label.text().startswith("host")


def test_a_stopped_kernel_offers_to_run_without_a_time_limit(opened: MainWindow) -> None:
    """A kernel that exceeds the editor's limit of 10 s gets a button that removes the limit, also for later engines."""
    assert SetKernelTimeLimit(10.0) in engine_of(opened).posted
    problem = error("kernel k was stopped by the time limit of 10 s", mend=Mend.LIFT_LIMIT)
    engine_of(opened).reports.append(make_report(diagnostics=(problem,)))
    opened.bridge.poll()
    lift, _ = remedies(patch_of(opened), problem, node_size)
    opened.mend(lift)
    assert engine_of(opened).posted[-2:] == [SetKernelTimeLimit(None), RunMuted()]
    opened.files.new()
    assert SetKernelTimeLimit(None) in engine_of(opened).posted


def test_a_save_block_has_a_button(opened: MainWindow, qtbot: QtBot) -> None:
    """The inspector of a block that saves has a button that writes the files; other blocks have none."""
    patch_of(opened).add("io.save_image", node_id="save")
    opened.canvas.select(["save"])
    button = next(found for found in opened.inspector.page.findChildren(QPushButton) if found.text() == "Save now")
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
    assert SaveOutputs() in engine_of(opened).posted


def test_going_to_a_problem_keeps_the_zoom(opened: MainWindow, qtbot: QtBot) -> None:
    """A problem's block is selected and brought into view, without a change of the zoom."""
    patch_of(opened).add("value.slider", node_id="far", position=(4000, 3000))
    qtbot.wait(20)
    zoom = opened.canvas.view.zoom
    opened.kernel.go_to("far")
    view = opened.canvas.view
    assert opened.canvas.selected() == ["far"] and view.zoom == zoom
    place = view.mapFromScene(opened.canvas.scene.rect_of(["far"]).center())
    assert view.viewport().rect().contains(place)
