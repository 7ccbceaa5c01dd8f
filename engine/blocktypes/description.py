"""`BlockDescription`: what one block asks of the graph, as plain data.

The compiler reads it; nothing in it is bound to a device. Two descriptions that are structurally equal give the same
graph nodes, so going from one to the other needs no rebuild.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from engine.blocktypes.ports import PortSpec
from engine.blocktypes.shape_rules import Extent
from engine.blocktypes.views import View
from engine.types import DType

if TYPE_CHECKING:
    from engine.blocktypes.block_rules import BlockRules
    from engine.blocktypes.composition import Composition
    from engine.device.external import ExternalArray


@dataclass(frozen=True)
class Kernel:
    """A kernel by file name and entry point.

    The file is looked up beside the block's own source first, then in the kernel folders.
    """

    file: str
    entry: str


@dataclass(frozen=True)
class BufferArgument:
    """A buffer passed by address; `name` is a port or an internal buffer of the block."""

    name: str
    reads: bool
    writes: bool


@dataclass(frozen=True)
class ParameterArgument:
    """A live parameter's value."""

    name: str


@dataclass(frozen=True)
class ExtentArgument:
    """An integer that follows from shapes."""

    extent: Extent


@dataclass(frozen=True)
class ValueArgument:
    """A constant number."""

    value: int | float


@dataclass(frozen=True)
class FrameArgument:
    """The address of the frame uniforms (see engine/types/frame: index, time, time step)."""


@dataclass(frozen=True)
class ConditionArgument:
    """The handle (64 bits) of a region's condition, which its kernels set with `cudaGraphSetConditional`."""


@dataclass(frozen=True)
class ElementArgument:
    """A number that tells a kernel the element type of a port: see `kernels/elements.cuh`."""

    name: str


Argument = (
    BufferArgument
    | ParameterArgument
    | ExtentArgument
    | ValueArgument
    | FrameArgument
    | ConditionArgument
    | ElementArgument
)
Size = Extent | int


@dataclass(frozen=True)
class KernelEntry:
    """One kernel launch: `num_threads` per dimension, rounded up to whole thread blocks.

    `count` is the buffer whose first number (u32) says on the device how many of the threads have work: the kernel
    loops over its grid, which may then be smaller.
    """

    kernel: Kernel
    num_threads: tuple[Size, ...]
    thread_block: tuple[int, int, int]
    arguments: tuple[Argument, ...]
    shared_bytes: int = 0
    count: str | None = None

    @cached_property
    def buffers(self) -> tuple[BufferArgument, ...]:
        """The buffers among the arguments."""
        return tuple(argument for argument in self.arguments if isinstance(argument, BufferArgument))

    @cached_property
    def live_parameters(self) -> dict[str, tuple[int, ...]]:
        """The indices of the arguments that take each live parameter's value, by its name."""
        found: dict[str, tuple[int, ...]] = {}
        for index, argument in enumerate(self.arguments):
            if isinstance(argument, ParameterArgument):
                found[argument.name] = (*found.get(argument.name, ()), index)
        return found

    @cached_property
    def uses_frame(self) -> bool:
        """True when the kernel reads the frame uniforms."""
        return any(isinstance(argument, FrameArgument) for argument in self.arguments)

    @cached_property
    def sets_condition(self) -> bool:
        """True when the kernel may set the condition of the block's region."""
        return any(isinstance(argument, ConditionArgument) for argument in self.arguments)


@dataclass(frozen=True)
class FillEntry:
    """Set every byte of a buffer."""

    target: BufferArgument
    value: int


@dataclass(frozen=True)
class CopyEntry:
    """Copy one buffer to another of the same size."""

    target: BufferArgument
    source: BufferArgument


@dataclass(frozen=True)
class DelayEntry:
    """`target` holds in the next frame what `source` holds at the end of this one, and `initial` in the first."""

    target: BufferArgument
    source: BufferArgument
    initial: float = 0.0


Entry = KernelEntry | FillEntry | CopyEntry | DelayEntry


class RegionKind(StrEnum):
    """What a region does with the blocks inside it."""

    IF = "if"
    IF_ELSE = "if_else"
    WHILE = "while"
    FOR = "for"

    @property
    def branches(self) -> tuple[str, ...]:
        """Suffixes of the region's scopes: "" for its body, "else" for the other branch."""
        return ("", "else") if self is RegionKind.IF_ELSE else ("",)

    @property
    def is_loop(self) -> bool:
        """True when the body may run more than once."""
        return self in (RegionKind.WHILE, RegionKind.FOR)


@dataclass(frozen=True)
class Control:
    """What makes a block a region.

    `begin` runs before the body and sets the condition; `turn` at the end of each turn of a loop, inside the body.
    """

    kind: RegionKind
    begin: tuple[KernelEntry | FillEntry, ...]
    turn: tuple[KernelEntry, ...] = ()


@dataclass(frozen=True)
class Requirement:
    """What must hold once shapes are known: `extent` is at least 0, or else `message`, with the port it concerns."""

    extent: Extent
    message: str
    port: str | None = None


class StatusKind(StrEnum):
    """What a word that is read back after each frame tells."""

    APPENDED = "appended"  # how many elements wanted a place in an append buffer
    STOPPED = "stopped"  # not 0 when a loop was ended by its limit


@dataclass(frozen=True)
class Status:
    """A word (u32) of an internal buffer that is read back after each frame; `capacity` is what it is held against."""

    buffer: str
    kind: StatusKind
    port: str
    capacity: ExtentArgument | ParameterArgument


@dataclass(frozen=True)
class InternalBuffer:
    """A buffer that only this block sees.

    A `status` buffer is zeroed at the start of each frame, unless the block does so itself, and read back at its end.
    """

    name: str
    dtype: DType
    shape: str
    state: bool = False


@dataclass(frozen=True)
class Display:
    """A buffer of `uchar4` that a viewer shows or a file receives; `path` is where it is to be saved, or None."""

    buffer: str
    path: str | None = None


@dataclass(frozen=True)
class BlockDescription:
    """What a block asks for: ports, internal buffers, entries in order, and the contents it provides."""

    ports: tuple[PortSpec, ...]
    entries: tuple[Entry, ...]
    buffers: tuple[InternalBuffer, ...] = ()
    #: What is shown or saved; it adds nothing to the graph.
    displays: tuple[Display, ...] = field(default=(), compare=False)
    #: Integer structural parameters, for shape rules.
    structural: tuple[tuple[str, int], ...] = ()
    #: Contents of output ports that the block provides itself; compared by dtype and shape only.
    contents: Mapping[str, np.ndarray[Any, Any]] = field(default_factory=dict, compare=False)
    #: What makes the block a region, or None.
    control: Control | None = None
    #: What must hold of the block's shapes beyond its ports' rules.
    requirements: tuple[Requirement, ...] = ()
    #: Words that are read back after each frame.
    statuses: tuple[Status, ...] = ()
    #: Arrays that the user owns, by output port; compared by dtype and shape only.
    externals: Mapping[str, ExternalArray] = field(default_factory=dict, compare=False)
    #: Folders that are searched for kernels before the common ones.
    kernel_folders: tuple[str, ...] = field(default=(), compare=False)
    #: Outputs that show an input's memory in another way.
    views: tuple[View, ...] = ()
    #: The blocks that a composite stands for, or None.
    composition: Composition | None = None

    def parts(self) -> Iterator[BlockDescription]:
        """Give the description itself, or those of the blocks that a composite stands for, at any depth."""
        if self.composition is None:
            yield self
        else:
            for child in self.composition.children:
                yield from child.description.parts()

    @cached_property
    def inputs(self) -> tuple[PortSpec, ...]:
        """Input ports in order of declaration."""
        return tuple(spec for spec in self.ports if spec.is_input)

    @cached_property
    def outputs(self) -> tuple[PortSpec, ...]:
        """Output ports in order of declaration."""
        return tuple(spec for spec in self.ports if not spec.is_input)

    @cached_property
    def view_of(self) -> dict[str, View]:
        """The view that each output is which owns no memory."""
        return {view.target: view for view in self.views}

    @cached_property
    def changed_inputs(self) -> frozenset[str]:
        """Inputs whose memory the block changes in place."""
        return frozenset(spec.inplace for spec in self.ports if spec.inplace is not None)

    @cached_property
    def rules(self) -> BlockRules:
        """The rules of its ports, internal buffers and launches, parsed."""
        from engine.blocktypes.block_rules import block_rules  # which is made of descriptions

        return block_rules(self)

    @cached_property
    def delays(self) -> tuple[DelayEntry, ...]:
        """The entries that keep a buffer for the next frame or turn."""
        return tuple(entry for entry in self.entries if isinstance(entry, DelayEntry))

    @cached_property
    def delayed_inputs(self) -> frozenset[str]:
        """Inputs that are not needed in the frame in which they are written."""
        return frozenset(spec.name for spec in self.ports if spec.delayed)

    @cached_property
    def read_inputs(self) -> frozenset[str]:
        """Inputs that some entry touches; what is only looked at through a view is not among them."""
        return frozenset(argument.name for entry in self.all_entries for argument in buffer_arguments(entry))

    @cached_property
    def status_buffers(self) -> frozenset[str]:
        """Internal buffers that are read back after each frame."""
        return frozenset(status.buffer for status in self.statuses)

    @cached_property
    def uses_frame(self) -> bool:
        """True when one of its kernels reads the frame uniforms."""
        return any(isinstance(entry, KernelEntry) and entry.uses_frame for entry in self.all_entries)

    @cached_property
    def all_entries(self) -> tuple[Entry, ...]:
        """The entries, with those that make the block a region."""
        return (*self.entries, *self.control.begin, *self.control.turn) if self.control else self.entries

    def kernels(self) -> tuple[Kernel, ...]:
        """Return the kernels of the entries, each once, in order."""
        return tuple(dict.fromkeys(entry.kernel for entry in self.all_entries if isinstance(entry, KernelEntry)))

    def internal_connections(self) -> tuple[tuple[int, int, str], ...]:
        """Return (writer, reader, buffer) for entries that hand a buffer on, by entry index."""
        last_writer: dict[str, int] = {}
        connections = []
        for index, entry in enumerate(self.entries):
            touched = buffer_arguments(entry)
            connections += [(last_writer[a.name], index, a.name) for a in touched if a.reads and a.name in last_writer]
            last_writer |= {a.name: index for a in touched if a.writes}
        return tuple(connections)

    def structural_equals(self, other: BlockDescription) -> bool:
        """True when both give the same graph nodes.

        Kernels, launches, ports and internal connections (by index) must be the same; the contents of provided
        buffers may differ as long as their dtypes and shapes don't.
        """
        return self == other and all(
            mine._content_layout() == theirs._content_layout()
            for mine, theirs in zip(self.parts(), other.parts(), strict=True)
        )

    def _content_layout(self) -> dict[str, tuple[object, ...]]:
        arrays = {name: (array.dtype.str, array.shape) for name, array in self.contents.items()}
        # An address that vectors may not have is another layout.
        adopted = {
            name: (array.dtype.str, array.shape, array.strides, math.gcd(array.pointer, 16))
            for name, array in self.externals.items()
        }
        return {**arrays, **adopted}


def buffer_arguments(entry: Entry) -> tuple[BufferArgument, ...]:
    """Return the buffers an entry touches."""
    match entry:
        case KernelEntry():
            return entry.buffers
        case FillEntry(target=target):
            return (target,)
        case CopyEntry(target=target, source=source) | DelayEntry(target=target, source=source):
            return (source, target)
