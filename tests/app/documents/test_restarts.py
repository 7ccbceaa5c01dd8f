"""An engine that has stopped is started again, without the block that made it fail."""

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pytestqt.qtbot import QtBot

from tests.app.app_support import FakeEngine, make_report
from tests.app.conftest import Asked
from warploom import Patch
from warploom.app.window.main_window import MainWindow
from warploom.engine.diagnostics import Diagnostic, Mend, Source, error
from warploom.engine.protocol.culprit import Culprit
from warploom.engine.protocol.engine_state import EngineState
from warploom.engine.protocol.messages import Mute, NodeReport, NodeState, RunMuted, SetKernelTimeLimit, StateCopy
from warploom.engine.protocol.questions import Doing


class ChildEngine(FakeEngine):
    """Looks like an engine in a process of its own."""

    has_own_process = True


class Search:
    """A search that ends when the test says what it has found."""

    def __init__(self) -> None:
        self.found: Culprit | None = None
        self.is_cancelled = False
        self._end = threading.Event()

    def end(self, node: str | None) -> None:
        """Let it name a node, or none."""
        self.found = Culprit(doing=Doing.OPERATION, fault="it failed" * bool(node), frame=3, device="x", node=node)
        self._end.set()

    def run(self) -> Culprit | None:
        """Wait for the test."""
        self._end.wait()
        return self.found

    def cancel(self) -> None:
        """End without a finding."""
        self.is_cancelled = True
        self.end(None)


class Editor:
    """A window with two blocks, and the searches that it has begun."""

    def __init__(self, qtbot: QtBot, folder: Path) -> None:
        self.qtbot, self.searches = qtbot, list[Search]()
        self.window = MainWindow(ChildEngine, folder, self._make_search)  # type: ignore[arg-type]  # fakes
        self.window.files.new()
        self.patch.add("buffer.constant", node_id="a")
        self.patch.add("buffer.constant", node_id="b")
        self.window.restarts._edited = ()  # as if some time had passed

    @property
    def patch(self) -> Patch:
        """The open patch."""
        assert self.window.session.patch is not None
        return self.window.session.patch

    @property
    def engine(self) -> ChildEngine:
        """The engine that runs now."""
        assert isinstance(self.window.session.engine, ChildEngine)
        return self.window.session.engine

    @property
    def muted(self) -> list[list[str]]:
        """The nodes that the engine was told to leave out, message by message; "all" to run all again."""
        found = (message for message in self.engine.posted if isinstance(message, Mute | RunMuted))
        return [sorted(each.reasons) if isinstance(each, Mute) else ["all"] for each in found]

    def stop(self, *diagnostics: Diagnostic, frame: int = 3) -> bool:
        """Let the engine stop; return whether another one was started."""
        before = self.engine
        nodes = {node: NodeReport("buffer.constant", NodeState.OK, "", None, 1) for node in self.patch.nodes}
        before.reports.append(make_report(frame=frame, failed=True, nodes=nodes, diagnostics=diagnostics))
        self.window.bridge.poll()
        return self.engine is not before

    def found(self, node: str | None) -> None:
        """Let the newest search end."""
        self.searches[-1].end(node)
        self.qtbot.waitUntil(lambda: self.window.restarts._search is None)

    def _make_search(self, patch: Patch, frame: int, fuses: bool) -> Any:
        self.searches.append(Search())
        return self.searches[-1]


@pytest.fixture
def editor(qtbot: QtBot, tmp_path: Path, asked: Asked) -> Iterator[Editor]:
    """An editor."""
    made = Editor(qtbot, tmp_path / "state")
    yield made
    made.window.close()
    assert not [thread for thread in threading.enumerate() if thread.name == "find the culprit"]


FAULT = error("an illegal address", mend=Mend.RESTART, source=Source.LAUNCH)
KILLED = error("it was killed", mend=Mend.RESTART, found="SIGKILL", source=Source.ENGINE)
CRASHED = error("it crashed", mend=Mend.RESTART, found="SIGSEGV", source=Source.ENGINE)
NAMED = error("a stopped kernel", node="a", mend=Mend.LIFT_LIMIT, source=Source.LAUNCH)


def test_a_block_that_the_last_report_names_is_left_out(editor: Editor) -> None:
    """So are those that the engine had left out before; nothing is searched for."""
    before = error("it failed before", node="b", mend=Mend.TRY_AGAIN, source=Source.LAUNCH)
    assert editor.stop(before, NAMED)
    assert editor.muted == [["a", "b"]] and not editor.searches
    assert "a stopped kernel" in editor.window.log.lines[-1].record.text


@pytest.mark.parametrize("why", [FAULT, CRASHED])
def test_without_a_name_the_engine_waits_for_the_search(editor: Editor, why: Diagnostic) -> None:
    """The notice says so, and offers to start at once; then the block that was found is left out."""
    assert not editor.stop(why)
    assert "Looking for the block" in editor.window.banner.text
    editor.found("b")
    assert editor.muted == [["b"]] and not editor.window.banner.text
    assert "it failed" in editor.window.log.lines[-1].record.text


def test_a_search_without_a_result_leaves_out_nothing(editor: Editor) -> None:
    """The engine runs the whole patch again."""
    assert not editor.stop(FAULT)
    editor.found(None)
    assert editor.muted == [] and "No block could be found" in editor.window.log.lines[-1].record.text


def test_the_person_need_not_wait_for_the_search(editor: Editor) -> None:
    """The button ends it, and starts an engine."""
    assert not editor.stop(FAULT)
    before = editor.engine
    editor.window.banner.buttons[0].click()
    assert editor.engine is not before and editor.searches[0].is_cancelled


def test_a_long_launch_can_run_without_a_limit(editor: Editor) -> None:
    """The notice offers it; the next engine then has no limit."""
    assert not editor.stop(error("a launch that goes on", mend=Mend.LIFT_LIMIT, source=Source.LAUNCH))
    assert [button.text() for button in editor.window.banner.buttons] == ["Restart engine", "Run without a time limit"]
    editor.window.banner.buttons[1].click()
    assert SetKernelTimeLimit(None) in editor.engine.posted and editor.searches[0].is_cancelled


@pytest.mark.parametrize(("found", "muted"), [("a", [["a"], ["all"], ["a"]]), ("b", [["a"], ["all"], ["b"]])])
def test_the_block_that_was_just_edited_is_left_out_at_once(editor: Editor, found: str, muted: list[list[str]]) -> None:
    """The search then says whether it was that one."""
    editor.patch.set("a", value=2.0)
    assert editor.stop(FAULT)
    assert editor.muted == [["a"]]
    editor.found(found)
    assert editor.muted == muted


def test_a_patch_that_was_edited_since_is_not_changed_by_an_old_search(editor: Editor) -> None:
    """A mended block is not left out again, and the next failure is searched for anew."""
    editor.patch.set("a", value=2.0)
    assert editor.stop(FAULT)
    editor.patch.set("a", value=3.0)
    editor.window.restarts._edited = ()
    assert not editor.stop(FAULT)
    assert editor.searches[0].is_cancelled and len(editor.searches) == 2
    editor.patch.set("b", value=3.0)
    editor.found("a")
    assert editor.muted == []


def test_a_process_that_was_killed_from_outside_is_replaced(editor: Editor) -> None:
    """Only if it is killed again, the patch may be the cause; the fourth time, only the person goes on."""
    assert editor.stop(KILLED) and not editor.searches
    for _ in range(2):
        assert not editor.stop(KILLED)
        editor.found(None)
    assert not editor.stop(KILLED) and len(editor.searches) == 2
    assert editor.window.banner.text.startswith("The engine has stopped; the patch is intact.")
    editor.patch.set("a", value=2.0)
    assert editor.stop(KILLED), "an edit may have mended it"


def test_the_next_engine_goes_on_from_the_newest_copy(editor: Editor) -> None:
    """The message says how old that is. If the engine fails before it made a copy, the next one begins anew."""

    def restarts_with(*copies: StateCopy, time_s: float = 2.0) -> tuple[list[Any], str]:
        editor.engine.events += copies
        editor.window.bridge.poll()
        editor.engine.reports.append(make_report(frame=90, time_s=time_s))
        editor.window.bridge.poll()
        editor.window.restarts._times.clear()
        assert editor.stop(NAMED)
        given = [message for message in editor.engine.posted if isinstance(message, StateCopy)]
        return given, editor.window.log.lines[-1].record.text

    old, new = (StateCopy(EngineState(frame, 0, True, {}, {}), frame / 60) for frame in (60, 120))
    given, text = restarts_with(old, new)
    assert given == [new] and text.startswith("The engine was started again with its last state. Reason: ")
    assert restarts_with()[0] == []
    given, text = restarts_with(old, time_s=0.9)
    assert given == [old]
    assert restarts_with(new, time_s=0.9)[0] == [], "the patch has begun again since"


def test_an_engine_in_this_process_is_not_started_again(editor: Editor, monkeypatch: pytest.MonkeyPatch) -> None:
    """A GPU that has failed works only in another process, so the person decides."""
    monkeypatch.setattr(ChildEngine, "has_own_process", False)
    assert not editor.stop(FAULT)
    assert [button.text() for button in editor.window.banner.buttons] == ["Restart engine"]
