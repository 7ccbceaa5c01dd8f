"""`Client`: a patch and the engine that runs it, wherever that engine is."""

from collections.abc import Iterable
from functools import partial
from pathlib import Path
from threading import get_ident
from typing import Annotated, Any, Protocol, Self

import numpy as np
from msgspec import Meta

from warploom.engine.arguments import check_of, checked
from warploom.engine.compiler.inspection.data import FramePlan
from warploom.engine.device.device import DeviceInfo
from warploom.engine.diagnostics import Diagnostic, PatchError, WarploomError
from warploom.engine.patch.animation.timeline import Timeline
from warploom.engine.patch.changes import BlockTypesChanged, Change, PortRef, net_changes
from warploom.engine.patch.document import Patch
from warploom.engine.patch.organise.bypass import RunningChanges
from warploom.engine.patch.organise.osc_addresses import OscTable, osc_table
from warploom.engine.profiling.profile import Profile
from warploom.engine.profiling.trace import TraceSlice
from warploom.engine.protocol import questions
from warploom.engine.protocol.engine_state import EngineState
from warploom.engine.protocol.flight_record import FlightRecord
from warploom.engine.protocol.messages import (
    EditCost,
    Edited,
    FrameReport,
    Message,
    Saved,
    SetLeftOut,
    SetOsc,
    SetTime,
    SetTimeline,
    SetTrust,
    check_message,
)
from warploom.engine.protocol.outbox import Happening, Outbox
from warploom.engine.protocol.pacing import Pacing
from warploom.engine.protocol.questions import Answer, CostedEdit, Question, ReplayStep
from warploom.engine.protocol.sampling import ObservePorts, Sample, Sampling
from warploom.engine.protocol.showing import LiveView


class Transport(Protocol):
    """The way to an engine: in this process, or through a pipe to another."""

    #: The device that the engine uses.
    info: DeviceInfo
    #: The engine's reports, samples and events.
    outbox: Outbox
    #: Whether the engine runs in another process: when that ends, a new one can go on.
    has_own_process: bool

    @property
    def stuck_in(self) -> str:
        """The node whose code the engine's process runs now, if any; it holds all else up in a silent process."""

    @property
    def stuck_file(self) -> str:
        """The SHA-256 digest, as hex digits, of the block file that the engine's process runs now or ran when it ended;
        "" for none.
        """

    @property
    def silent_s(self) -> float:
        """How long the engine's process has not been heard of, in seconds; 0 for an engine in this process.

        From `liveness.SILENT_S` on, it is probably stopped, or the line is dead; questions fail from `LOST_S` on.
        """

    @property
    def waits_for(self) -> str:
        """What must happen before the engine can run the patch, as a text for people; "" when it can.

        An engine in another process waits for that process, and one on another machine for the patch's files.
        """

    def post(self, message: Message, /) -> None:
        """Leave a message for the next frame; never wait."""

    def step(self, real_time: bool, /) -> FrameReport:
        """Answer `questions.Step`: the one question that is asked in every frame."""

    def ask(self, question: Question[Answer], within_s: float | None = None, /) -> Answer:
        """Wait for the answer. Raise WarploomError if the engine refuses or has ended.

        Raise TimeoutError if another process has not answered `within_s`; its answer is then dropped.
        """

    def close(self) -> None:
        """End the engine; safe to call again. Raise DeviceError if the device fails only now."""


class Client:
    """Sends a patch and its changes to an engine, asks it questions, and receives its reports.

    Step it by hand (`step`), or let it run on its own thread (`start`, `stop`). `post` and the `take_` methods never
    wait; the rest may wait for the frame under way. Raise DeviceError if the device fails.
    """

    def __init__(self, patch: Patch, transport: Transport) -> None:
        self.patch = patch
        #: The way to the engine, with what is known of its process.
        self.transport = transport
        self._outbox, self._step = transport.outbox, transport.step
        #: The changes of an edit that is not complete, and the thread that makes it.
        self._changes: list[Change] = []
        self._editor = 0
        self._is_undo = self._is_closed = False
        #: What notebooks show, by the name of the sample.
        self._views: dict[str, tuple[LiveView, Sampling]] = {}
        self._running = RunningChanges(patch)
        transport.post(SetTrust(patch.trusted))
        for change in self._running.first():
            transport.post(change)
        if self._running.left_out:
            transport.post(SetLeftOut(self._running.left_out))
        #: The newest OSC table and timeline that were sent, and the patch's edition at that time.
        self._osc, self._edition = OscTable(), -1
        self._timeline: Timeline | None = None
        self._send_settings()
        self._unsubscribe = patch.subscribe(self._follow, self._end_edit, without_groups=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def info(self) -> DeviceInfo:
        """The device that the engine uses; one without memory until an engine in another process has opened it."""
        return self.transport.info

    def post(self, message: Message) -> None:
        """Leave a message for the next frame, and don't wait.

        Raise WarploomError if a field holds no value of its type.
        """
        check_message(message)
        self._send_begun()
        self.transport.post(message)

    def step(self, *, real_time: bool = False, time_s: float | None = None) -> FrameReport:
        """Run one frame now, with all edits applied, and return its report.

        The patch's time advances by one `time_step_s`, so that the same edits give the same frames on every run; with
        `real_time` it advances by the time since the previous step. With `time_s`, the frame is at that time, see
        `SetTime`: several engines in step are given the same times. A patch with a timeline has its own.
        """
        if not isinstance(real_time, bool):  # quicker than `checked`
            raise WarploomError(check_of(bool)(real_time, "real_time"))
        if time_s is not None:
            if self.patch.timeline is not None:
                raise WarploomError("time_s must be left out for a patch with a timeline; go to a frame with Seek")
            self.post(SetTime(time_s))
        if self._changes:
            self._send_begun()
        return self._step(real_time)

    @checked()
    def trace(self, frames: Annotated[int, Meta(ge=0)]) -> list[TraceSlice]:
        """Run some frames, measure every kernel in them, and return the times; see `engine.profiling.trace`."""
        return self._ask(questions.Trace(frames))

    @checked()
    def replay(
        self, from_frame: Annotated[int, Meta(ge=0)] = 0, *, within_s: Annotated[float, Meta(gt=0)] | None = None
    ) -> ReplayStep:
        """Do what the last call named, and return the next step, which is not done yet; see `questions.Replay`.

        Every other question ends the replay. Raise TimeoutError if an engine in another process has not
        answered `within_s`.
        """
        return self._ask(questions.Replay(from_frame), within_s)

    def profile(self) -> Profile:
        """Return the profile of the last measured frame, even if no one observes profiles; see `engine.profiling.rows`.

        The call waits for the current frame. Before a frame was measured, and at level NONE, it has no times.
        """
        return self._ask(questions.ReadProfile())

    @checked()
    def flight_record(self, *, with_times: bool = True) -> FlightRecord:
        """Return the times and events of the last 600 frames, and slow frames with the causes of their times.

        With `with_times`, it has the times of nodes in the frames that were measured. It waits for no frame.
        `SetFrameBudget` decides which frames are slow.
        """
        return self._ask(questions.ReadRecorder(with_times))

    def plan(self) -> FramePlan | None:
        """Return the operations and buffers of the running graph, see `engine.compiler.inspection.data`.

        It waits for no frame. None while nothing runs.
        """
        return self._ask(questions.ReadPlan())

    @checked()
    def start(self, *, rate: float | None = 60.0, pacing: Pacing | None = None, deterministic: bool = False) -> None:
        """Run frames on a thread of the engine's own, `rate` a second; None means as fast as they go.

        `pacing` replaces `rate` and can say more; `SetPacing` changes it later. The patch's time follows the wall
        clock. With `deterministic`, for recordings, time advances by one `time_step_s` per frame.
        """
        if pacing is None:
            pacing = Pacing.free() if rate is None else Pacing.fixed(rate)
        self._ask(questions.Start(pacing, deterministic))

    def stop(self) -> None:
        """End the thread; the graph and its state stay."""
        self._ask(questions.Stop())

    def read(self, port: PortRef, *, valid: bool = False) -> np.ndarray[Any, Any]:
        """Return a copy of a port's contents after the last frame; runs the first frame if there was none.

        The array has the port's element type and shape; vectors have an axis of their own, last. A value output and a
        driven parameter give an array without dimensions. A port of a group stands for that of a block inside. With
        `valid`, the port must be an append buffer, and the array has the elements that were appended. Raise PatchError
        for another port, and for one of another patch.
        """
        leaf = self.patch.leaf(port)
        if leaf is None:
            raise PatchError(f"port to read must lead to a block, got {port}, which leads to none")
        return self._ask(questions.Read(leaf, valid))

    @checked(port="checked by the patch")
    def show(self, port: PortRef, *, rate: Annotated[float, Meta(gt=0, le=60)] = 10.0) -> LiveView:
        """Show a port in a notebook's output, which follows the frames, at most `rate` times a second.

        It ends with `close` of the returned view, or of the engine. It observes ports by `ObservePorts`, as only one
        listener at a time can. Raise WarploomError outside of a notebook, and PatchError for a port of another patch.
        """
        leaf = self.patch.leaf(port)
        if leaf is None:
            raise PatchError(f"port to show must lead to a block, got {port}, which leads to none")
        name = f"show {len(self._views)} {leaf}"
        view = LiveView(leaf, rate, partial(self.take_sample, name), partial(self._forget_view, name))
        self._views[name] = view, LiveView.sampling(leaf, rate)
        self._observe_views()
        return view

    def _forget_view(self, name: str) -> None:
        self._views.pop(name, None)
        if not self._is_closed:
            self._observe_views()

    def _observe_views(self) -> None:
        self.post(ObservePorts({name: sampling for name, (_, sampling) in self._views.items()}))

    @checked()
    def save_outputs(self, folder: Path | None = None) -> list[Saved]:
        """Save outputs (all of them into `folder`, or save blocks to their own paths) and return them.

        Raise PatchError if a file can't be written, or if the patch is not trusted and the file lies elsewhere, or
        would be overwritten and is not as this patch wrote it. Others are saved. In `folder`, files are overwritten.
        """
        return self._ask(questions.SaveTo(folder))

    def read_state(self) -> EngineState:
        """Return what the frames so far leave for the next one. Raise PatchError if a block's state can't be saved."""
        return self._ask(questions.ReadState())

    @checked()
    def put_state(self, state: EngineState) -> None:
        """Go on from a state of the same patch, in this engine or another; raise PatchError if it is of another."""
        self._ask(questions.PutState(state))

    @checked()
    def copy_state(self, most_bytes: Annotated[int, Meta(ge=0)]) -> None:
        """Request a `StateCopy`, which is left among the events if there is one; see `questions.CopyState`."""
        self._ask(questions.CopyState(most_bytes))

    def refused_outputs(self) -> list[Diagnostic]:
        """Return why `save_outputs()` would not write some files if it was called now."""
        return self._ask(questions.FindRefused())

    def watch_files(self, folders: Iterable[Path] = ()) -> None:
        """Follow saves of kernel and block files: Warploom's, those beside block types, and those in `folders`.

        Block files are followed where `trust_blocks` or the catalogue have loaded them.
        """
        self._ask(questions.WatchFiles(_each(Path, folders)))

    @checked(asked="checked by _each")
    def cost_of(
        self, asked: CostedEdit | Iterable[CostedEdit], *, within_s: Annotated[float, Meta(gt=0)] | None = None
    ) -> EditCost:
        """Return the cost of one or several changes that are made together, without making them.

        Call it on the patch's thread. It waits for no frame. Raise TimeoutError if an engine in another process has
        not answered `within_s`.
        """
        edits = _each(CostedEdit, asked)
        made = self._running.would_follow([edit for edit in edits if isinstance(edit, Change)])
        return self._ask(questions.CostOf((*made, *(e for e in edits if not isinstance(e, Change)))), within_s)

    def take_report(self) -> FrameReport | None:
        """Return the newest report that was not taken yet. Not every overlapping frame leaves a report."""
        return self._outbox.take_report()

    def take_profile(self) -> Profile | None:
        """Return the newest profile that was not taken yet; there are profiles while `ObserveProfile` is on."""
        return self._outbox.take_profile()

    @checked()
    def take_sample(self, name: str) -> Sample | None:
        """Return the newest sample of a port that was not taken yet; `ObservePorts` chooses and names them."""
        return self._outbox.take_sample(name)

    def take_events(self) -> list[Happening]:
        """Return the events since the last call: files saved, updates above HOT, failures, copies of the state."""
        return self._outbox.take_events()

    def close(self) -> None:
        """Stop and free all resources; safe to call again. Raise DeviceError if the device fails only now."""
        self._is_closed = True
        for view, _ in tuple(self._views.values()):
            view.close()
        self._unsubscribe()
        self._unsubscribe = lambda: None
        self.transport.close()

    def _ask(self, question: Question[Answer], within_s: float | None = None) -> Answer:
        self._send_begun()
        return self.transport.ask(question, within_s)

    def _follow(self, change: Change) -> None:
        if isinstance(change, BlockTypesChanged):  # the engine's own process follows block files
            self._running.retype()
        else:
            self._changes.append(change)
            self._is_undo, self._editor = self.patch.is_undoing, get_ident()

    def _end_edit(self) -> None:
        self._send_edit()
        if self._edition != self.patch.edition:
            self._send_settings()

    def _send_settings(self) -> None:
        """Post the timeline, and what is received and sent by OSC, if they have changed.

        Addresses of OSC follow from names and groups.
        """
        self._edition = self.patch.edition
        if self._timeline is not self.patch.timeline:
            self._timeline = self.patch.timeline
            self.transport.post(SetTimeline(self._timeline))
        before, self._osc = self._osc, osc_table(self.patch)
        if self._osc != before:
            self.transport.post(SetOsc(self._osc))

    def _send_begun(self) -> None:
        """Send the changes so far of an edit that this thread makes, so that all arrives in order."""
        if self._changes and self._editor == get_ident():
            self._send_edit()

    def _send_edit(self) -> None:
        """Post the changes of an edit together, so that no frame runs half of it; the patch has checked them."""
        before = self._running.left_out
        edit, self._changes = net_changes(self._running.follow(self._changes)), []
        after = self._running.left_out
        if after - before:
            self.transport.post(SetLeftOut(before | after))
        if len(edit) == 1 and not self._is_undo:
            self.transport.post(edit[0])
        elif edit:
            self.transport.post(Edited(tuple(edit), self._is_undo))
        if before - after:  # only now, since their state must wait for the edit
            self.transport.post(SetLeftOut(after))


def _each(kind: Any, given: object) -> tuple[Any, ...]:
    """Return one or several values as a tuple. Raise WarploomError unless each is of the type `kind`."""
    try:
        found = tuple(given) if isinstance(given, Iterable) and not isinstance(given, str) else (given,)
    except TypeError:  # an array without dimensions
        found = (given,)
    for item in found:
        if problem := check_of(kind)(item, "each of them"):
            raise WarploomError(problem)
    return found
