"""`Restarts`: starts another engine after one has failed, without the block in which it failed."""

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping

from msgspec.structs import replace
from PySide6.QtCore import QObject, Qt, QTimer, Signal

from warploom.app.documents.bridge import Bridge
from warploom.app.documents.session import Session
from warploom.app.documents.state_copies import StateCopies
from warploom.app.edits.organise.osc import held_by_osc
from warploom.app.widgets.banner import NO_NOTICE, Notice
from warploom.engine.catalogue.block_folders import block_folders
from warploom.engine.diagnostics import Diagnostic, Mend, Severity, Source, WarploomError, error
from warploom.engine.patch.changes import Change, nodes_of
from warploom.engine.patch.document import Patch
from warploom.engine.protocol.culprit import Culprit, CulpritSearch
from warploom.engine.protocol.messages import FrameReport, HoldOsc, Mute, RunMuted, UpdateRecord
from warploom.engine.protocol.pipe import LOST_LINE
from warploom.engine.runtime.observed.launch_watch import LIMIT_S

_log = logging.getLogger(__name__)
#: Makes the search for the block that has made the engine of a patch fail in a frame, with or without fused kernels.
MakeSearch = Callable[[Patch, int, bool], CulpritSearch]
#: If engines fail more often than this in `_WITHIN_S`, without an edit between, only the person starts the next one.
_MOST, _WITHIN_S = 3, 30.0
#: A block that was edited so shortly before a failure is left out until the search has found the right one; an endless
#: kernel is noticed late.
_EDITED_S = 3.0 + 2 * LIMIT_S
#: The diagnostics of nodes that the engine has left out.
_MUTED = (Mend.TRY_AGAIN, Mend.LIFT_LIMIT)
#: Ends of a process that come from outside; the patch is searched only if they are repeated.
_FROM_OUTSIDE = (LOST_LINE, "SIGKILL", "SIGTERM", "SIGHUP", "SIGINT")
#: How long it waits after a lost line that could not be connected again.
_RECONNECT_MS = 2000
_LEFT_OUT = "the block is left out until it changes"


class Restarts(QObject):
    """Follows the failures of a session's engines, and says what was done or what the person can do.

    An engine in a process of its own is started again by itself: the document is here and intact, and the state on the
    device is as it was copied last (`StateCopies`). Nodes that the engine had left out stay left out, and so does the
    one that failed: its report names it, or a search in another process finds it. A line that is lost is connected
    again as long as it takes. An engine in this process is not started again, since a GPU that has failed works only in
    another process.
    """

    #: The notice to show; `NO_NOTICE` hides it.
    noticed = Signal(Notice)
    #: A message to the person.
    noted = Signal(str)
    _found = Signal(CulpritSearch, object)  # from the thread of the search

    def __init__(self, session: Session, bridge: Bridge, make_search: MakeSearch | None, parent: QObject) -> None:
        super().__init__(parent)
        self._session, self._bridge, self._make_search = session, bridge, make_search
        self._copies = StateCopies(session, bridge, self)
        self._times: deque[float] = deque(maxlen=_MOST)
        self._edited: tuple[str, ...] = ()
        self._edited_s = 0.0
        #: The newest values of the engine's reports, for the next engine of the same patch.
        self._values: Mapping[str, float] = {}
        self._search: CulpritSearch | None = None
        self._threads: list[threading.Thread] = []
        self._is_outdated = False  # the patch was edited since the search began
        #: A line was lost, and no engine has run since.
        self._is_resuming = False
        #: The nodes to leave out of the engine that is started when the search ends; None if one runs already.
        self._waiting: dict[str, Diagnostic] | None = None
        session.replaced.connect(self._follow)
        session.engine_changed.connect(lambda _: self._on_engine())
        session.engine_failed.connect(
            lambda text: self._offer(f"The engine can't start; the patch is intact. Reason: {text}")
        )
        bridge.stopped.connect(self._on_stopped)
        bridge.silent.connect(self._on_silent)
        bridge.updated.connect(self._note_update)
        bridge.report.connect(self._note_report)
        self._found.connect(self._on_found, Qt.ConnectionType.QueuedConnection)

    def restart(self) -> None:
        """Start another engine, without the block whose code holds the present one up."""
        engine, muted = self._session.engine, dict[str, Diagnostic]()
        if engine is not None and self._bridge.is_silent:
            block_folders.note_harm(engine.transport.stuck_file, "code that holds it up")
        if engine is not None and self._bridge.is_silent and (node := engine.transport.stuck_in):
            text = "the block's code must return, got code that stopped the engine"
            muted[node] = _left_out(error(text, node=node, remedy="correct its code", source=Source.VALIDATION))
        self._end_search()
        self._start(muted)

    def close(self) -> None:
        """End a search, and wait for its end."""
        self._end_search()
        for thread in self._threads:
            thread.join()

    def _start(self, muted: dict[str, Diagnostic]) -> str:
        """Start another engine, and return a sentence about it."""
        copy, state = self._copies.take()
        self._session.restart_engine(muted, copy)
        return f"The engine was started again{state}."

    def _follow(self, patch: Patch | None) -> None:
        self._end_search()
        self._times.clear()
        self._edited, self._values = (), {}
        self._is_resuming = False
        if patch is not None:
            patch.subscribe(self._note)

    def _note(self, change: Change) -> None:
        self._edited, self._edited_s = nodes_of(change), time.monotonic()
        self._is_outdated = True
        self._times.clear()

    def _note_update(self, update: UpdateRecord) -> None:
        if update.source != "engine":  # a saved file
            self._times.clear()

    def _on_engine(self) -> None:
        """Give another engine the values that OSC messages have set in the one before."""
        self._clear()
        patch = self._session.patch
        held = held_by_osc(patch, self._values) if patch is not None else {}
        if held:
            self._session.post(HoldOsc(tuple(held.items())))

    def _note_report(self, report: FrameReport) -> None:
        if not report.failed:
            self._values = report.values
        if self._is_resuming and not report.failed:
            self._is_resuming = False
            self._clear()

    def _clear(self) -> None:
        if not self._is_resuming:
            self.noticed.emit(NO_NOTICE)

    def _on_stopped(self, report: FrameReport) -> None:
        why, now_s, engine = report.diagnostics[-1], time.monotonic(), self._session.engine
        is_first = not (self._times and now_s - self._times[-1] < _WITHIN_S)
        if self._is_resuming and why.found == LOST_LINE and why.mend is None:
            self._reconnect(report)
            return
        self._is_resuming = why.found == LOST_LINE
        is_often = len(self._times) == _MOST and now_s - self._times[0] < _WITHIN_S
        is_lasting = is_often or why.mend not in (Mend.RESTART, *_MUTED)
        if engine is None or not engine.transport.has_own_process or is_lasting:
            self._offer(f"The engine has stopped; the patch is intact. Reason: {why.message}", why.mend)
            return
        self._times.append(now_s)
        muted = _muted(report)
        harm = block_folders.note_harm(engine.transport.stuck_file, "the end of its process")
        if harm is not None:
            self._session.restart_engine(muted)
            self.noted.emit(f"The engine was started again. Reason: {harm.message}")
            return
        if (why.node is None and not (is_first and why.found in _FROM_OUTSIDE)) and self._begin_search(report.frame):
            runs = [node for node in self._edited if node in report.nodes and report.nodes[node].kernels]
            if not (runs and is_first and now_s - self._edited_s < _EDITED_S):
                self._waiting = muted
                text = f"The engine has stopped; the patch is intact. Reason: {why.message}. Looking for the block …"
                self.noticed.emit(Notice(text, answers=self._answers(why.mend)))
                return
            muted |= {node: _left_out(replace(why, node=node)) for node in runs}
        self.noted.emit(f"{self._start(muted)} Reason: {why.message}")

    def _reconnect(self, report: FrameReport) -> None:
        """Try again later to connect a line that was lost."""
        engine = self._session.engine

        def again() -> None:
            if self._session.engine is engine:  # the person has neither closed the patch nor started another one
                self._start(_muted(report))

        text = "The line to the engine is lost; the patch is intact. Connecting again …"
        self.noticed.emit(Notice(text, answers=(("Restart engine", self.restart),)))
        QTimer.singleShot(_RECONNECT_MS, self, again)

    def _begin_search(self, frame: int) -> bool:
        """Search for the block that made the engine fail, unless a search of the same patch is under way.

        Return False if that can't be.
        """
        patch = self._session.patch
        if self._make_search is None or patch is None:
            return False
        if self._search is not None and self._is_outdated:
            self._end_search()
        if self._search is None:
            self._is_outdated = False
            search = self._search = self._make_search(patch, frame, self._session.fuses)
            self._threads = [thread for thread in self._threads if thread.is_alive()]
            self._threads.append(threading.Thread(target=self._run, args=(search,), name="find the culprit"))
            self._threads[-1].start()
        return True

    def _run(self, search: CulpritSearch) -> None:
        found: Culprit | None = None
        try:
            found = search.run()
        except WarploomError as problem:
            _log.warning("the block that made the engine fail could not be searched for: %s", problem)
        self._found.emit(search, found)

    def _on_found(self, search: CulpritSearch, found: object) -> None:
        patch, engine = self._session.patch, self._session.engine
        if search is not self._search or patch is None:
            return
        waiting, self._search, self._waiting = self._waiting, None, None
        muted, text = dict[str, Diagnostic](), "No block could be found that makes it fail."
        if isinstance(found, Culprit) and found.is_found:
            at = f"{found.node}: " if found.node else ""
            text = f"Reason: {at}{found.diagnostic.message}"
            if found.node in patch.nodes and not self._is_outdated:
                muted[found.node] = _left_out(found.diagnostic)
        if waiting is not None:
            self.noted.emit(f"{self._start({**waiting, **muted})} {text}")
        elif engine is not None and isinstance(found, Culprit) and found.is_found:
            if muted:
                engine.post(RunMuted())
                engine.post(Mute(muted))
            self.noted.emit(text)

    def _end_search(self) -> None:
        search, self._search, self._waiting = self._search, None, None
        if search is not None:
            search.cancel()

    def _on_silent(self, is_silent: bool) -> None:
        if not is_silent:
            if not self._bridge.has_stopped:  # which has a notice of its own
                self.noticed.emit(NO_NOTICE)
            return
        engine = self._session.engine
        node = engine.transport.stuck_in if engine is not None else ""
        doing = f": it runs the code of {node}" if node else ""
        if engine is not None and engine.transport.stuck_file:
            doing = ": it runs a block file, which is left out after a restart"
        text = f"The engine's process does not answer{doing}. The patch is intact; frames go on when it is heard again."
        if engine is not None and engine.transport.waits_for:  # the engine's badge says what for, and how long
            text = "The engine's process has not begun yet. The patch is intact; frames begin when it has."
        wait = ("Wait", lambda: self.noticed.emit(NO_NOTICE))
        self.noticed.emit(Notice(text, answers=(("Restart engine", self.restart), wait)))

    def _offer(self, text: str, mend: Mend | None = None) -> None:
        self.noticed.emit(Notice(text, answers=self._answers(mend), state="error"))

    def _answers(self, mend: Mend | None) -> tuple[tuple[str, Callable[[], object]], ...]:
        restart = ("Restart engine", self.restart)
        return (restart, ("Run without a time limit", self._run_on)) if mend is Mend.LIFT_LIMIT else (restart,)

    def _run_on(self) -> None:
        self._session.lift_time_limit()
        self.restart()


def _muted(report: FrameReport) -> dict[str, Diagnostic]:
    """Return the nodes to leave out of the next engine: those of the last one, and the one that failed."""
    failed = [item for item in report.diagnostics if item.severity is Severity.ERROR and item.mend in _MUTED]
    return {item.node: item for item in failed if item.node is not None}


def _left_out(why: Diagnostic) -> Diagnostic:
    """Return the diagnostic of a node that is left out."""
    remedy = f"{why.remedy.partition(';')[0]}; {_LEFT_OUT}" if why.remedy else _LEFT_OUT
    mend = why.mend if why.mend in _MUTED else Mend.TRY_AGAIN
    return replace(why, severity=Severity.ERROR, remedy=remedy, mend=mend)
