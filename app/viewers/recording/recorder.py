"""`PortRecorder`: records the frames of one port at a time."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import cast

from PySide6.QtCore import QObject, Qt, QTimer, Signal

from warploom.app.documents.bridge import Bridge
from warploom.app.documents.session import Session
from warploom.app.view_models.looking.tone import Tone
from warploom.app.viewers.recording.frame_files import FrameFiles
from warploom.engine.diagnostics import PatchError
from warploom.engine.figures import plural
from warploom.engine.patch.changes import PortRef
from warploom.engine.protocol.messages import FrameReport
from warploom.engine.protocol.sampling import Sample, Sampling

_OWNER = "recording"
#: Frames may wait for the disk up to so many bytes, and always two.
_MOST_WAITING = 256 << 20
_PATIENCE_MS = 10_000


@dataclass(frozen=True)
class Order:
    """What a person wants to record. `frames` is None until it is stopped; `suffix` is that of `FrameFiles`."""

    port: PortRef
    title: str
    tone: Tone
    folder: Path
    suffix: str = ".png"
    frames: int | None = 100
    every_frame: bool = True
    #: Frames that a film shows a second.
    rate: float = 60.0


@dataclass
class Recording:
    """A recording under way, in frames: those that came, were written, and were skipped."""

    order: Order
    taken: int = 0
    written: int = 0
    skipped: int = 0
    last: int | None = None
    waiting_bytes: int = 0
    problem: str = ""
    is_ending: bool = False
    #: A file could not be written: nothing more is.
    is_broken: bool = False

    @property
    def text(self) -> str:
        """The progress, as a text."""
        of = f" of {self.order.frames:,}" if self.order.frames is not None else ""
        skipped = f", {self.skipped:,} skipped" if self.skipped else ""
        return f"{self.written:,}{of} {'frame' if self.written == 1 and not of else 'frames'}{skipped}"


class PortRecorder(QObject):
    """Requests each frame, and writes it on a thread of its own."""

    #: The recording under way has changed; a `Recording`, or None when it has ended.
    changed = Signal(cast("type[Recording | None]", object))
    failed, noted = Signal(str), Signal(str)
    _wrote = Signal(cast("type[Callable[[], None]]", object))

    def __init__(self, session: Session, bridge: Bridge, parent: QObject) -> None:
        super().__init__(parent)
        self._session, self._bridge = session, bridge
        self.recording: Recording | None = None
        self._files: FrameFiles | None = None
        self._thread: ThreadPoolExecutor | None = None
        self._was_running = self._is_preparing = False
        self._patience = QTimer(self, singleShot=True, interval=_PATIENCE_MS)
        self._patience.timeout.connect(self._give_up)
        self._wrote.connect(lambda then: then(), Qt.ConnectionType.QueuedConnection)
        bridge.sampled.connect(self._take)
        bridge.report.connect(self._follow)
        session.engine_changed.connect(lambda _: self.stop())

    def start(self, order: Order) -> None:
        """Begin a recording; one under way goes on instead."""
        if self.recording is not None:
            return
        self.recording = Recording(order)
        name = f"{order.port.node}.{order.port.port}".replace("/", ".")
        self._files = FrameFiles(order.folder, name, order.suffix, order.tone, order.rate)
        self._thread = ThreadPoolExecutor(1, "warploom-recording")
        self._was_running = self._session.running
        if order.every_frame and self._was_running:
            self._session.set_running(False)
        self._bridge.observe_ports(_OWNER, {str(order.port): Sampling(order.port, each_frame=True)})
        self._patience.start()
        self.changed.emit(self.recording)

    def stop(self, problem: str = "") -> None:
        """End the recording after the frames that have arrived are written; its files stay."""
        recording, thread, files = self.recording, self._thread, self._files
        if recording is None or recording.is_ending or thread is None or files is None:
            return
        recording.is_ending, recording.problem = True, recording.problem or problem
        self._patience.stop()
        self._bridge.observe_ports(_OWNER, {})
        if recording.order.every_frame and self._was_running and not self._session.running:
            self._session.set_running(True)
        thread.submit(self._work, recording, files.close, partial(self._end, recording), always=True)
        thread.shutdown(wait=False)

    def close(self) -> None:
        """End the recording, and wait for its thread."""
        thread = self._thread
        self.stop()
        if thread is not None:
            thread.shutdown()

    def _follow(self, report: FrameReport) -> None:
        self._is_preparing = report.preparing

    def _take(self, sample: Sample) -> None:
        recording, thread, files = self.recording, self._thread, self._files
        owner = sample.name.partition("/")[0]
        if owner != _OWNER or recording is None or recording.is_ending or thread is None or files is None:
            return
        self._patience.start() if recording.order.every_frame else self._patience.stop()
        if sample.data is None and self._is_preparing:
            return
        if sample.data is None:
            self.stop(f"{recording.order.title} must hold something to be recorded: {sample.missing}")
            return
        size, last = sample.data.nbytes, recording.last
        if recording.waiting_bytes and recording.waiting_bytes + size > _MOST_WAITING:
            return  # it is counted when the next one is taken
        frame = sample.frame if last is None or (sample.frame > last and not recording.order.every_frame) else last + 1
        recording.skipped += 0 if last is None else frame - last - 1
        recording.last, recording.waiting_bytes = frame, recording.waiting_bytes + size
        recording.taken += 1
        thread.submit(self._work, recording, partial(files.write, frame, sample), partial(self._on_written, size))
        if recording.taken == recording.order.frames:
            self.stop()
        elif recording.order.every_frame and recording.waiting_bytes <= _MOST_WAITING // 2:
            self._session.step()

    def _work(
        self, recording: Recording, work: Callable[[], None], then: Callable[[bool], None], *, always: bool = False
    ) -> None:
        """Work on the thread, and return whether that succeeded; after a failure, nothing more is written."""
        is_done = False
        if always or not recording.is_broken:
            try:
                work()
                is_done = True
            except (OSError, ValueError, PatchError, MemoryError) as problem:
                place, recording.is_broken = recording.order.folder, True
                recording.problem = recording.problem or f"Recording into {place} failed: {_reason(problem)}"
        self._wrote.emit(partial(then, is_done))

    def _on_written(self, size: int, is_written: bool) -> None:
        recording = self.recording
        if recording is None:
            return
        is_held = recording.waiting_bytes > _MOST_WAITING // 2
        recording.waiting_bytes -= size
        recording.written += is_written
        if not is_written:
            self.stop()
        elif is_held and recording.order.every_frame and not recording.is_ending:
            self._session.step()
        self.changed.emit(recording)

    def _end(self, recording: Recording, is_closed: bool) -> None:
        self.recording = self._files = self._thread = None
        self.changed.emit(None)
        if recording.problem:
            kept = f"; {plural(recording.written, 'frame')} before it kept" if recording.written else ""
            self.failed.emit(f"{recording.problem}{kept}")
        else:
            self.noted.emit(f"Recorded {recording.text} of {recording.order.title} into {recording.order.folder}")

    def _give_up(self) -> None:
        if self._is_preparing:  # a compile takes as long as it takes
            self._patience.start()
            return
        self.stop("frames to record must come from the engine, got none for 10 s; check that the engine is running")


def _reason(problem: Exception) -> str:
    return (problem.strerror or str(problem)) if isinstance(problem, OSError) else str(problem)
