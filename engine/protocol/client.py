"""`Client`: a patch and the engine that runs it, wherever that engine is."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Protocol, Self

import numpy as np

from engine.descriptions.checks import shown
from engine.device.device import DeviceInfo
from engine.diagnostics import WarploomError
from engine.patch.changes import BlockTypesChanged, Change, PortRef
from engine.patch.document import Patch
from engine.profiling.profile import Profile
from engine.profiling.trace import TraceSlice
from engine.protocol import questions
from engine.protocol.checking import check_message
from engine.protocol.flight_record import FlightRecord
from engine.protocol.messages import EditCost, FrameReport, Message, Preview, Saved, SetTrust, Undone
from engine.protocol.outbox import Happening, Outbox
from engine.protocol.pacing import Pacing
from engine.protocol.questions import Answer, CostedEdit, Question


class Transport(Protocol):
    """The way to an engine: in this process, or through a pipe to another."""

    #: The device that the engine uses.
    info: DeviceInfo
    #: What the engine says.
    outbox: Outbox

    def post(self, message: Message, /) -> None:
        """Leave a message for the next frame; never wait."""

    def step(self, real_time: bool, /) -> FrameReport:
        """Answer `questions.Step`: the one question that is asked in every frame."""

    def ask(self, question: Question[Answer], /) -> Answer:
        """Wait for the answer; WarploomError when the engine refuses or has ended."""

    def close(self) -> None:
        """End the engine; safe to call again. DeviceError when the device fails only now."""


class Client:
    """Sends a patch and its changes to an engine, asks it questions, and takes what it says.

    Step it by hand (`step`), or let it run on its own thread (`start`, `stop`). `post` and the `take_` methods never
    wait; the rest may wait for the frame under way. DeviceError when the device fails.
    """

    def __init__(self, patch: Patch, transport: Transport) -> None:
        self.patch = patch
        self._transport = transport
        #: The device that the engine uses.
        self.info = transport.info
        self._outbox, self._ask, self._step = transport.outbox, transport.ask, transport.step
        transport.post(SetTrust(patch.trusted))
        for change in patch.as_changes():
            transport.post(change)
        self._unsubscribe: Callable[[], None] | None = patch.subscribe(self._follow)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def post(self, message: Message) -> None:
        """Leave a message for the next frame, and don't wait; WarploomError when a field holds no value of its type."""
        check_message(message)
        self._transport.post(message)

    def step(self, *, real_time: bool = False) -> FrameReport:
        """Do one frame now, with everything that was edited, and return its report.

        The patch's time goes on by one `time_step_s`, so that the same edits give the same frames on every run; with
        `real_time` it goes on by what has passed since the step before.
        """
        if real_time is not False and real_time is not True:
            raise _wrong("real_time", "True or False", real_time)
        return self._step(real_time)

    def trace(self, frames: int) -> list[TraceSlice]:
        """Do some frames with every kernel timed and return what took time; see `engine.profiling.trace`."""
        if not isinstance(frames, int) or isinstance(frames, bool) or frames < 0:
            raise _wrong("frames", "a whole number of at least 0", frames)
        return self._ask(questions.Trace(frames))

    def profile(self) -> Profile:
        """Return what the last measured frame cost, also if nobody observes profiles; see `engine.profiling.rows`.

        It waits for the frame under way. Before a frame was measured, and at level NONE, it has no times.
        """
        return self._ask(questions.ReadProfile())

    def flight_record(self) -> FlightRecord:
        """Return the times of the last 600 frames, what happened in them, and slow frames with what took their time.

        It waits for no frame. `SetFrameBudget` says which frames are slow.
        """
        return self._ask(questions.ReadRecorder())

    def start(self, *, rate: float | None = 60.0, pacing: Pacing | None = None, deterministic: bool = False) -> None:
        """Run frames on a thread of the engine's own, `rate` a second; None means as fast as they go.

        `pacing` replaces `rate` and can say more; `SetPacing` changes it later. The patch's time follows the wall's.
        With `deterministic`, for recordings, it goes on by one `time_step_s` a frame.
        """
        if rate is not None and not isinstance(rate, (int, float)):
            raise _wrong("rate", "a number of frames a second, or None", rate)
        if pacing is not None and not isinstance(pacing, Pacing):
            raise _wrong("pacing", "a Pacing", pacing)
        if not isinstance(deterministic, bool):
            raise _wrong("deterministic", "True or False", deterministic)
        if pacing is None:
            pacing = Pacing.free() if rate is None else Pacing.fixed(rate)
        self._ask(questions.Start(pacing, deterministic))

    def stop(self) -> None:
        """End the thread; the graph and its state stay."""
        self._ask(questions.Stop())

    def read(self, port: PortRef) -> np.ndarray[Any, Any]:
        """Return a copy of what a port holds after the last frame; the first frame is done when there was none.

        An array of the port's element type and shape; vectors have an axis of their own, last. A value output and a
        driven parameter give an array without dimensions. PatchError for a port of another patch.
        """
        if not isinstance(port, PortRef):
            raise _wrong("port", "one of a node, such as node['out']", port)
        return self._ask(questions.Read(self.patch.own(port)))

    def save_outputs(self, folder: Path | None = None) -> list[Saved]:
        """Save outputs (all of them into `folder`, or save blocks to their own paths) and return them.

        PatchError when a file can't be written, or lies elsewhere and the patch is not trusted; the others are saved.
        """
        if folder is not None and not isinstance(folder, Path):
            raise _wrong("folder", "a Path, or None", folder)
        return self._ask(questions.SaveTo(folder))

    def watch_files(self, folders: Iterable[Path] = ()) -> None:
        """Follow saves of kernel and block files: Warploom's, those beside block types, and those in `folders`.

        Block files count where `trust_blocks` or the catalogue have loaded them from.
        """
        found = tuple(folders) if isinstance(folders, Iterable) else (folders,)
        for folder in found:
            if not isinstance(folder, Path):
                raise _wrong("folder", "a Path", folder)
        self._ask(questions.WatchFiles(found))

    def cost_of(self, asked: CostedEdit | Iterable[CostedEdit]) -> EditCost:
        """Return what one or several changes would cost if they were made together; nothing is done.

        Call it on the patch's thread. It waits for no frame.
        """
        edits = tuple(asked) if isinstance(asked, Iterable) else (asked,)
        for edit in edits:
            if not isinstance(edit, CostedEdit):
                raise _wrong("edit", "a change of a patch, saved kernel files or a profiling level", edit)
        return self._ask(questions.CostOf(edits))

    def take_report(self) -> FrameReport | None:
        """Return the newest report that was not taken yet. Of frames that overlap, not each leaves one."""
        return self._outbox.take_report()

    def take_profile(self) -> Profile | None:
        """Return the newest profile that was not taken yet; there are some while `ObserveProfile` says so."""
        return self._outbox.take_profile()

    def take_preview(self, node_id: str) -> Preview | None:
        """Return a viewer's newest picture that was not taken yet; `Observe` says which are looked at."""
        return self._outbox.take_preview(node_id)

    def take_events(self) -> list[Happening]:
        """Return what happened since the last call: files saved, updates above HOT, failures."""
        return self._outbox.take_events()

    def close(self) -> None:
        """Stop and give everything back; safe to call again. DeviceError when the device fails only now."""
        if self._unsubscribe is not None:
            self._unsubscribe()
            self._unsubscribe = None
        self._transport.close()

    def _follow(self, change: Change) -> None:
        if not isinstance(change, BlockTypesChanged):  # the engine's own process tells it of block files
            self._transport.post(Undone(change) if self.patch.is_undoing else change)  # the patch has checked it


def _wrong(what: str, rule: str, value: object) -> WarploomError:
    return WarploomError(f"{what} must be {rule}, got {shown(value)}")
