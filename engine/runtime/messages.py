"""The plain structs that go into the engine's inbox and come out of its outbox."""

from __future__ import annotations

from enum import IntEnum, StrEnum
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from engine.diagnostics import Diagnostic
from engine.patch.changes import Change
from engine.profiling.levels import ProfilingLevel as ProfilingLevel


class UpdateLevel(IntEnum):
    """What an edit costs, from nothing to a rebuild; a report names the highest that a frame applied."""

    NONE = 0
    HOT = 1
    WARM = 2
    RECAPTURE = 3
    CODE = 4
    COLD = 5


class NodeState(StrEnum):
    """How a node is doing."""

    OK = "ok"
    WARNING = "warning"
    ERROR = "error"
    IDLE = "idle"  # not in the running graph, because an input is missing here or before it


# Into the engine, besides the patch's changes.


class KernelFilesChanged(msgspec.Struct, frozen=True):
    """Kernel sources were saved."""

    paths: frozenset[Path]


class Observe(msgspec.Struct, frozen=True):
    """The viewers somebody looks at, by node id: only their pictures are read back."""

    nodes: frozenset[str]


class SetRunning(msgspec.Struct, frozen=True):
    """Play or pause; with `running` and `frames`, run that many and pause."""

    running: bool
    frames: int | None = None


class SetProfiling(msgspec.Struct, frozen=True):
    """Measure at another level."""

    level: ProfilingLevel


class Reset(msgspec.Struct, frozen=True):
    """Clear all state and begin again at frame 0."""


class SaveOutputs(msgspec.Struct, frozen=True):
    """Save the outputs of one node (or of all), as its parameters say; a `Saved` answers."""

    node: str | None = None


Message = Change | KernelFilesChanged | Observe | SetRunning | SetProfiling | Reset | SaveOutputs


# Out of the engine.


class NodeReport(msgspec.Struct, frozen=True):
    """One node: its state, what is wrong with it, and its last measured time."""

    type: str
    state: NodeState
    message: str = ""
    time_ns: int | None = None
    kernels: int = 0


class BufferReport(msgspec.Struct, frozen=True):
    """The buffer behind an output port; `lifetime` says how long its contents matter."""

    dtype: str
    shape: tuple[int, ...]
    size_bytes: int
    allocated_bytes: int
    lifetime: str = "graph"


class EngineStatistics(msgspec.Struct, frozen=True):
    """The engine as a whole, as its badge shows it."""

    device: str
    blocks: int = 0
    kernels: int = 0
    launch_ns: int | None = None
    profiling: ProfilingLevel = ProfilingLevel.NONE
    pool_used_bytes: int = 0
    pool_allocated_bytes: int = 0


class UpdateRecord(msgspec.Struct, frozen=True):
    """One update above HOT: what it was, why, and what it cost."""

    level: UpdateLevel
    cause: str
    cost_ns: int
    frame: int


class FrameReport(msgspec.Struct, frozen=True):
    """One frame: what was updated, how long it took, how every node is, what every output holds."""

    frame: int
    update_level: UpdateLevel
    #: From the start of the frame to the end of its GPU work, without waiting for the next display frame.
    frame_time_ns: int
    nodes: dict[str, NodeReport]
    buffers: dict[str, BufferReport]  # by "node.port"
    statistics: EngineStatistics
    diagnostics: tuple[Diagnostic, ...] = ()
    updates: tuple[UpdateRecord, ...] = ()
    running: bool = False
    #: How many elements each append buffer holds, by "node.port".
    counts: dict[str, int] = {}
    #: Compilation is under way beside the running graph.
    preparing: bool = False
    #: The last report of an engine that has stopped: its diagnostics say why. Another engine has to be started.
    failed: bool = False


class Preview(msgspec.Struct, frozen=True):
    """A viewer's picture: `pixels` is (height, width, 4) of uint8, sRGB."""

    node: str
    frame: int
    pixels: np.ndarray[Any, Any]


class Saved(msgspec.Struct, frozen=True):
    """An output was written to a file."""

    node: str
    port: str
    dtype: str
    shape: tuple[int, ...]
    path: str | None
