"""`BlockDescription`: what one block asks of the graph, as plain data.

The compiler reads it; nothing in it is bound to a device. Two descriptions that are structurally equal give the same
graph nodes, so going from one to the other needs no rebuild.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from engine.blocktypes.ports import PortSpec
from engine.blocktypes.shape_rules import Extent
from engine.types import DType


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


Argument = BufferArgument | ParameterArgument | ExtentArgument | ValueArgument | FrameArgument
Size = Extent | int


@dataclass(frozen=True)
class KernelEntry:
    """One kernel launch: `num_threads` per dimension, rounded up to whole thread blocks."""

    kernel: Kernel
    num_threads: tuple[Size, ...]
    thread_block: tuple[int, int, int]
    arguments: tuple[Argument, ...]
    shared_bytes: int = 0


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


Entry = KernelEntry | FillEntry | CopyEntry


@dataclass(frozen=True)
class InternalBuffer:
    """A buffer that only this block sees."""

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
    #: Folders that are searched for kernels before the common ones.
    kernel_folders: tuple[str, ...] = field(default=(), compare=False)

    def kernels(self) -> tuple[Kernel, ...]:
        """Return the kernels of the entries, each once, in order."""
        return tuple(dict.fromkeys(entry.kernel for entry in self.entries if isinstance(entry, KernelEntry)))

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
        return self == other and self._content_layout() == other._content_layout()

    def _content_layout(self) -> dict[str, tuple[str, tuple[int, ...]]]:
        return {name: (array.dtype.str, array.shape) for name, array in self.contents.items()}


def buffer_arguments(entry: Entry) -> tuple[BufferArgument, ...]:
    """Return the buffers an entry touches."""
    match entry:
        case KernelEntry(arguments=arguments):
            return tuple(a for a in arguments if isinstance(a, BufferArgument))
        case FillEntry(target=target):
            return (target,)
        case CopyEntry(target=target, source=source):
            return (source, target)
