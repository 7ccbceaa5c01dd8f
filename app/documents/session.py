"""`Session`: the open document, which is a patch and the engine that runs it."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, cast

from PySide6.QtCore import QObject, Qt, QTimer, Signal

from warploom.app.qt.display_rate import USUAL_RATE
from warploom.engine.blocktypes.block import block_types
from warploom.engine.catalogue.catalogue import forget_blocks, trust_blocks
from warploom.engine.device.device import HOST_ARCHITECTURE
from warploom.engine.diagnostics import DeviceError, Diagnostic, WarploomError
from warploom.engine.patch.beside.collect import Collected, collect_files
from warploom.engine.patch.changes import BlockTypesChanged, Change
from warploom.engine.patch.document import Patch
from warploom.engine.patch.files import load_patch, save_patch
from warploom.engine.profiling.levels import ProfilingLevel
from warploom.engine.protocol.child.liveness import SILENT_S
from warploom.engine.protocol.messages import (
    CancelCompiles,
    EditCost,
    Message,
    Mute,
    RunMuted,
    SetFusing,
    SetKernelTimeLimit,
    SetPacing,
    SetProfiling,
    SetRunning,
    SetTrust,
    StateCopy,
)
from warploom.engine.protocol.pacing import Pacing, PacingMode

if TYPE_CHECKING:
    from warploom.engine.protocol.client import Client


_log = logging.getLogger(__name__)
#: The time that opening a patch waits for its blocks; slower ones arrive later.
_BLOCKS_WAIT_S = 1.0
#: The longest wait for the cost of an edit, which is shown while somebody drags.
_COST_S = 0.05
#: The time limit for a kernel on the CPU, until the person lifts it: long for a frame, but short for a waiting person.
KERNEL_TIME_LIMIT_S = 10.0
MakeEngine = Callable[[Patch, ProfilingLevel], "Client"]


class Session(QObject):
    """One patch at a time, with its engine. Engines are closed on separate threads, so the UI never waits for them."""

    #: Another patch, or None, is open and its engine has started; `engine_changed` follows.
    replaced = Signal(cast("type[Patch | None]", object))  # Qt has no unions
    #: Another engine runs, or None.
    engine_changed = Signal(cast("type[Client | None]", object))
    #: The patch, its undo history or its saved mark changed; at most once per turn of the event loop.
    changed = Signal()
    #: The engine could not start; the text is the reason. The patch can still be edited and saved.
    engine_failed = Signal(str)
    #: Playing started or stopped.
    running_changed = Signal(bool)
    #: Block types were added, removed or changed; the patch's listeners were notified before.
    types_changed = Signal(frozenset)
    _types_loaded = Signal(frozenset)  # from the thread that loads block files
    #: Another level is measured.
    profiling_changed = Signal(ProfilingLevel)
    #: Another pacing of frames was chosen.
    pacing_changed = Signal(Pacing)

    def __init__(self, make_engine: MakeEngine, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.patch: Patch | None = None
        self.engine: Client | None = None
        self.profiling = ProfilingLevel.PER_BLOCK
        self.fuses = True
        self.kernel_time_limit_s: float | None = KERNEL_TIME_LIMIT_S
        self.running = True
        self.pacing = Pacing.display(USUAL_RATE)
        self._display_rate = USUAL_RATE
        #: Makes text fields with unfinished input apply it to the patch.
        self.enter_typed: Callable[[], None] = lambda: None
        #: Starts an engine for a patch, such as a copy of this one.
        self.make_engine = make_engine
        self._failure = ""
        self._is_saved = True
        self._file_differs = False
        self._unsubscribe: Callable[[], None] | None = None
        self._closing: list[threading.Thread] = []
        # The history records an edit after its listeners ran, so it is read in the next turn of the event loop.
        self._later = QTimer(self, singleShot=True, interval=0)
        self._later.timeout.connect(self.changed)
        #: The trusted folder of blocks that the patch uses; set by `use_blocks`.
        self.blocks: Path | None = None
        self._types_loaded.connect(self._on_types, Qt.ConnectionType.QueuedConnection)
        self._forget_types = block_types.subscribe(self._types_loaded.emit)

    @property
    def path(self) -> Path | None:
        """The file of the patch; None if it was never saved."""
        return self.patch.path if self.patch else None

    @property
    def name(self) -> str:
        """The patch's name in the title."""
        return self.path.stem if self.path else "Untitled"

    @property
    def is_modified(self) -> bool:
        """True when the patch has changes that its file lacks."""
        is_saved = self._is_saved and not self._file_differs
        return self.patch is not None and not (is_saved and self.patch.history.is_saved)

    @property
    def architecture(self) -> str:
        """The architecture that kernels are compiled for: that of the engine's device, or else the host's."""
        known = self.engine.info.architecture if self.engine is not None else ""
        return known if known.startswith(("sm_", "compute_")) else HOST_ARCHITECTURE

    def open(self, path: Path, *, blocks: Path | None = None, trust: bool = False) -> None:
        """Open a file in place of the current patch. If it is not a patch, raise PatchError and keep the current one.

        `blocks` is a folder that the person trusts: its files are run before the patch is read. With `trust`, the
        person trusts the patch too.
        """
        before = self.blocks
        try:
            self.use_blocks(blocks)
            patch = load_patch(path, trust=trust)
        except BaseException:
            self.use_blocks(before)
            raise
        self.replace(patch, blocks=blocks)

    def replace(self, patch: Patch | None, *, is_saved: bool = True, blocks: Path | None = None) -> None:
        """Switch to another patch, or none, and start its engine; `is_saved` is False for work without a file."""
        self._end_engine()
        self.use_blocks(blocks)
        if self._unsubscribe is not None:
            self._unsubscribe()
            self._unsubscribe = None
        self.patch, self._is_saved, self._file_differs = patch, is_saved, False
        if patch is not None:
            self._unsubscribe = patch.subscribe(None, self.notify)
            self._start_engine(patch)
        self.replaced.emit(patch)
        self.engine_changed.emit(self.engine)
        self._report_failure()
        self.notify()

    def use_blocks(self, folder: Path | None) -> None:
        """Load the block types of a trusted folder, and unload those of the previous one."""
        if folder == self.blocks:
            return
        if self.blocks is not None:
            forget_blocks(self.blocks)
        self.blocks = folder
        if folder is not None:
            trust_blocks(folder, wait_s=_BLOCKS_WAIT_S)

    def set_trusted(self, trusted: bool) -> None:
        """Set whether the patch is trusted."""
        if self.patch is not None:
            self.patch.trusted = trusted
            self.post(SetTrust(trusted))
            adaptive = {node.type for node in self.patch.nodes.values() if self.patch.catalogue.is_adaptive(node.type)}
            if adaptive:  # trust decides what their kernels may include
                self.patch.restore([BlockTypesChanged(frozenset(adaptive))])

    def save(self, path: Path) -> None:
        """Save the patch to a file, which becomes its file. Raise PatchError when it can't be written."""
        if self.patch is not None:
            save_patch(self.patch, path)
            self._note_saved()

    def collect(self, patch: Patch, path: Path) -> Collected:
        """Copy the files of the open patch beside `path`, and save it there."""
        found = collect_files(patch, path)
        self._note_saved()
        return found

    def _note_saved(self) -> None:
        self._is_saved, self._file_differs = True, False
        self.notify()

    def reload(self, theirs: Patch) -> None:
        """Make the patch equal to the present contents of its file, as one edit."""
        if self.patch is not None:
            self.patch.become(theirs, f"Reload {theirs.path.name if theirs.path else 'file'}")
            self.patch.file_digest = theirs.file_digest
            self.patch.history.mark_saved()
            self._note_saved()

    def keep(self, file_digest: bytes) -> None:
        """Keep the patch although its file has changed; saving may overwrite the file."""
        if self.patch is not None:
            self.patch.file_digest = file_digest
            self._is_saved, self._file_differs = False, False
            self.notify()

    def set_file_differs(self, differs: bool) -> None:
        """Count the patch as unsaved while another program has changed its file."""
        if differs != self._file_differs:
            self._file_differs = differs
            self.notify()

    def undo(self) -> None:
        """Take the last edit back."""
        if self.patch is not None:
            self.patch.undo()
            self.notify()

    def redo(self) -> None:
        """Restore the last undone edit."""
        if self.patch is not None:
            self.patch.redo()
            self.notify()

    def jump(self, done: int) -> None:
        """Undo or redo until so many edits are done."""
        if self.patch is not None:
            history = self.patch.history
            while len(history.names) > done and self.patch.undo() is not None:
                pass
            while len(history.names) < done and self.patch.redo() is not None:
                pass
            self.notify()

    def notify(self) -> None:
        """Emit `changed` in the next turn of the event loop."""
        self._later.start()

    def post(self, message: Message) -> None:
        """Send a message to the engine, if one runs."""
        if self.engine is not None:
            self.engine.post(message)

    @property
    def peak_bytes_per_s(self) -> float | None:
        """The memory bandwidth of the engine's device; None where it is unknown."""
        return self.engine.info.peak_bytes_per_s if self.engine is not None else None

    def cost_of(self, changes: Sequence[Change]) -> EditCost | None:
        """Return what changes would cost at present; None while no engine runs, or if it does not answer at once."""
        if self.engine is None or self.engine.transport.silent_s >= SILENT_S:
            return None
        try:
            return self.engine.cost_of(changes, within_s=_COST_S)
        except (DeviceError, TimeoutError):  # the last report of a process that has ended has the reason
            return None

    def set_running(self, running: bool) -> None:
        """Play or pause."""
        self.running = running
        self.post(SetRunning(running))
        self.running_changed.emit(running)

    def follow_pause(self) -> None:
        """Note that the engine has paused by itself."""
        self.running = False
        self.running_changed.emit(False)

    def step(self) -> None:
        """Run one frame, and pause."""
        self.running = False
        self.post(SetRunning(True, frames=1))
        self.running_changed.emit(False)

    def set_pacing(self, mode: PacingMode, rate: float | None = None) -> None:
        """Choose the pacing of frames, for this patch and later ones; only a fixed pacing takes a rate."""
        rate = self._display_rate if mode is PacingMode.DISPLAY else rate
        pacing = Pacing(mode, rate)
        if pacing != self.pacing:
            self.pacing = pacing
            self.post(SetPacing(pacing))
            self.pacing_changed.emit(pacing)

    def set_display_rate(self, rate: float) -> None:
        """Follow the refresh rate of the window's screen."""
        self._display_rate = rate
        if self.pacing.mode is PacingMode.DISPLAY:
            self.set_pacing(PacingMode.DISPLAY)

    def set_profiling(self, level: ProfilingLevel) -> None:
        """Choose the profiling level, for this patch and later ones."""
        self.profiling = level
        self.post(SetProfiling(level))
        self.profiling_changed.emit(level)

    def toggle_fusing(self) -> None:
        """Turn the fusing of neighbouring blocks' kernels on or off, for this patch and later ones."""
        self.fuses = not self.fuses
        self.post(SetFusing(self.fuses))

    def close(self) -> None:
        """End the engine, and wait until every engine has released its device."""
        self._forget_types()
        self.replace(None)
        for thread in self._closing:
            thread.join()
        self._closing.clear()

    def restart_engine(self, muted: Mapping[str, Diagnostic] | None = None, copy: StateCopy | None = None) -> None:
        """Start a new engine for the same patch after one failed, without the `muted` nodes.

        It goes on from a `copy` of the last one's state, if there is one.
        """
        if self.patch is not None:
            self._end_engine()
            self._start_engine(self.patch, muted, copy)
            self.engine_changed.emit(self.engine)
            self._report_failure()

    def lift_time_limit(self) -> None:
        """Remove the time limit of kernels, for this patch and later ones, and run the nodes that it has stopped."""
        self.kernel_time_limit_s = None
        self.post(SetKernelTimeLimit(None))
        self.run_muted()

    def run_muted(self) -> None:
        """Run the nodes again that the engine has left out since the device failed in them."""
        self.post(RunMuted())

    def cancel_compiles(self) -> None:
        """End the engine's compiles, which may take long; their nodes show it."""
        self.post(CancelCompiles())

    def _on_types(self, types: frozenset[str]) -> None:
        if self.patch is not None:
            self.patch.restore([BlockTypesChanged(types)])
        self.types_changed.emit(types)

    def _start_engine(
        self, patch: Patch, muted: Mapping[str, Diagnostic] | None = None, copy: StateCopy | None = None
    ) -> None:
        try:
            self.engine = self.make_engine(patch, self.profiling)
            if muted:
                self.engine.post(Mute(dict(muted)))
            if copy is not None:
                self.engine.post(copy)
            self.engine.post(SetKernelTimeLimit(self.kernel_time_limit_s))
            self.engine.start(pacing=self.pacing)
            self.engine.watch_files()
        except WarploomError as problem:
            self._failure = str(problem)
            self._end_engine()
            return
        if not self.fuses:
            self.engine.post(SetFusing(False))
        if not self.running:
            self.engine.post(SetRunning(False))

    def _report_failure(self) -> None:
        # Reported after everything shows the new patch, since the failure belongs to it.
        if self._failure:
            failure, self._failure = self._failure, ""
            self.engine_failed.emit(failure)

    def _end_engine(self) -> None:
        if self.engine is None:
            return
        self._closing = [thread for thread in self._closing if thread.is_alive()]
        thread = threading.Thread(target=_close, args=(self.engine,), name="close engine")
        thread.start()
        self._closing.append(thread)
        self.engine = None


def _close(engine: Client) -> None:
    """Close an engine that is no longer shown; an error of its device is logged."""
    try:
        engine.close()
    except DeviceError as problem:
        _log.warning("an engine was closed, and its device reported: %s", problem)
