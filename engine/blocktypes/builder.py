"""`BlockBuilder` turns the calls of a block's `describe` into a `BlockDescription`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from engine.blocktypes.description import BlockDescription, Composition
from engine.blocktypes.entries import (
    Argument,
    BufferArgument,
    Control,
    CopyEntry,
    DelayEntry,
    Display,
    ElementArgument,
    Entry,
    ExtentArgument,
    FillEntry,
    FrameArgument,
    InternalBuffer,
    Kernel,
    KernelEntry,
    ParameterArgument,
    Requirement,
    Size,
    Status,
    StatusKind,
    Transform,
    ValueArgument,
    View,
)
from engine.blocktypes.extents import Extent
from engine.blocktypes.parameters import ParameterHandle
from engine.blocktypes.ports import BufferHandle, PortSpec, count_name, counter_name
from engine.device.external import ExternalArray, describe_external
from engine.types import DType, u32

#: Turns the counter of an append buffer into its count.
_COUNT = Kernel("append.cu", "count_appended")


class BlockBuilder:
    """Collects one block's work in the order of the calls."""

    #: Pass it to a kernel that takes a `const Frame*`: frame index, time, time step and seed.
    frame = FrameArgument()

    def __init__(
        self, type_id: str, ports: Mapping[str, PortSpec], structural: Mapping[str, int], folder: Path | None
    ) -> None:
        """`structural` are the integer structural parameters, `folder` is where the block's own kernels lie."""
        self._id = type_id
        self._ports = ports
        self._structural = structural
        self._folder = folder
        self._entries: list[Entry] = []
        self._buffers: dict[str, InternalBuffer] = {}
        self._displays: list[Display] = []
        self._contents: dict[str, np.ndarray[Any, Any]] = {}
        self._composition: Composition | None = None
        self._views: list[View] = []
        self._statuses: list[Status] = []
        self._requirements: list[Requirement] = []
        self._control: Control | None = None
        self._externals: dict[str, ExternalArray] = {}
        self._defined: dict[str, PortSpec] = {}
        self._appends = [spec for spec in ports.values() if spec.append]
        for spec in self._appends:
            self._begin_append(spec)

    def launch(
        self,
        kernel: Kernel,
        *,
        num_threads: Size | Sequence[Size],
        args: Sequence[object],
        thread_block: int | Sequence[int] | None = None,
        shared_bytes: int = 0,
        count: BufferHandle | None = None,
    ) -> None:
        """Launch `kernel` over at least `num_threads` threads (one number, or x, y and z).

        Each argument is a port or internal buffer, a live parameter, an extent such as `self.out.size`, a number, or
        `build.frame`. `thread_block` defaults to 256 threads in one dimension and 16 x 16 in two.

        With `count`, the first number (u32) of that buffer says on the device how many threads have work, and the
        launch costs no more than that: the grid has at most as many thread blocks as run at once, and the kernel, which
        takes the count as an argument, loops over its grid with `for_each_counted` of `kernels/count.cuh`. Use it where
        the count is often far below `num_threads`, as with append buffers; a CPU vectorises such a loop less well. When
        `count` is an input that is not connected, the grid covers `num_threads`.
        """
        sizes = tuple(num_threads) if isinstance(num_threads, Sequence) else (num_threads,)
        if not 1 <= len(sizes) <= 3:
            raise ValueError(f"{self._id}: num_threads must have 1 to 3 dimensions, got {len(sizes)}")
        if thread_block is None:
            thread_block = ((256,), (16, 16), (8, 8, 4))[len(sizes) - 1]
        threads = (thread_block,) if isinstance(thread_block, int) else tuple(thread_block)
        if not 1 <= len(threads) <= 3 or min(threads) < 1:
            raise ValueError(f"{self._id}: thread_block must be 1 to 3 sizes of at least 1, got {threads}")
        if shared_bytes < 0:
            raise ValueError(f"{self._id}: shared_bytes must be at least 0, got {shared_bytes}")
        x, y, z = (*threads, 1, 1)[:3]
        taken = tuple(self.argument(a) for a in args)
        if count is not None:
            if len(sizes) != 1 or (y, z) != (1, 1):
                text = f"one dimension, got {sizes} in thread blocks of {threads}"
                raise ValueError(f"{self._id}: launch with a count must have {text}")
            if not any(isinstance(argument, BufferArgument) and argument.name == count.name for argument in taken):
                text = f"among args, for the kernel to read, got {count.name!r} beside them"
                raise ValueError(f"{self._id}: count must be {text}")
        name = None if count is None else count.name
        self._entries.append(KernelEntry(kernel, sizes, (x, y, z), taken, shared_bytes, name))

    def fill(self, target: BufferHandle, value: int = 0) -> None:
        """Set every byte of `target` to `value`."""
        self._entries.append(FillEntry(self._access(target, reads=False, writes=True), value))

    def copy(self, target: BufferHandle, source: BufferHandle) -> None:
        """Copy `source` to `target`, which must have the same size."""
        self._entries.append(
            CopyEntry(self._access(target, reads=False, writes=True), self._access(source, reads=True, writes=False))
        )

    def buffer(self, name: str, dtype: DType, shape: str, *, state: bool = False) -> BufferHandle:
        """Allocate a buffer that only this block sees; `state` keeps its contents from frame to frame."""
        if name in self._buffers or name in self._ports:
            raise ValueError(f"{self._id}: buffer name must be new, got {name!r}")
        self._buffers[name] = InternalBuffer(name, dtype, shape, state)
        return BufferHandle(name)

    def provide(self, port: BufferHandle, array: np.ndarray[Any, Any]) -> None:
        """Give an output contents, and with them its shape: the array is uploaded once, before the first launch."""
        self._contents[port.name] = np.asarray(array, order="C")

    def view(self, target: BufferHandle, source: BufferHandle, transform: Transform) -> None:
        """Make the output `target` a view of the input `source`: the same memory, seen through `transform`."""
        for handle, wanted in ((target, "an output"), (source, "an input")):
            spec = self._ports.get(handle.name)
            if spec is None or spec.is_input != (wanted == "an input"):
                raise ValueError(f"{self._id}: view must go from an input to an output, got {handle.name!r}")
        if any(view.target == target.name for view in self._views):
            raise ValueError(f"{self._id}: output {target.name!r} must be one view, got a second one")
        self._views.append(View(target.name, source.name, transform))

    def adopt(self, port: BufferHandle, array: object) -> None:
        """Make an output the user's own memory, with its element type and shape; nothing is copied.

        `array` comes from numpy, CuPy, PyTorch or another library, or is an `ExternalArray`; DeviceError when its
        memory can't be used.
        """
        self._externals[port.name] = array if isinstance(array, ExternalArray) else describe_external(array)

    def delay(self, target: BufferHandle, source: BufferHandle, *, initial: float = 0.0) -> None:
        """Make the output `target` hold what `source` held at the end of the last frame, and `initial` in the first."""
        self._entries.append(
            DelayEntry(
                BufferArgument(target.name, reads=False, writes=True),
                BufferArgument(source.name, reads=True, writes=False),
                initial,
            )
        )

    def define(self, port: BufferHandle, *, dtype: DType | None = None, shape: str | None = None) -> None:
        """Set an output's shape rule, or the element type of an output of any type, where parameters decide them."""
        spec = self._defined.get(port.name) or self._ports[port.name]
        if spec.is_input or (dtype is not None and spec.dtype.kind != "any"):
            raise ValueError(f"{self._id}: only an output of any type can be given one, got {port.name!r}")
        self._defined[port.name] = replace(spec, dtype=dtype or spec.dtype, shape=shape or spec.shape)

    def element_type(self, port: BufferHandle) -> ElementArgument:
        """Return an argument that tells a kernel the element type of a port; see `kernels/elements.cuh`."""
        return ElementArgument(port.name)

    def require(self, extent: Extent, message: str, *, port: BufferHandle | None = None) -> None:
        """Require that `extent` is at least 0 once shapes are known; `message` says what must hold."""
        self._requirements.append(Requirement(extent, message, port.name if port else None))

    def report(self, word: BufferHandle, kind: StatusKind, port: BufferHandle, capacity: object) -> None:
        """Read the internal buffer `word` (one u32) back after each frame and compare it with `capacity`."""
        argument = self.argument(capacity)
        if not isinstance(argument, (ExtentArgument, ParameterArgument)):
            raise TypeError(f"{self._id}: capacity must be an extent or a live parameter, got {capacity!r}")
        self._statuses.append(Status(word.name, kind, port.name, argument))

    def control(self, control: Control) -> None:
        """Make the block a region; see `engine.blocktypes.regions`."""
        self._control = control

    def compose(self, composition: Composition) -> None:
        """Make the block stand for other blocks; see `engine.patch.composite`."""
        self._composition = composition

    def show(self, pixels: BufferHandle) -> None:
        """Show a 2-D buffer of `uchar4` in this block's viewer."""
        self._displays.append(Display(pixels.name))

    def save(self, buffer: BufferHandle, path: str) -> None:
        """Save a buffer to `path` when outputs are saved: a 2-D `uchar4` buffer as an image, anything else as .npy."""
        self._displays.append(Display(buffer.name, path))

    def commit(self) -> BlockDescription:
        """Return the finished description."""
        for spec in self._appends:
            self._end_append(spec)
        return BlockDescription(
            ports=tuple(self._defined.get(name, spec) for name, spec in self._ports.items()),
            entries=tuple(self._entries),
            buffers=tuple(self._buffers.values()),
            displays=tuple(self._displays),
            structural=tuple(self._structural.items()),
            contents=self._contents,
            kernel_folders=(str(self._folder),) if self._folder else (),
            composition=self._composition,
            views=tuple(self._views),
            control=self._control,
            requirements=tuple(self._requirements),
            statuses=tuple(self._statuses),
            externals=self._externals,
        )

    # Kernels reserve a place for each element of an append buffer by an atomic addition to a counter, which may exceed
    # the capacity. The count that other blocks see does not.

    def _begin_append(self, spec: PortSpec) -> None:
        """Make the counter of an append buffer; it starts at 0 each time the block runs, unless the buffer is state."""
        counter = self.buffer(counter_name(spec.name), u32, "[1]", state=spec.state)
        if not spec.state:
            self.fill(counter, 0)

    def _end_append(self, spec: PortSpec) -> None:
        """Turn the counter into the count, and read it back."""
        data, counter = BufferHandle(spec.name), BufferHandle(counter_name(spec.name))
        count = BufferHandle(count_name(spec.name))
        self.launch(_COUNT, num_threads=1, thread_block=1, args=(counter, count, data.size))
        word = counter
        if spec.state:  # state outlives the frame, but words that are read back must not
            word = self.buffer(f"{spec.name}_wanted", u32, "[1]")
            self.copy(word, counter)
        self.report(word, StatusKind.APPENDED, data, data.size)

    def argument(self, value: object) -> Argument:
        """Return the kernel argument for `value`; TypeError when there is none."""
        match value:
            case BufferHandle():
                spec = self._ports.get(value.name)
                if spec is None:
                    # Only the kernels know which launch fills an internal buffer first, so all of them are ordered.
                    return self._access(value, reads=True, writes=True)
                return self._access(value, reads=spec.is_input, writes=not spec.is_input)
            case ParameterHandle(name=name):
                return ParameterArgument(name)
            case Extent():
                return ExtentArgument(value)
            case FrameArgument() | ElementArgument():
                return value
            case bool() | int() | float() | np.number():
                return ValueArgument(value.item() if isinstance(value, np.number) else value)
        raise TypeError(f"{self._id}: argument must be a port, buffer, parameter, extent or number, got {value!r}")

    def _access(self, handle: BufferHandle, *, reads: bool, writes: bool) -> BufferArgument:
        spec = self._ports.get(handle.name)
        if spec is not None and not spec.is_input and (spec.inplace or spec.state):
            reads = True  # the block reuses the contents
        if spec is not None and spec.is_input and any(p.inplace == handle.name for p in self._ports.values()):
            writes = True
        return BufferArgument(handle.name, reads, writes)
