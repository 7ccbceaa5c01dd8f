"""`BlockBuilder`: what a block's `describe` is given, and what turns its calls into a `BlockDescription`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from engine.blocktypes.block import Block
from engine.blocktypes.description import (
    Argument,
    BlockDescription,
    BufferArgument,
    CopyEntry,
    Display,
    Entry,
    ExtentArgument,
    FillEntry,
    FrameArgument,
    InternalBuffer,
    Kernel,
    KernelEntry,
    ParameterArgument,
    Size,
    ValueArgument,
)
from engine.blocktypes.parameters import ParameterHandle
from engine.blocktypes.ports import BufferHandle
from engine.blocktypes.shape_rules import Extent
from engine.types import DType

#: The frame uniforms, as an argument of a launch: see `engine.compiler.frame`.
FRAME = FrameArgument()


class BlockBuilder:
    """Collects one block's work, in the order of the calls."""

    #: Pass it to a kernel that takes a `const Frame*`: frame index, time and time step.
    frame = FRAME

    def __init__(self, block: Block) -> None:
        self._block = block
        self._entries: list[Entry] = []
        self._buffers: dict[str, InternalBuffer] = {}
        self._displays: list[Display] = []
        self._contents: dict[str, np.ndarray[Any, Any]] = {}

    def launch(
        self,
        kernel: Kernel,
        *,
        num_threads: Size | Sequence[Size],
        args: Sequence[object],
        thread_block: int | Sequence[int] | None = None,
        shared_bytes: int = 0,
    ) -> None:
        """Launch `kernel` over at least `num_threads` threads (one number, or x, y and z).

        Each argument is a port or internal buffer, a live parameter, an extent such as `self.out.size`, a number, or
        `build.frame`. `thread_block` defaults to 256 threads in one dimension and 16 x 16 in two.
        """
        sizes = tuple(num_threads) if isinstance(num_threads, Sequence) else (num_threads,)
        if not 1 <= len(sizes) <= 3:
            raise ValueError(f"{self._block.id}: num_threads must have 1 to 3 dimensions, got {len(sizes)}")
        if thread_block is None:
            thread_block = ((256,), (16, 16), (8, 8, 4))[len(sizes) - 1]
        threads = (thread_block,) if isinstance(thread_block, int) else tuple(thread_block)
        if not 1 <= len(threads) <= 3 or min(threads) < 1:
            raise ValueError(f"{self._block.id}: thread_block must be 1 to 3 sizes of at least 1, got {threads}")
        if shared_bytes < 0:
            raise ValueError(f"{self._block.id}: shared_bytes must be at least 0, got {shared_bytes}")
        x, y, z = (*threads, 1, 1)[:3]
        self._entries.append(
            KernelEntry(kernel, sizes, (x, y, z), tuple(self._argument(a) for a in args), shared_bytes)
        )

    def fill(self, target: BufferHandle, value: int = 0) -> None:
        """Set every byte of `target` to `value`."""
        self._entries.append(FillEntry(self._access(target, reads=False, writes=True), value))

    def copy(self, target: BufferHandle, source: BufferHandle) -> None:
        """Copy `source` to `target`, which must have the same size."""
        self._entries.append(
            CopyEntry(self._access(target, reads=False, writes=True), self._access(source, reads=True, writes=False))
        )

    def buffer(self, name: str, dtype: DType, shape: str, *, state: bool = False) -> BufferHandle:
        """Ask for a buffer that only this block sees; `state` keeps its contents from frame to frame."""
        if name in self._buffers or name in self._block.ports:
            raise ValueError(f"{self._block.id}: buffer name must be new, got {name!r}")
        self._buffers[name] = InternalBuffer(name, dtype, shape, state)
        return BufferHandle(name)

    def provide(self, port: BufferHandle, array: np.ndarray[Any, Any]) -> None:
        """Give an output's contents, and with them its shape: the array is uploaded once, before the first launch."""
        self._contents[port.name] = np.asarray(array, order="C")

    def show(self, pixels: BufferHandle) -> None:
        """Show a 2-D buffer of `uchar4` in this block's viewer."""
        self._displays.append(Display(pixels.name))

    def save(self, buffer: BufferHandle, path: str) -> None:
        """Save a buffer to `path` when outputs are saved: a 2-D `uchar4` buffer as an image, anything else as .npy."""
        self._displays.append(Display(buffer.name, path))

    def commit(self) -> BlockDescription:
        """Return the finished description."""
        block = self._block
        folder = block.source_folder()
        return BlockDescription(
            ports=tuple(block.ports.values()),
            entries=tuple(self._entries),
            buffers=tuple(self._buffers.values()),
            displays=tuple(self._displays),
            structural=tuple(
                (name, block.values[name])
                for name, spec in block.parameters.items()
                if spec.structural and spec.type == "int"
            ),
            contents=self._contents,
            kernel_folders=(str(folder),) if folder else (),
        )

    def _argument(self, value: object) -> Argument:
        match value:
            case BufferHandle():
                spec = self._block.ports.get(value.name)
                if spec is None:
                    # Which launch first fills an internal buffer only the kernels know: order all of them.
                    return self._access(value, reads=True, writes=True)
                return self._access(value, reads=spec.is_input, writes=not spec.is_input)
            case ParameterHandle(name=name):
                return ParameterArgument(name)
            case Extent():
                return ExtentArgument(value)
            case FrameArgument():
                return value
            case bool() | int() | float() | np.number():
                return ValueArgument(value.item() if isinstance(value, np.number) else value)
        raise TypeError(
            f"{self._block.id}: argument must be a port, buffer, parameter, extent or number, got {value!r}"
        )

    def _access(self, handle: BufferHandle, *, reads: bool, writes: bool) -> BufferArgument:
        spec = self._block.ports.get(handle.name)
        if spec is not None and not spec.is_input and (spec.inplace or spec.state):
            reads = True  # what was there before matters
        if spec is not None and spec.is_input and any(p.inplace == handle.name for p in self._block.outputs()):
            writes = True
        return BufferArgument(handle.name, reads, writes)


def describe(block: Block) -> BlockDescription:
    """Return what `block` asks for; whatever its `describe` raises goes to the caller."""
    build = BlockBuilder(block)
    block.describe(build)
    return build.commit()
