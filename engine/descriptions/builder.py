"""`BlockBuilder` turns the calls of a block's `describe` into a `BlockDescription`."""

import math
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from msgspec.structs import replace

from warploom.engine.descriptions import checks
from warploom.engine.descriptions.block_names import BlockNames
from warploom.engine.descriptions.contents import Contents
from warploom.engine.descriptions.description import BlockDescription, Composition, check_outputs
from warploom.engine.descriptions.entries import (
    STORED,
    THREAD_BLOCKS,
    Argument,
    BufferArgument,
    CapturedCall,
    CaptureEntry,
    Control,
    CopyEntry,
    DelayEntry,
    Display,
    ElementArgument,
    Encoder,
    Entry,
    ExtentArgument,
    FillEntry,
    FrameArgument,
    InternalBuffer,
    Kernel,
    KernelEntry,
    ParameterArgument,
    Requirement,
    ServedParts,
    Size,
    Status,
    StatusKind,
    Transform,
    ValueArgument,
    VectorArgument,
    View,
)
from warploom.engine.descriptions.graph_launches import counted_axes, graph_launch
from warploom.engine.descriptions.handles import MOST_AXES, BufferHandle, ParameterHandle, VectorHandle
from warploom.engine.descriptions.ports import PIXELS, PortSpec, count_name, counter_name, is_picture
from warploom.engine.descriptions.shapes.extents import Extent
from warploom.engine.drawings.pictures import picture_depth
from warploom.engine.kernel_sources import op_graphs
from warploom.engine.kernel_sources.sources import OpGraphSource
from warploom.engine.libraries.call import CallOn, LibraryCall
from warploom.engine.ops import OpGraph
from warploom.engine.ops.types import in_memory
from warploom.engine.types import DType, c128, f64, float4, u8, u32
from warploom.engine.types.records import record_text
from warploom.engine.types.structs import field_offset

#: The most threads in a thread block, and the most dynamic shared memory that any GPU has for one.
MOST_THREADS, MOST_SHARED_BYTES = 1024, 227 * 1024
#: The kernel that turns the counter of an append buffer into its count.
_COUNT = Kernel("append.cu", "count_appended")
#: The kernel that stores live parameters where a library reads them.
_STORE = Kernel("libraries.cu", "store_numbers")
_CALL = "be a library call such as blas.Gemm().on(a=..., b=..., out=...)"


class BlockBuilder(BlockNames):
    """Collects one block's work, in the order of the calls."""

    #: For a kernel that takes a `const Frame*`: frame index, time, time step and seed.
    frame = FrameArgument()

    def __init__(
        self,
        type_id: str,
        ports: Mapping[str, PortSpec],
        live: Collection[str],
        structural: Mapping[str, int],
        folder: Path | None,
    ) -> None:
        """`live` are the live parameters; `structural` are the integer structural parameters.

        `folder` has the block's own kernels.
        """
        super().__init__(type_id, ports, live, structural)
        self._folder = folder
        self._entries: list[Entry] = []
        self._displays: list[Display] = []
        self._contents = Contents(type_id)
        self._numbers = 0
        self._composition: Composition | None = None
        self._views: list[View] = []
        self._statuses: list[Status] = []
        self._requirements: list[Requirement] = []
        self._control: Control | None = None
        self._defined: dict[str, PortSpec] = {}
        self._work: list[tuple[int, ServedParts]] = []
        self._feeds: list[str] = []
        self._watches: list[str] = []
        self._values: list[PortSpec] = []
        self._columns: dict[str, tuple[str, ...]] = {}
        self._kept_columns: dict[str, tuple[str, ...]] = {}
        self._appends = [spec for spec in ports.values() if spec.append]
        for spec in self._appends:
            self._begin_append(spec)

    def number(self) -> int:
        """Return the next of the numbers 1, 2 and so on, for names of buffers."""
        self._numbers += 1
        return self._numbers

    @property
    def entry_count(self) -> int:
        """The number of entries so far."""
        return len(self._entries)

    def count_for(self, count: int, work: ServedParts) -> None:
        """Set the parts of the block, such as layers of a network, that the last `count` entries work for."""
        whole = checks.whole(self._id, "number of entries", count, 1, len(self._entries))
        checks.instance(self._id, "work", work, ServedParts, "be a ServedParts")
        self._work += [(number, work) for number in range(len(self._entries) - whole, len(self._entries))]

    def launch(
        self,
        kernel: Kernel,
        *,
        num_threads: Size | Sequence[Size],
        args: Sequence[object],
        thread_block: int | Sequence[int] | None = None,
        shared_bytes: int = 0,
        count: BufferHandle | None = None,
        needs: BufferHandle | None = None,
    ) -> None:
        """Launch `kernel` over at least `num_threads` threads (one number, or x, y and z).

        Each argument is a port or internal buffer, a live parameter, an extent such as `self.out.size`, a number, or
        `build.frame`. `thread_block` defaults to 256 threads in one dimension and 16 x 16 in two.

        With `count`, the first number (u32) of that buffer is the number of threads with work, and the launch costs no
        more than that many threads. The grid has at most as many thread blocks as run at once. The kernel takes the
        count as an argument, and loops over its grid with `for_each_counted` of `kernels/count.cuh`. Use this if the
        count is often far below `num_threads`, as with append buffers; a CPU vectorises such a loop less well. When
        `count` is an unconnected input, the grid covers `num_threads`.

        With `needs`, an optional input, there is no launch while that is unconnected.
        """
        where = self._id
        needed = None if needs is None else self._port(needs)
        if needed is not None and not self._ports[needed].optional:
            raise checks.refuse(where, "needs", "be an optional input", needed)
        checks.instance(where, "kernel", kernel, Kernel, "be a Kernel(file, entry)")
        sizes = tuple([self._size(size) for size in checks.dimensions(where, "num_threads", num_threads)])
        if thread_block is None:
            thread_block = THREAD_BLOCKS[len(sizes) - 1][: len(sizes)]
        threads = [
            checks.whole(where, "thread_block", size, 1, MOST_THREADS)
            for size in checks.dimensions(where, "thread_block", thread_block)
        ]
        checks.whole(where, "threads in a thread block", math.prod(threads), 1, MOST_THREADS)
        shared_bytes = checks.whole(where, "shared_bytes", shared_bytes, 0, MOST_SHARED_BYTES)
        x, y, z = (*threads, 1, 1)[:3]
        taken = tuple([self.argument(argument) for argument in checks.sequence(where, "args", args)])
        pictures = {a.name for a in taken if isinstance(a, BufferArgument) and is_picture(self._ports.get(a.name))}
        if len(pictures) > 1 and not isinstance(kernel.source, OpGraphSource):  # they would be read as one type
            rule = 'be one; the type of another one is dtype="same(...)"'
            raise checks.refuse(where, 'inputs with dtype="picture" of a kernel', rule, sorted(pictures))
        name = None if count is None else self._known(count, "count")
        if name is not None:
            if len(sizes) != 1 or (y, z) != (1, 1):
                raise checks.refuse(where, "launch with a count", "have one dimension", (sizes, tuple(threads)))
            if not any(isinstance(argument, BufferArgument) and argument.name == name for argument in taken):
                text = f"among args, for the kernel to read, got {name!r} beside them"
                raise checks.BlockCallError(f"{where}: count must be {text}")
        self._entries.append(KernelEntry(kernel, sizes, (x, y, z), taken, shared_bytes, name, needed))

    def compute(
        self,
        graph: OpGraph | OpGraphSource,
        *,
        over: BufferHandle,
        thread_blocks: Size | None = None,
        buffers: Mapping[str, BufferHandle] | None = None,
    ) -> None:
        """Run an op graph over the elements of `over`. Raise OpError when the graph is wrong.

        The graph's inputs, outputs and parameters are the ports, internal buffers and live parameters of the same
        names; `buffers` may name others. In a graph with aggregates, `thread_blocks` share the elements; the outputs of
        aggregates have the same size.
        """
        if not isinstance(graph, OpGraph | OpGraphSource):
            raise checks.refuse(self._id, "graph", "be an op graph", graph)
        source = graph if isinstance(graph, OpGraphSource) else OpGraphSource.of(graph)
        kernel, over = op_graphs.launched(source), BufferHandle(self._known(over, "over"))
        inputs = [(item.name, item.dtype) for item in kernel.inputs]
        elsewhere = {} if buffers is None else buffers
        if not isinstance(elsewhere, Mapping):
            raise checks.refuse(self._id, "buffers", "be buffers by the graph's names", buffers)
        names: dict[str, str] = {}
        for item, wanted in [*inputs, *((item.name, item.dtype) for item in kernel.outputs)]:
            name = names[item] = self._known(elsewhere.get(item, BufferHandle(item)), f"{item} of the graph")
            known = self._buffers.get(name) or self._defined.get(name) or self._ports[name]
            dtype = known.dtype
            if dtype != in_memory(wanted) and not (dtype in PIXELS and in_memory(wanted) == float4):
                raise checks.refuse(self._id, f"{name} of the graph", f"be {dtype} as its port", wanted)
        shares = any(output.is_aggregate for output in kernel.outputs)
        if shares is (thread_blocks is None):
            text = "be given for a graph with aggregates" if shares else "be given for graphs with aggregates only"
            raise checks.refuse(self._id, "thread_blocks", text, thread_blocks)
        for output in kernel.outputs:
            if output.initial == "zeros":
                self.fill(BufferHandle(names[output.name]))
        for port, rank in counted_axes(kernel).items():
            self.cover(BufferHandle(names[port]) if port else over, rank)
        if shares or kernel.rank > 1:  # otherwise each element has a thread, whose number is limited
            message = f"{over.name} must have fewer than 2^31 elements, which kernels count with 32 bits"
            self.require((1 << 31) - 1 - over.size, message, port=over if over.name in self._ports else None)
        launch = graph_launch(kernel, over, thread_blocks, names)
        self.launch(
            Kernel(source, kernel.entry),
            num_threads=launch.num_threads,
            args=launch.args,
            thread_block=launch.thread_block,
        )

    def capture(self, *calls: CallOn) -> None:
        """Call libraries one after another, as one captured node: `build.capture(blas.Gemm().on(a=self.a, ...))`.

        Make the buffers between several calls with `build.buffer`. Passing a live parameter as a number adds a kernel
        that stores it; changing its value adds no other cost. Passing a buffer of one element as a number adds nothing;
        it must have the type in which the call computes.
        """
        if not calls:
            raise checks.refuse(self._id, "captured calls", "have at least one", calls)
        made = tuple([self._call(checks.instance(self._id, "call", call, CallOn, _CALL)) for call in calls])
        workspace = self._own(f"workspace{self._count(CaptureEntry)}", u8)
        self._entries.append(CaptureEntry(made, workspace))

    def _call(self, made: CallOn) -> CapturedCall:
        """Return a call with buffers as arguments. If one of its numbers is live, add a kernel that stores them."""
        call, operands = made.call, []
        for slot, handle in made.buffers.items():
            is_output = slot in call.outputs
            given = self._access(handle, reads=not is_output or slot in call.changed, writes=is_output)
            operands.append((slot, given))
        if "info" in call.outputs and "info" not in made.buffers:
            operands.append(("info", self._info(call, operands)))
        arguments = [self.argument(number) for number in made.numbers.values()]
        if any(isinstance(argument, VectorArgument) for argument in arguments):
            raise checks.refuse(self._id, f"numbers of {call.label}", "be single numbers", "a vector")
        numbers = tuple([(name, _number(argument)) for name, argument in zip(made.numbers, arguments, strict=True)])
        for kind in (ValueArgument, BufferArgument):
            if all(isinstance(argument, kind) for argument in arguments):
                return CapturedCall(call, tuple(operands), numbers)
        zero = ValueArgument(0.0)
        values = [zero if isinstance(argument, BufferArgument) else argument for argument in arguments]
        stored = self._own(f"numbers{self._count(KernelEntry)}", c128, STORED)
        values += [zero] * (STORED - len(values))
        scaled = ElementArgument(self._known(made.buffers[call.scaled], call.scaled))
        self._entries.append(KernelEntry(_STORE, (1,), (1, 1, 1), (stored, scaled, *values)))
        return CapturedCall(call, tuple(operands), numbers, stored)

    def _info(self, call: LibraryCall, operands: Sequence[tuple[str, BufferArgument]]) -> BufferArgument:
        """Create the status word of a call, which shows whether it failed and is read back after each frame."""
        word = self._own(f"info{self._count(CaptureEntry)}_{len(self._statuses)}", u32)
        written = [given.name for slot, given in operands if slot in call.outputs and given.name in self._ports]
        outputs = [spec.name for spec in self._ports.values() if not spec.is_input]
        self._statuses.append(Status(word.name, StatusKind.INFO, (written or outputs)[0], call=call))
        return BufferArgument(word.name, reads=False, writes=True)

    def _own(self, name: str, dtype: DType, size: int = 1) -> BufferArgument:
        """Create an internal buffer, and return it as an argument that is written and read."""
        return self._access(self.buffer(name, dtype, f"[{size}]"), reads=True, writes=True)

    def _count(self, kind: type[Entry]) -> int:
        return sum(isinstance(entry, kind) for entry in self._entries)

    def fill(self, target: BufferHandle, value: int = 0, *, width: int = 1) -> None:
        """Set every byte of `target` to `value`, or every number of `width` bytes: 1, 2 or 4."""
        width = checks.whole(self._id, "width of a fill", width, 1, 4)
        if width == 3:
            raise checks.refuse(self._id, "width of a fill", "be 1, 2 or 4 bytes", width)
        value = checks.whole(self._id, "value of a fill", value, 0, 256**width - 1)
        self._entries.append(FillEntry(self._access(target, reads=False, writes=True), value, width))

    def copy(self, target: BufferHandle, source: BufferHandle) -> None:
        """Copy `source` to `target`, which must have the same size."""
        self._entries.append(
            CopyEntry(self._access(target, reads=False, writes=True), self._access(source, reads=True, writes=False))
        )

    def buffer(
        self,
        name: str,
        dtype: DType,
        shape: str,
        *,
        state: bool = False,
        initial: np.ndarray[Any, Any] | None = None,
    ) -> BufferHandle:
        """Allocate a buffer that only this block can access; `state` keeps its contents from frame to frame.

        State starts with zeros, or with `initial`, an array of its type and shape. If a new description of the block
        has another `initial`, the state starts again with that. With the shape "captured", the library call that fills
        the buffer decides its layout, and `dtype` is ignored.
        """
        where = self._id
        if not isinstance(name, str) or not name.isidentifier():
            raise checks.refuse(where, "buffer name", "be an identifier", name)
        if name in self._names:
            raise checks.refuse(where, "buffer name", "be new", name)
        dtype, name = dtype if shape == "captured" else self._type(dtype), str.__str__(name)
        self._buffers[name] = InternalBuffer(name, dtype, self._shape(shape), bool(state))
        if initial is not None:
            if not state or shape == "captured":
                raise checks.refuse(where, f"initial contents of {name}", "be for state of a known shape", initial)
            self._contents.begin(name, dtype, initial)
        self._names.add(name)
        return BufferHandle(name)

    def seen_as(self, source: BufferHandle, shape: str) -> BufferHandle:
        """Return a view of a port or buffer in another shape for library calls, without a copy."""
        name, shape = self._known(source, "source"), self._shape(shape)
        whole = self._buffers.get(name)
        name = name if whole is None else whole.of or name
        made = next((b for b in self._buffers.values() if (b.of, b.shape) == (name, shape)), None)
        if made is None:
            dtype = self._ports[name].dtype if name in self._ports else self._buffers[name].dtype
            made = InternalBuffer(f"{name}_seen{len(self._buffers)}", dtype, shape, of=name)
            self._buffers[made.name] = made
            self._names.add(made.name)
        return BufferHandle(made.name)

    def provide(self, port: BufferHandle, array: np.ndarray[Any, Any]) -> None:
        """Set the contents, and so the shape, of an output. The array is uploaded once, before the first launch.

        For a `state` output, which has its own shape rule, the array is the initial contents, as `initial` of `buffer`.
        """
        self._contents.provide(self._ports[self._output(port, "port of provide")], array)

    def name_columns(self, port: BufferHandle, names: Sequence[str]) -> None:
        """Set the names of an output's columns, the positions of the last of its two axes. They must differ.

        Viewers show them, and files get them. With another number of names than columns, the output has no names.
        """
        given = checks.sequence(self._id, "names of columns", names)
        found = tuple([checks.prose(self._id, "name of a column", name) for name in given])
        if len(set(found)) < len(found) or any("\ud800" <= c <= "\udfff" for name in found for c in name):
            raise checks.refuse(self._id, "names of columns", "be different texts that files hold", names)
        self._columns[self._output(port, "port of names")] = found

    def keep_columns(self, port: BufferHandle, *inputs: BufferHandle) -> None:
        """Let an output's columns have the names of those of inputs, as far as these have the same names.

        A slice, and an op graph that computes each element from those at the same index, need no such call.
        """
        names = tuple([self._port(handle) for handle in inputs])
        self._kept_columns[self._output(port, "port that keeps columns")] = names

    def view(self, target: BufferHandle, source: BufferHandle, transform: Transform) -> None:
        """Make the output `target` a view of the input `source`: the same memory, seen through `transform`."""
        shows, shown = self._output(target, "target of a view"), self._known(source, "source of a view")
        if shown not in self._ports or not self._ports[shown].is_input:
            raise checks.refuse(self._id, "source of a view", "be an input", shown)
        if any(view.target == shows for view in self._views):
            raise checks.BlockCallError(f"{self._id}: output {shows!r} must be made a view once, got a second view")
        if not isinstance(transform, Transform):
            rule = "be a SliceView, ReshapeView, TransposeView or ReinterpretView"
            raise checks.refuse(self._id, "transform of a view", rule, transform)
        self._views.append(View(shows, shown, transform))

    def adopt(self, port: BufferHandle, array: object) -> None:
        """Let an output be the user's own memory, with its element type and shape; nothing is copied.

        `array` comes from numpy, CuPy, PyTorch or another library, or is an `ExternalArray`. Raise DeviceError if its
        memory can't be used.
        """
        self._contents.adopt(self._output(port, "port of adopt"), array)

    def delay(self, target: BufferHandle, source: BufferHandle, *, initial: float = 0.0) -> None:
        """Let the output `target` hold the contents of `source` at the end of the last frame.

        At first, it is `initial`.
        """
        shown, kept = self._output(target, "target of a delay"), self._known(source, "source of a delay")
        self._entries.append(
            DelayEntry(
                BufferArgument(shown, reads=False, writes=True),
                BufferArgument(kept, reads=True, writes=False),
                checks.number(self._id, "initial value of a delay", initial),
            )
        )

    def define(self, port: BufferHandle, *, dtype: DType | None = None, shape: str | None = None) -> None:
        """Set an output's shape rule, or the type of an output with a rule for it, when parameters decide them."""
        name = self._output(port, "port of define")
        spec = self._defined.get(name) or self._ports[name]
        if dtype is not None and self._ports[name].dtype_rule is None:
            raise checks.BlockCallError(
                f"{self._id}: only an output with a rule for its type can be given one by define, got {name!r}"
            )
        dtype = spec.dtype if dtype is None else self._type(dtype)
        self._defined[name] = replace(spec, dtype=dtype, shape=spec.shape if shape is None else self._shape(shape))

    def element_type(self, port: BufferHandle) -> ElementArgument:
        """Return an argument with the element type of a port; see `kernels/elements.cuh`."""
        return ElementArgument(self._known(port, "port of element_type"))

    def struct(self, struct: DType, **fields: ParameterHandle) -> VectorArgument:
        """Return live parameters as a struct that a kernel takes by value: each field is a parameter, or a vector."""
        struct = checks.instance(self._id, "struct", struct, DType, "be a struct")
        if struct.kind != "struct" or fields.keys() != struct.fields.keys():
            raise checks.refuse(self._id, f"fields of {struct}", f"be {', '.join(struct.fields)}", [*fields])
        names: list[str] = []
        places: list[tuple[DType, int]] = []
        for name, dtype in struct.fields.items():
            handle, of = fields[name], dtype.of or dtype
            given = handle.components if isinstance(handle, VectorHandle) else (getattr(handle, "name", ""),)
            if dtype.kind in ("struct", "array") or len(given) != dtype.components or not all(given):
                raise checks.refuse(
                    self._id, f"field {name} of {struct}", f"be a live parameter of type {dtype}", handle
                )
            names += given
            places += [(of, field_offset(struct, name) + number * of.size_bytes) for number in range(len(given))]
        return VectorArgument(tuple(names), record_text(places))

    def require(self, extent: Extent, message: str, *, port: BufferHandle | None = None) -> None:
        """Require that `extent` is at least 0 once shapes are known; `message` is the rule."""
        extent = self._extent(checks.instance(self._id, "requirement", extent, Extent, "be an extent"))
        message = checks.text(self._id, "message of a requirement", message)
        self._requirements.append(Requirement(extent, message, None if port is None else self._port(port)))

    def cover(self, port: BufferHandle, rank: int) -> None:
        """Require that the last `rank` axes of a port contain all its elements; it may have fewer axes."""
        name, rank = self._known(port, "port"), checks.whole(self._id, "rank", rank, 1, MOST_AXES)
        axes = "*".join(f"{name}.last{axis}" for axis in range(rank))
        message = f"{name} must have at most {rank} axes, since the kernel counts along {rank}: reshape it"
        self.require(Extent(f"{axes} - {name}.size"), message, port=port if name in self._ports else None)

    def report(self, word: BufferHandle, kind: StatusKind, port: BufferHandle, capacity: object) -> None:
        """Read the internal buffer `word` (one u32) back after each frame and compare it with `capacity`.

        `port` is the output that the value describes.
        """
        argument = self.argument(capacity)
        if not isinstance(argument, (ExtentArgument, ParameterArgument)):
            raise checks.refuse(self._id, "capacity", "be an extent or a live parameter", capacity)
        if isinstance(argument, ExtentArgument):
            self.require(argument.extent, "a capacity or a limit must be at least 0", port=port)
        if (name := self._known(word, "word of a report")) not in self._buffers:
            raise checks.refuse(self._id, "word of a report", "be a buffer that the block has made", word)
        kind = checks.instance(self._id, "kind of a report", kind, StatusKind, "be a StatusKind")
        self._statuses.append(Status(name, kind, self._output(port, "port of a report"), argument))

    def control(self, control: Control) -> None:
        """Make the block a region; see `engine.descriptions.regions`."""
        self._control = checks.instance(self._id, "control", control, Control, "be a Control")

    def compose(self, composition: Composition) -> None:
        """Let the block stand for other blocks; see `engine.patch.composite`."""
        self._composition = checks.instance(self._id, "composition", composition, Composition, "be a Composition")

    def show(self, pixels: BufferHandle) -> None:
        """Show a 2-D buffer of `uchar4` in this block's viewer."""
        self._displays.append(Display(self._known(pixels, "picture")))

    def save(
        self,
        buffer: BufferHandle,
        path: str,
        depth: str = "usual",
        *,
        encode: Encoder | None = None,
        options: tuple[str, ...] = (),
        with_columns: bool = False,
    ) -> None:
        """Save a buffer to `path` when outputs are saved: as an array if it ends in .npy, otherwise as a picture.

        A picture is a 2-D buffer. `uchar4` is 8-bit sRGB; `float4` is linear light, and saved with `depth`, which is
        one of the format's PICTURE_DEPTHS. For a file of another kind, `encode(contents, suffix, *options)` returns its
        bytes; it runs on another thread, and may raise ValueError. With `with_columns`, the names of the buffer's
        columns follow the options.
        """
        path = checks.text(self._id, "path", str(path) if isinstance(path, Path) else path)
        if encode is None:
            options = (picture_depth(path, checks.text(self._id, "depth", depth)),)
        known = self._known(buffer, "buffer of a save")
        with_columns = checks.flag(self._id, "with_columns", with_columns)
        self._displays.append(Display(known, path, options, encode, with_columns))

    def feed(self, buffer: BufferHandle) -> None:
        """Let a live block fill an output or internal buffer with `give`; it keeps its contents like state."""
        name = self._known(buffer, "fed buffer")
        if (own := self._buffers.get(name)) is not None and own.of is None:
            self._buffers[name] = replace(own, state=True)
        else:
            self._defined[name] = replace(
                self._defined.get(self._output(buffer, "fed buffer"), self._ports[name]), state=True
            )
        self._feeds.append(name)

    def watch(self, buffer: BufferHandle) -> None:
        """Let a live block get the contents of a port or internal buffer after each frame, with `taken`."""
        self._watches.append(self._known(buffer, "watched buffer"))

    def value(self, name: str) -> BufferHandle:
        """Return a buffer of one f64, of state, for the number of a live block's value output of this name.

        Kernels that the value output drives directly read the number there, in the frame that computes it. It must be
        finite.
        """
        handle = self.buffer(name, f64, "[1]", state=True)
        del self._buffers[name]
        self._values.append(PortSpec(name, "out", f64, "The number of the value output.", "[1]", state=True))
        return handle

    def commit(self) -> BlockDescription:
        """Return the finished description."""
        for spec in self._appends:
            self._end_append(spec)
        made = BlockDescription(
            ports=(*(self._defined.get(name, spec) for name, spec in self._ports.items()), *self._values),
            entries=tuple(self._entries),
            buffers=tuple(self._buffers.values()),
            displays=tuple(self._displays),
            structural=tuple(self._structural.items()),
            contents=self._contents.provided,
            initials=self._contents.initials,
            kernel_folders=(str(self._folder),) if self._folder else (),
            composition=self._composition,
            views=tuple(self._views),
            control=self._control,
            requirements=tuple(self._requirements),
            statuses=tuple(self._statuses),
            externals=self._contents.adopted,
            work=tuple(self._work),
            feeds=tuple(dict.fromkeys(self._feeds)),
            watches=tuple(dict.fromkeys(self._watches)),
            numbers=tuple(spec.name for spec in self._values),
            columns=tuple(self._columns.items()),
            kept_columns=tuple(self._kept_columns.items()),
        )
        check_outputs(self._id, made)
        return made

    # To append an element, a kernel adds 1 to a counter atomically, which may exceed the capacity. The count that other
    # blocks read never does.

    def _begin_append(self, spec: PortSpec) -> None:
        """Create the counter of an append buffer. It is 0 at each run of the block, unless the buffer is state."""
        counter = self.buffer(counter_name(spec.name), u32, "[1]", state=spec.state)
        if not spec.state:
            self.fill(counter, 0)

    def _end_append(self, spec: PortSpec) -> None:
        """Add a kernel that turns the counter into the count, and read the counter back."""
        data, counter = BufferHandle(spec.name), BufferHandle(counter_name(spec.name))
        count = BufferHandle(count_name(spec.name))
        self.launch(_COUNT, num_threads=1, thread_block=1, args=(counter, count, data.size))
        word = counter
        if spec.state:  # state outlives the frame, but words that are read back must not
            word = self.buffer(f"{spec.name}_wanted", u32, "[1]")
            self.copy(word, counter)
        self.report(word, StatusKind.APPENDED, data, data.size)


def _number(argument: Argument) -> float | BufferArgument:
    """Return a number as a library call stores it; for a live number, the call stores 0."""
    if isinstance(argument, BufferArgument):
        return BufferArgument(argument.name, reads=True, writes=False)
    return float(argument.value) if isinstance(argument, ValueArgument) else 0.0
