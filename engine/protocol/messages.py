"""Messages to the engine and from it: plain structs, each with a tag, so that a pipe can carry them.

Messages to the engine have no answer; messages with an answer are in `questions`.
"""

from collections.abc import Callable
from enum import IntEnum, StrEnum
from pathlib import Path
from typing import Annotated

import msgspec

from warploom.engine.arguments import check_of, shown
from warploom.engine.device.device import checked_time_limit
from warploom.engine.diagnostics import Diagnostic, Sighting, WarploomError
from warploom.engine.drawings.notebook import html_table
from warploom.engine.figures import format_time
from warploom.engine.patch.animation.timeline import Timeline
from warploom.engine.patch.changes import Change, PortRef
from warploom.engine.patch.organise.osc_addresses import OscTable
from warploom.engine.profiling.levels import ProfilingLevel
from warploom.engine.protocol.engine_state import EngineState
from warploom.engine.protocol.pacing import Pacing
from warploom.engine.protocol.sampling import ObservePorts
from warploom.engine.types import Array


class UpdateLevel(IntEnum):
    """The cost of an edit, from none to a rebuild; a report names the highest that a frame applied."""

    NONE = 0
    HOT = 1
    WARM = 2
    RECAPTURE = 3
    CODE = 4
    COLD = 5


class NodeState(StrEnum):
    """The state of a node."""

    OK = "ok"
    WARNING = "warning"
    ERROR = "error"
    INCOMPLETE = "incomplete"  #: not in the running graph, because it lacks a connection or a value that it needs
    IDLE = "idle"  #: not in the running graph, although nothing is wrong with the node itself; the message says why


# Into the engine, besides the patch's changes.


class Edited(msgspec.Struct, frozen=True, tag=True):
    """The changes of one edit, which the engine follows in one frame. `is_undo` if an undo or a redo made them."""

    changes: tuple[Change, ...]
    is_undo: bool = False


class KernelFilesChanged(msgspec.Struct, frozen=True, tag=True):
    """Kernel sources were saved."""

    paths: frozenset[Path]


class SetRunning(msgspec.Struct, frozen=True, tag=True):
    """Play or pause; with `running` and `frames`, run that many and pause."""

    running: bool
    frames: Annotated[int, msgspec.Meta(ge=0)] | None = None


class SetPacing(msgspec.Struct, frozen=True, tag=True):
    """Begin frames at another rate, or as fast as they go."""

    pacing: Pacing


class SetProfiling(msgspec.Struct, frozen=True, tag=True):
    """Measure at another level."""

    level: ProfilingLevel


class ObserveProfile(msgspec.Struct, frozen=True, tag=True):
    """Whether profiles are visible: only then they are computed, some times a second."""

    is_watched: bool


class SetFrameBudget(msgspec.Struct, frozen=True, tag=True):
    """The flight recorder records a frame as slow if it ends more than `budget_ns` after it was due."""

    budget_ns: Annotated[int, msgspec.Meta(ge=0)]


class SetKernelTimeLimit(msgspec.Struct, frozen=True, tag=True):
    """The host stops each kernel, and each loop, that computes for longer than so many seconds; at first there is no
    limit.
    """

    limit_s: float | None

    def __post_init__(self) -> None:
        checked_time_limit(self.limit_s, "limit_s of SetKernelTimeLimit")


class Mute(msgspec.Struct, frozen=True, tag=True):
    """Leave nodes out of the graph, for the reasons given by node, until they may run again.

    An engine whose device failed in a node mutes that node by itself; this is for a new engine of the same patch.
    """

    reasons: dict[str, Diagnostic]


class RunMuted(msgspec.Struct, frozen=True, tag=True):
    """Put all nodes that were muted into the graph again, and compile again what `CancelCompiles` has ended."""


class SetLeftOut(msgspec.Struct, frozen=True, tag=True):
    """The nodes that are bypassed or disabled, or can't run for that reason: their state is kept until they run again.

    The changes of the patch leave them out.
    """

    nodes: frozenset[str]


class CancelCompiles(msgspec.Struct, frozen=True, tag=True):
    """End the compiles under way. Their nodes have an error until their files change, or until `RunMuted`."""


class SetFusing(msgspec.Struct, frozen=True, tag=True):
    """Fuse kernels of neighbouring blocks from now on, or launch each by itself; at first they are fused.

    Without `shares`, no kernel is fused either, and each buffer has separate memory.
    """

    fuses: bool
    shares: bool = True


class SetTrust(msgspec.Struct, frozen=True, tag=True):
    """Whether the patch is trusted (`engine.patch.trust`); before the first of these messages, it is not."""

    trusted: bool


class Reset(msgspec.Struct, frozen=True, tag=True):
    """Clear all state and begin again at frame 0."""


class SaveOutputs(msgspec.Struct, frozen=True, tag=True):
    """Save the outputs of one node (or of all) by its parameters; a `Saved` event follows.

    A file that the patch has not written is overwritten only if it is one of `overwrites`; otherwise, a `Diagnostic`
    with `Mend.OVERWRITE` follows.
    """

    node: str | None = None
    overwrites: tuple[str, ...] = ()


class SetInput(msgspec.Struct, frozen=True, tag=True):
    """A person's input changed: "key.a", "mouse.x" and the like (`engine.values.sources.listening`)."""

    name: str
    value: float


class LookFor(msgspec.Struct, frozen=True, tag=True):
    """Look for the values that a node's parameter `offers`; the answer is an `Offered`, some seconds later."""

    node: str
    parameter: str


class SetOsc(msgspec.Struct, frozen=True, tag=True):
    """What to receive and send by OSC; the client makes it of the patch, and sends it again when it has changed."""

    table: OscTable


class ReleaseOsc(msgspec.Struct, frozen=True, tag=True):
    """Give parameters that OSC messages have set the patch's values again: these, or all of them."""

    parameters: tuple[PortRef, ...] | None = None


class HoldOsc(msgspec.Struct, frozen=True, tag=True):
    """Give parameters values that OSC messages to an earlier engine have set."""

    values: tuple[tuple[PortRef, bool | int | float], ...]


class StateCopy(msgspec.Struct, frozen=True, tag=True):
    """What an engine's frames have left for the next one, and the patch's time then; see `questions.CopyState`.

    Another engine goes on from it in its first frame with a graph. State of a block whose types or shapes are others
    there, or that the copy lacks, begins anew.
    """

    state: EngineState
    time_s: float

    def with_buffers(self, make: Callable[[Array], Array]) -> "StateCopy":
        """Return the same with what `make` returns for each buffer."""
        buffers = {name: make(contents) for name, contents in self.state.buffers.items()}
        return StateCopy(msgspec.structs.replace(self.state, buffers=buffers), self.time_s)


class SetTimeline(msgspec.Struct, frozen=True, tag=True):
    """Play by the patch's timeline; None for a patch without one, which plays on and on."""

    timeline: Timeline | None


class Seek(msgspec.Struct, frozen=True, tag=True):
    """Go to a frame. If the patch has state, an `exact` engine runs the frames before it, from a state that it kept or
    from frame 0; any other keeps its state as it is, except that frame 0 always begins again.
    """

    frame: Annotated[int, msgspec.Meta(ge=0)]
    exact: bool = False


#: The latest time of a frame, in seconds: some thirty years.
LATEST_S = 1e9


class SetTime(msgspec.Struct, frozen=True, tag=True):
    """Let the next frame that advances be at a time in seconds, which another program or machine keeps.

    Its time step is that since the frame before, from 0 to 0.1 s. Frames without such a message go on from there. The
    frames of a patch with a timeline have times of their own: there, this has no effect.
    """

    time_s: Annotated[float, msgspec.Meta(ge=0, le=LATEST_S)]


Message = (
    Change
    | Edited
    | KernelFilesChanged
    | ObservePorts
    | SetRunning
    | SetPacing
    | SetProfiling
    | ObserveProfile
    | SetFrameBudget
    | SetKernelTimeLimit
    | Mute
    | RunMuted
    | SetLeftOut
    | CancelCompiles
    | SetFusing
    | SetTrust
    | Reset
    | SaveOutputs
    | SetInput
    | LookFor
    | SetOsc
    | ReleaseOsc
    | HoldOsc
    | StateCopy
    | SetTimeline
    | Seek
    | SetTime
)


def check_message(message: object) -> None:
    """Raise WarploomError, naming the field, unless this is a message whose fields hold values of their types.

    For another process, the pipe's decoder checks that. In this process, structs arrive without a check.
    """
    if not isinstance(message, Message):
        raise WarploomError(f"message must be one of engine.protocol.messages, got {shown(message)}")
    problem = check_of(type(message))(message, type(message).__name__)
    if problem:
        raise WarploomError(problem)


# Out of the engine.


class Offered(msgspec.Struct, frozen=True, tag=True):
    """The values that a parameter offers now, with their titles; without any, `problem` may have the reason."""

    node: str
    parameter: str
    values: tuple[tuple[str, str], ...]
    problem: str = ""


class PartReport(msgspec.Struct, frozen=True):
    """A part of a node, such as a layer of a network: its last measured time, where each kernel is measured.

    A kernel's time counts for the parts whose results it stores, in equal shares. `fused_into` are the parts whose
    kernels do some or all of this part's work; they include its time if it has no `kernels`.
    """

    time_ns: int | None = None
    kernels: int = 0
    fused_into: tuple[str, ...] = ()


class NodeReport(msgspec.Struct, frozen=True):
    """One node: its state, its problem, and its last measured time.

    `fused_into` are the nodes whose kernels do some or all of its work; they include its time if it has no `kernels`.
    `waits_for` is the id of the node that must be corrected before this one can run; `message` contains that id.
    `parts` are its separately measured parts, if any, such as layers. A node inside a block has a `share` of that
    block's time, from 0 to 1. One that `is_skipped` did not run in the last measured frame, since a region left it out.
    Its kernels read the driven parameters in `this_frame` in the frame that computes them; other driven parameters have
    the value of the newest finished frame.
    """

    type: str
    state: NodeState
    message: str = ""
    time_ns: int | None = None
    kernels: int = 0
    fused_into: tuple[str, ...] = ()
    waits_for: str = ""
    parts: dict[str, PartReport] = {}
    share: float | None = None
    is_skipped: bool = False
    this_frame: tuple[str, ...] = ()


class BufferReport(msgspec.Struct, frozen=True):
    """The buffer behind an output port; `lifetime` is the time for which the contents are needed.

    `columns` are the names of a table's columns, the positions of the last of two axes; () if they have none.
    """

    dtype: str
    shape: tuple[int, ...]
    size_bytes: int
    allocated_bytes: int
    lifetime: str = "graph"
    columns: tuple[str, ...] = ()


class EngineStatistics(msgspec.Struct, frozen=True):
    """The engine as a whole, as its badge shows it.

    `launch_ns` is the time of a launch, `work_ns` all measured work in it, of which nodes have shares.
    """

    device: str
    blocks: int = 0
    kernels: int = 0
    launch_ns: int | None = None
    profiling: ProfilingLevel = ProfilingLevel.NONE
    pool_used_bytes: int = 0
    pool_allocated_bytes: int = 0
    work_ns: int | None = None


class EditCost(msgspec.Struct, frozen=True, tag=True):
    """The expected cost of an edit: its update level, the part that needs this level, and the time of recent updates.

    With `at_most` the level may turn out lower. `estimate_ns` is None before the first such edit, and for HOT ones,
    which are too many to measure one by one.
    """

    level: UpdateLevel
    cause: str
    estimate_ns: int | None = None
    at_most: bool = False


class UpdateRecord(msgspec.Struct, frozen=True, tag=True):
    """One update above HOT: its level, cause and cost.

    `source` is "edit", "undo", "kernel file", "block file" or "engine". `cost_ns` lasts from the start of the work
    until its result runs; of that, `beside_ns` passed beside the frames and `swap_ns` between two of them.
    """

    level: UpdateLevel
    cause: str
    cost_ns: int
    frame: int
    source: str = "edit"
    beside_ns: int = 0
    swap_ns: int = 0
    #: The nodes that the cause names, those of the first change first.
    nodes: tuple[str, ...] = ()


class Frozen(msgspec.Struct, frozen=True, tag=True):
    """The engine has paused after a frame in which sentinels found wrong elements, as listed in `reasons`."""

    frame: int
    reasons: tuple[Diagnostic, ...]


class FrameReport(msgspec.Struct, frozen=True, tag=True):
    """One frame: its update, its times, the state of every node, and the buffer of every output."""

    frame: int
    update_level: UpdateLevel
    #: From the start of the frame to the end of its GPU work, without waiting for the next display frame; where frames
    #: overlap, the time since the last frame, or its mean over frames that were launched together.
    frame_time_ns: int
    nodes: dict[str, NodeReport]
    buffers: dict[str, BufferReport]  # by "node.port"
    statistics: EngineStatistics
    diagnostics: tuple[Diagnostic, ...] = ()
    updates: tuple[UpdateRecord, ...] = ()
    running: bool = False
    #: The patch's time at the start of the frame, in seconds.
    time_s: float = 0.0
    #: How many elements each append buffer holds, by "node.port".
    counts: dict[str, int] = {}
    #: The value of every value output and driven parameter, by "node.port"; refreshed as often as a person can read it.
    values: dict[str, bool | int | float] = {}
    #: Compilation is under way beside the running graph.
    preparing: bool = False
    #: How many frames of this engine wrote parameters and did no other update.
    hot_updates: int = 0
    #: How often this engine launched the graph; a frame that would repeat the last one is not launched.
    launches: int = 0
    #: How many frames may be under way on the device at once; 1 when each ends before the next one begins.
    in_flight: int = 1
    #: The engine has stopped, for the last of its diagnostics. On a GPU only a new engine can go on. On the host,
    #: frames by hand can, once the blocks that failed have changed.
    failed: bool = False
    #: When each of `diagnostics` was found, in the same order.
    sightings: tuple[Sighting, ...] = ()
    #: Whether the next frame, which is shown while the engine is paused, is the one that a run from frame 0 would have.
    exact: bool = True
    #: The frame that is gone to by running those before it; None while no frame is gone to.
    replay_to: int | None = None
    #: How many late frames of a film were left out.
    left_out: int = 0

    def _repr_html_(self) -> str:
        """Return the table that a notebook shows."""
        caption = f"frame {self.frame}: {format_time(self.frame_time_ns)}, update {self.update_level.name}"
        rows = [
            (
                name,
                node.type,
                str(node.state),
                format_time(node.time_ns) if node.time_ns is not None else "",
                node.message,
            )
            for name, node in sorted(self.nodes.items())
        ]
        return html_table(("node", "type", "state", "time", "message"), rows, caption)


class Saved(msgspec.Struct, frozen=True, tag=True):
    """An output was written to a file."""

    node: str
    port: str
    dtype: str
    shape: tuple[int, ...]
    path: str | None
