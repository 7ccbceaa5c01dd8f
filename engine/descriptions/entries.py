"""The parts of a description: launches, fills, copies, library calls, their arguments, regions, buffers, views."""

from collections.abc import Callable, Iterable, Iterator
from enum import StrEnum
from functools import cached_property
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from warploom.engine.descriptions.checks import instance, refuse, sequence, text, whole
from warploom.engine.descriptions.shapes.extents import Extent
from warploom.engine.kernel_sources.sources import KernelSource
from warploom.engine.libraries.call import LibraryCall
from warploom.engine.types import DType
from warploom.engine.types.bits import ByBits


class Kernel(msgspec.Struct, frozen=True):
    """A kernel, identified by its source and entry point.

    The source is a file's name, or an object with more details, such as a file's compile options. Files are looked up
    beside the block's own source first, then in the kernel folders.
    """

    source: str | KernelSource
    entry: str

    def __post_init__(self) -> None:
        if isinstance(self.source, str):
            text("Kernel", "file", self.source)
        elif not isinstance(self.source, KernelSource):
            raise refuse("Kernel", "source", "be a file's name or a kernel source", self.source)
        text("Kernel", "entry", self.entry)

    @property
    def label(self) -> str:
        """The kernel's name in messages: "saxpy.cu:saxpy"."""
        return f"{self.source if isinstance(self.source, str) else self.source.label}:{self.entry}"


class BufferArgument(msgspec.Struct, frozen=True):
    """A buffer passed by address; `name` is a port or an internal buffer of the block."""

    name: str
    reads: bool
    writes: bool


class ParameterArgument(msgspec.Struct, frozen=True):
    """The value of a live parameter."""

    name: str


class VectorArgument(msgspec.Struct, frozen=True):
    """A vector whose components are live parameters; `dtype` is its type, such as "float3".

    For a struct, the components are its numbers, some of which may be computed from shapes, and `dtype` is the text of
    `types.records`.
    """

    components: tuple[str | Extent, ...]
    dtype: str


class ExtentArgument(msgspec.Struct, frozen=True):
    """An integer that is computed from shapes."""

    extent: Extent


class ValueArgument(ByBits, frozen=True, eq=False):
    """A constant: a number, or the bytes of a struct of numbers."""

    value: int | float | bytes


class FrameArgument(msgspec.Struct, frozen=True):
    """The address of the frame uniforms (see `engine.compiler.frame`: index, time, time step, seed)."""


class ConditionArgument(msgspec.Struct, frozen=True):
    """The handle (64 bits) of a region's condition; kernels of the region set it with `cudaGraphSetConditional`."""


class ElementArgument(msgspec.Struct, frozen=True):
    """The number of a port's element type, as a kernel argument: see `kernels/elements.cuh`.

    With `scalar`, it is the type of the numbers in an element, or 0 if these have several types.
    """

    name: str
    scalar: bool = False


Argument = (
    BufferArgument
    | ParameterArgument
    | VectorArgument
    | ExtentArgument
    | ValueArgument
    | FrameArgument
    | ConditionArgument
    | ElementArgument
)
Size = Extent | int


class ValuePlace(NamedTuple):
    """The argument that takes a live parameter's value, by its position; of a vector, one `component`."""

    position: int
    component: int | None = None


def value_places(arguments: Iterable[Argument]) -> Iterator[tuple[ValuePlace, str]]:
    """Yield the places of live parameters among a kernel's arguments, with their names."""
    for index, argument in enumerate(arguments):
        if isinstance(argument, ParameterArgument):
            yield ValuePlace(index), argument.name
        elif isinstance(argument, VectorArgument):
            for component, name in enumerate(argument.components):
                if isinstance(name, str):
                    yield ValuePlace(index, component), name


class ServedParts(NamedTuple):
    """The parts of a block, such as layers of a network, that an entry works for.

    Its time is shared equally among the parts in `timed`; the entry also computes the parts in `done`.
    """

    timed: tuple[str, ...]
    done: tuple[str, ...] = ()


class KernelEntry(msgspec.Struct, frozen=True, dict=True):
    """One kernel launch: `num_threads` per dimension, rounded up to whole thread blocks.

    The first number (u32) of the buffer `count` is the number of threads with work. Then the kernel loops over its
    grid, which may be smaller.
    """

    kernel: Kernel
    num_threads: tuple[Size, ...]
    thread_block: tuple[int, int, int]
    arguments: tuple[Argument, ...]
    shared_bytes: int = 0
    count: str | None = None
    #: The input without which there is no launch.
    needs: str | None = None

    @cached_property
    def buffers(self) -> tuple[BufferArgument, ...]:
        """The buffers among the arguments."""
        return tuple(argument for argument in self.arguments if isinstance(argument, BufferArgument))

    @cached_property
    def live_parameters(self) -> dict[str, tuple[ValuePlace, ...]]:
        """The arguments that take each live parameter's value, by parameter."""
        found: dict[str, tuple[ValuePlace, ...]] = {}
        for place, name in value_places(self.arguments):
            found[name] = (*found.get(name, ()), place)
        return found

    @cached_property
    def uses_frame(self) -> bool:
        """True when the kernel reads the frame uniforms."""
        return any(isinstance(argument, FrameArgument) for argument in self.arguments)

    @cached_property
    def sets_condition(self) -> bool:
        """True when the kernel may set the condition of the block's region."""
        return any(isinstance(argument, ConditionArgument) for argument in self.arguments)


class FillEntry(msgspec.Struct, frozen=True):
    """Set every byte of a buffer, or every number of `width` bytes."""

    target: BufferArgument
    value: int
    width: int = 1


class CopyEntry(msgspec.Struct, frozen=True):
    """Copy one buffer to another of the same size."""

    target: BufferArgument
    source: BufferArgument


class DelayEntry(ByBits, frozen=True, eq=False):
    """In each frame, `target` holds the contents of `source` at the end of the last frame.

    At first, it is `initial`.
    """

    target: BufferArgument
    source: BufferArgument
    initial: float = 0.0


#: The most numbers of a library call.
STORED = 4
#: The default thread blocks of launches, by number of dimensions.
THREAD_BLOCKS = ((256, 1, 1), (16, 16, 1), (8, 8, 4))


class CapturedCall(msgspec.Struct, frozen=True):
    """A library call with the buffers in its slots, and its numbers.

    Each number is a constant, or is read from a buffer. With `stored`, none is a constant: numbers without a buffer of
    their own are read from `stored`, which has 16 bytes for each number.
    """

    call: LibraryCall
    operands: tuple[tuple[str, BufferArgument], ...]
    numbers: tuple[tuple[str, float | BufferArgument], ...] = ()
    stored: BufferArgument | None = None


class CaptureEntry(msgspec.Struct, frozen=True, dict=True):
    """Consecutive library calls as one captured node; `workspace` is scratch memory that they all use."""

    calls: tuple[CapturedCall, ...]
    workspace: BufferArgument

    @property
    def label(self) -> str:
        """The calls' name in messages."""
        return ", ".join(made.call.label for made in self.calls)

    @cached_property
    def buffers(self) -> tuple[BufferArgument, ...]:
        """The distinct buffers that the calls access, each with all its kinds of access."""
        found = {self.workspace.name: self.workspace}
        for made in self.calls:
            numbers = [number for _, number in made.numbers if isinstance(number, BufferArgument)]
            if made.stored is not None:
                numbers.append(replace(made.stored, writes=False))
            for argument in (*(argument for _, argument in made.operands), *numbers):
                known = found.get(argument.name, argument)
                reads, writes = known.reads or argument.reads, known.writes or argument.writes
                found[argument.name] = BufferArgument(argument.name, reads, writes)
        return tuple(found.values())


Entry = KernelEntry | FillEntry | CopyEntry | DelayEntry | CaptureEntry


class RegionKind(StrEnum):
    """How a region runs the blocks inside it."""

    IF = "if"
    IF_ELSE = "if_else"
    WHILE = "while"
    FOR = "for"
    SWITCH = "switch"

    @property
    def is_loop(self) -> bool:
        """True when the body may run more than once."""
        return self in (RegionKind.WHILE, RegionKind.FOR)


#: The most branches of a Switch.
MOST_BRANCHES = 16


def switch_branches(count: int) -> tuple[str, ...]:
    """Return the branches of a Switch, as its type's `regions`: "" for the first, then "1", "2" and so on."""
    return ("", *map(str, range(1, whole("region", "branches", count, 2, MOST_BRANCHES))))


class Control(msgspec.Struct, frozen=True):
    """The kernels and the condition that make a block a region.

    `begin` runs before the bodies and sets the condition; `turn` runs inside the body, at the end of each iteration.
    `chosen` is an internal buffer of one u32, which `begin` sets to the index of the body that runs; if none does, to
    the number of bodies or more. `branches` has the suffix of each body's scope; that of the first one is "".
    """

    kind: RegionKind
    begin: tuple[KernelEntry | FillEntry, ...]
    chosen: str
    turn: tuple[KernelEntry, ...] = ()
    branches: tuple[str, ...] = ("",)


class Requirement(msgspec.Struct, frozen=True):
    """A requirement on shapes: `extent` must be at least 0; otherwise `message` is reported at `port`."""

    extent: Extent
    message: str
    port: str | None = None


class StatusKind(StrEnum):
    """The meaning of a word that is read back after each frame."""

    APPENDED = "appended"  # the number of appended elements, including those beyond the capacity
    STOPPED = "stopped"  # not 0 if a loop has reached its limit
    INFO = "info"  # not 0 if a library call failed because of its operands' contents
    CHECKED = "checked"  # several words: the results of a sentinel (`engine.compiler.inlining.sentinels`)


class Status(msgspec.Struct, frozen=True):
    """An internal buffer that is read back after each frame, usually one word (u32).

    It is compared with `capacity`, or its meaning is defined by the library call that wrote it. With `keeps`, the
    port's contents last to the end of the frame.
    """

    buffer: str
    kind: StatusKind
    port: str
    capacity: ExtentArgument | ParameterArgument | None = None
    call: LibraryCall | None = None
    keeps: bool = False


class InternalBuffer(msgspec.Struct, frozen=True):
    """A buffer that only this block can access; `state` keeps its contents from frame to frame.

    With `of`, it has the same elements as that port or buffer, in another shape.
    """

    name: str
    dtype: DType
    shape: str
    state: bool = False
    of: str | None = None


#: Returns the bytes of a file for an array, the file's suffix in lower case, and options. It may raise ValueError.
Encoder = Callable[..., bytes]


class Display(msgspec.Struct, frozen=True):
    """A buffer of `uchar4` that a viewer shows, or a buffer that is saved to a file.

    `path` is the file, or None for a viewer. `encode` returns the file's bytes for the buffer's contents, the suffix of
    `path`, and `options`, after which come the names of the buffer's columns if it is `with_columns`. Without it, the
    file is a picture or an array, and `options` are one of PICTURE_DEPTHS.
    """

    buffer: str
    path: str | None = None
    options: tuple[str, ...] = ("usual",)
    encode: Encoder | None = None
    with_columns: bool = False


def buffer_arguments(entry: Entry) -> tuple[BufferArgument, ...]:
    """Return the buffers that an entry accesses."""
    match entry:
        case KernelEntry() | CaptureEntry():
            return entry.buffers
        case FillEntry(target=target):
            return (target,)
        case CopyEntry(target=target, source=source) | DelayEntry(target=target, source=source):
            return (source, target)


#: The largest accepted index or size.
MOST = 2**63 - 1

# A view is an output without its own memory: it shows its source's memory at an offset, with its own shape and
# strides, and costs nothing at run time.


class SliceView(msgspec.Struct, frozen=True):
    """Every `step`-th position of one axis from `start` up to `stop`, numbered as in Python.

    A negative number counts from the end; with `stop` None, the slice goes to the end. `step` is at least 1.
    """

    axis: int
    start: int = 0
    stop: int | None = None
    step: int = 1

    def __post_init__(self) -> None:
        for name in ("axis", "start", "stop", "step"):
            if name != "stop" or self.stop is not None:
                msgspec.structs.force_setattr(self, name, whole("SliceView", name, getattr(self, name), -MOST, MOST))


class ReshapeView(msgspec.Struct, frozen=True):
    """The same elements in the same order in another shape; one size may be -1, and follows from the others."""

    shape: tuple[int, ...]

    def __post_init__(self) -> None:
        sizes = [whole("ReshapeView", "size", n, -MOST, MOST) for n in sequence("ReshapeView", "shape", self.shape)]
        msgspec.structs.force_setattr(self, "shape", tuple(sizes))


class TransposeView(msgspec.Struct, frozen=True):
    """The axes in another order, as in numpy's `transpose`."""

    order: tuple[int, ...]

    def __post_init__(self) -> None:
        axes = [whole("TransposeView", "axis", n, -MOST, MOST) for n in sequence("TransposeView", "order", self.order)]
        msgspec.structs.force_setattr(self, "order", tuple(axes))


class ReinterpretView(msgspec.Struct, frozen=True):
    """The same bytes as elements of another type; the last axis changes with the size of an element."""

    dtype: DType

    def __post_init__(self) -> None:
        instance("ReinterpretView", "dtype", self.dtype, DType, "be an element type such as f32")


Transform = SliceView | ReshapeView | TransposeView | ReinterpretView


class View(msgspec.Struct, frozen=True):
    """An output port (`target`) that shows the memory of an input port (`source`)."""

    target: str
    source: str
    transform: Transform
