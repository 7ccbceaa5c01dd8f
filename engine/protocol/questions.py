"""Questions to the engine. Unlike messages they are answered; each names the type of its answer."""

from pathlib import Path
from typing import Any, Generic, TypeVar, get_args

import msgspec
import numpy as np

from engine.device.device import DeviceInfo
from engine.patch.changes import Change, PortRef
from engine.profiling.levels import ProfilingLevel
from engine.profiling.profile import Profile
from engine.profiling.trace import TraceSlice
from engine.protocol.flight_record import FlightRecord
from engine.protocol.messages import EditCost, FrameReport, KernelFilesChanged, Saved, SetProfiling
from engine.protocol.pacing import Pacing

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


class Trace(Question[list[TraceSlice]], frozen=True, tag=True):
    """Run some frames and time every kernel."""

    frames: int


class ReadProfile(Question[Profile], frozen=True, tag=True):
    """Compute the profile of the last measured frame."""


class ReadRecorder(Question[FlightRecord], frozen=True, tag=True):
    """Copy the contents of the flight recorder, without waiting for a frame."""


class Start(Question[None], frozen=True, tag=True):
    """Run frames on the engine's own thread."""

    pacing: Pacing
    deterministic: bool = False


class Stop(Question[None], frozen=True, tag=True):
    """End the engine's thread."""


class Read(Question[np.ndarray[Any, Any]], frozen=True, tag=True):
    """Copy a port's contents after the last frame."""

    port: PortRef


class SaveTo(Question[list[Saved]], frozen=True, tag=True):
    """Save all outputs into a folder, or save blocks to their own paths."""

    folder: Path | None = None


class WatchFiles(Question[None], frozen=True, tag=True):
    """Follow saves of kernel and block files, also in these folders."""

    folders: tuple[Path, ...] = ()


class CostOf(Question[EditCost], frozen=True, tag=True):
    """Return the cost of changes to the current patch if they were made together."""

    changes: tuple[CostedEdit, ...]


class Close(Question[None], frozen=True, tag=True):
    """Free all resources; no further questions are answered."""


AnyQuestion = (
    Open | Step | Trace | ReadProfile | ReadRecorder | Start | Stop | Read | SaveTo | WatchFiles | CostOf | Close
)
