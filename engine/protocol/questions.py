"""Questions to the engine. Unlike messages they are answered; each names the type of its answer."""

from enum import StrEnum
from pathlib import Path
from typing import Any, Generic, TypeVar, get_args

import msgspec
import numpy as np

from warploom.engine.compiler.inspection.data import FramePlan
from warploom.engine.device.device import DeviceInfo
from warploom.engine.diagnostics import Diagnostic
from warploom.engine.patch.changes import Change, PortRef
from warploom.engine.profiling.levels import ProfilingLevel
from warploom.engine.profiling.profile import Profile
from warploom.engine.profiling.trace import TraceSlice
from warploom.engine.protocol.engine_state import EngineState
from warploom.engine.protocol.flight_record import FlightRecord
from warploom.engine.protocol.messages import EditCost, FrameReport, KernelFilesChanged, Saved, SetProfiling
from warploom.engine.protocol.pacing import Pacing

Answer = TypeVar("Answer")

#: An edit whose cost can be requested.
CostedEdit = Change | KernelFilesChanged | SetProfiling


class Question(msgspec.Struct, Generic[Answer], frozen=True):
    """Something that an engine answers with a value of one type, or refuses with a WarploomError."""

    @classmethod
    def answer_type(cls) -> Any:
        """Return the type of the answer."""
        return get_args(vars(cls)["__orig_bases__"][0])[0]


class Open(Question[DeviceInfo], frozen=True, tag=True):
    """Create the engine on a device. Only an engine process is asked this, as its first question."""

    device: str
    profiling: ProfilingLevel
    time_step_s: float
    plain_edges: bool = False


class Step(Question[FrameReport], frozen=True, tag=True):
    """Run one frame now."""

    real_time: bool = False


class Doing(StrEnum):
    """The kind of a step of a replay."""

    START = "start"  #: of the process, its device, and the code of block files
    FRAME = "frame"  #: as a whole
    UPDATE = "update of the graph"  #: before the operations of a frame
    CODE = "a block's Python"
    OPERATION = "operation"


class ReplayStep(msgspec.Struct, frozen=True):
    """What a replayed engine does next, or the fault of the last step.

    `work` describes it; `kernel` is the entry point of a kernel, `file` its source. `nodes` are the blocks whose work
    it does: several for a fused kernel, none for work of the engine itself. `loops` are those around it with their
    turns, the outermost first. `arguments` are a kernel's, "name = value". With a `fault`, nothing follows.
    """

    frame: int
    doing: Doing
    work: str
    nodes: tuple[str, ...] = ()
    kernel: str | None = None
    file: str | None = None
    loops: tuple[tuple[str, int], ...] = ()
    arguments: tuple[str, ...] = ()
    fault: Diagnostic | None = None


class Replay(Question[ReplayStep], frozen=True, tag=True):
    """Do what the last answer named, and answer with the next step; the first of these questions does nothing.

    Frames before `from_frame` are one step each. From then on each call of a block's code is a step, and each
    operation of the graph, which is waited for. So whoever asks knows what the engine did when its process died. Every
    other question ends the replay, perhaps within a frame.
    """

    from_frame: int = 0


class Trace(Question[list[TraceSlice]], frozen=True, tag=True):
    """Run some frames and time every kernel."""

    frames: int


class ReadProfile(Question[Profile], frozen=True, tag=True):
    """Compute the profile of the last measured frame."""


class ReadRecorder(Question[FlightRecord], frozen=True, tag=True):
    """Copy the contents of the flight recorder, without waiting for a frame."""

    with_times: bool = False


class ReadPlan(Question[FramePlan | None], frozen=True, tag=True):
    """Return the plan of the running graph, without waiting for a frame; None while there is none."""


class Start(Question[None], frozen=True, tag=True):
    """Run frames on the engine's own thread."""

    pacing: Pacing
    deterministic: bool = False


class Stop(Question[None], frozen=True, tag=True):
    """End the engine's thread."""


class Read(Question[np.ndarray[Any, Any]], frozen=True, tag=True):
    """Copy a port's contents after the last frame; of an append buffer, only the appended elements if `valid`."""

    port: PortRef
    valid: bool = False


class SaveTo(Question[list[Saved]], frozen=True, tag=True):
    """Save all outputs into a folder, or save blocks to their own paths."""

    folder: Path | None = None


class ReadState(Question[EngineState], frozen=True, tag=True):
    """Return what the frames so far leave for the next one. Refused if a block's state can't be saved."""


class PutState(Question[None], frozen=True, tag=True):
    """Go on from a state of the same patch. Refused if it is of another one."""

    state: EngineState


class CopyState(Question[None], frozen=True, tag=True):
    """Leave a `StateCopy` among the events, for an engine that goes on after this one has failed.

    There is none while a patch has no state or no graph, while a block computes, if a block's state can't be saved, or
    if the buffers have more than `most_bytes`.
    """

    most_bytes: int


class FindRefused(Question[list[Diagnostic]], frozen=True, tag=True):
    """Return why save blocks may not write their files now."""


class WatchFiles(Question[None], frozen=True, tag=True):
    """Follow saves of kernel and block files, also in these folders."""

    folders: tuple[Path, ...] = ()


class CostOf(Question[EditCost], frozen=True, tag=True):
    """Return the cost of changes to the current patch if they were made together."""

    changes: tuple[CostedEdit, ...]


class Close(Question[None], frozen=True, tag=True):
    """Free all resources; no further questions are answered."""


AnyQuestion = (
    Open
    | Step
    | Replay
    | Trace
    | ReadProfile
    | ReadRecorder
    | ReadPlan
    | Start
    | Stop
    | Read
    | SaveTo
    | ReadState
    | PutState
    | CopyState
    | FindRefused
    | WatchFiles
    | CostOf
    | Close
)
