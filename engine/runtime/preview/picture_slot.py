"""Picture slots: a viewer's picture in the graph's memory, and the memory in which it waits for its reader."""

import math
import time
from collections.abc import Callable
from concurrent.futures import Executor, Future
from dataclasses import dataclass
from typing import Any

import numpy as np

from warploom.engine.compiler.executable.compiled_graph import CompiledGraph
from warploom.engine.compiler.inlining.inline import owner
from warploom.engine.compiler.plan import Plan
from warploom.engine.device.device import Device
from warploom.engine.device.protocol import LoadedKernel, Memory, MemoryPart, Module, PinnedArray, Stream, part_of
from warploom.engine.diagnostics import DeviceError, Diagnostic, Source, WarploomError, warning
from warploom.engine.kernel_sources.loader import find_kernel, load_image
from warploom.engine.patch.changes import PortRef
from warploom.engine.protocol.messages import Preview, Probed
from warploom.engine.runtime.memory.buffer_pool import BufferPool, exact_bytes
from warploom.engine.types import DType, f32, u8, uchar4
from warploom.engine.types.layout import Layout

PIXEL_BYTES = 4
#: How long closing waits for a reader that is copying a picture.
_PATIENCE_S = 1.0


class PictureSlot:
    """A pinned array for one picture, and device memory where needed; both are reused for the next pictures.

    The engine fills a free slot and offers it to a reader, which copies the picture and frees the slot.
    """

    def __init__(self, device: Device, pool: BufferPool) -> None:
        self._device, self._pool = device, pool
        self._pinned: PinnedArray | None = None
        self._memory: Memory | None = None
        #: Cleared by the engine before it fills the slot, set by the reader that has copied the picture.
        self.is_free = True
        #: The size for which there was no memory, and why.
        self.refused: tuple[int, str] = (0, "")

    @property
    def memory(self) -> Memory:
        """Device memory of at least the reserved size."""
        assert self._memory is not None
        return self._memory

    @property
    def pinned(self) -> PinnedArray:
        """The pinned array, of at least the reserved size."""
        assert self._pinned is not None
        return self._pinned

    def fits(self, size_bytes: int, *, on_device: bool) -> bool:
        """True when there is room for a picture of this size, with `on_device` in device memory too."""
        if self._pinned is None or self._pinned.array.nbytes < size_bytes:
            return False
        return not on_device or (self._memory is not None and self._memory.size_bytes >= size_bytes)

    def make_room(self, size_bytes: int, *, on_device: bool, beside: Executor, wait: bool) -> bool | None:
        """Return whether a free slot has room for a picture of this size; None while a thread reserves memory for it.

        With `wait`, the memory is waited for. If there is none, `refused` has the reason.
        """
        if self.fits(size_bytes, on_device=on_device):
            return True
        if self.refused[0] == size_bytes:
            return False
        self.is_free = False
        reserving = beside.submit(self.reserve, size_bytes, on_device=on_device)
        if not wait:
            return None
        reserving.result()
        return self.fits(size_bytes, on_device=on_device)

    def reserve(self, size_bytes: int, *, on_device: bool) -> None:
        """Make room for a picture, on any thread while the slot is not in use; then the slot is free.

        Locking the pages of a large picture takes some ms. Without memory, `refused` has the reason.
        """
        try:
            self._device.activate()
            if self._pinned is None or self._pinned.array.nbytes < size_bytes:
                pinned, self._pinned = self._pinned, None
                if pinned is not None:
                    pinned.free()
                self._pinned = self._device.pinned(np.zeros(exact_bytes(size_bytes), np.uint8))
            if on_device and (self._memory is None or self._memory.size_bytes < size_bytes):
                memory, self._memory = self._memory, None
                if memory is not None:
                    self._pool.release(memory)
                self._memory = self._pool.acquire(size_bytes, exact=True)
        except (DeviceError, MemoryError) as problem:
            self.refused = size_bytes, str(problem)
        finally:
            self.is_free = True

    def take(
        self,
        node: str,
        frame: int,
        size: tuple[int, int],
        whole: tuple[int, int],
        probe: tuple[int, int] | None,
        copy: Callable[[Any], Any],
    ) -> Preview:
        """Return the picture, which `copy` copies, and free the slot; called once, by the reader's thread.

        Sizes are (width, height); the pixel at `probe` follows the picture.
        """
        try:
            (width, height), array = size, self.pinned.array
            count = PIXEL_BYTES * width * height
            pixels = copy(array[:count].reshape(height, width, PIXEL_BYTES))
            probed = None
            if probe is not None:
                red, green, blue, alpha = array[count : count + PIXEL_BYTES].tolist()
                probed = Probed(*probe, (red, green, blue, alpha))
            return Preview(node, frame, pixels, (whole[1], whole[0]), probed)
        finally:
            self.is_free = True

    def close(self) -> None:
        """Free all resources, after a reader that is copying; the device must be done with the slot."""
        deadline = time.monotonic() + _PATIENCE_S
        while not self.is_free and time.monotonic() < deadline:
            time.sleep(0.001)
        pinned, memory, self._pinned, self._memory = self._pinned, self._memory, None, None
        if memory is not None:
            self._pool.release(memory)
        if pinned is not None:
            pinned.free()


def next_due_ns(due_ns: int, now_ns: int, rate: float | None) -> int:
    """Return when the picture after the present one is due; the present one was due at `due_ns`.

    A late picture doesn't delay the next one, so the mean rate holds. At most one missed picture is made up for.
    """
    if rate is None:
        return 0
    interval_ns = round(min(1e9 / rate, 3.6e12))  # an hour at most, since clocks can't wait for arbitrarily long times
    return max(due_ns + interval_ns, now_ns)


@dataclass(frozen=True)
class PictureSource:
    """A viewer's picture in the graph's memory: its buffer's owner, offset and extent in bytes, size and strides."""

    owner: PortRef
    offset: int
    span_bytes: int
    size: tuple[int, int]  # width and height
    strides: tuple[int, int]  # elements from row to row and from column to column

    @property
    def is_dense(self) -> bool:
        """True when pixels follow each other without gaps."""
        return self.strides == (self.size[0], 1)

    def memory(self, compiled: CompiledGraph) -> MemoryPart:
        """Return the memory that held the picture in the last launch."""
        return part_of(compiled.memory[self.owner], self.offset, self.span_bytes)


def picture_sources(plan: Plan) -> tuple[dict[str, PictureSource], list[Diagnostic]]:
    """Return the picture of each viewer by its node of the patch, and a diagnostic for each that can't be shown.

    A composite shows the picture of the first viewer inside it. Pictures without pixels are left out.
    """
    found: dict[str, PictureSource] = {}
    problems = []
    shown = [(block.id, display) for block in plan.description.nodes for display in block.description.displays]
    for node, display in sorted(shown, key=lambda item: item[0]):
        if display.path is not None or owner(node) in found:
            continue
        port = plan.inlined.output(PortRef(node, display.buffer))
        layout, place = plan.layouts[port], plan.buffers.places[port]
        if layout.dtype != uchar4 or len(layout.shape) != 2:
            text = f"shown buffer must be 2-D uchar4, got {layout.dtype} of shape {list(layout.shape)}"
            problems.append(warning(text, node=owner(node)))
            continue
        height, width = layout.shape
        row, column = layout.strides or (width, 1)
        if width and height:
            found[owner(node)] = PictureSource(
                place.owner, place.offset, layout.span_bytes, (width, height), (row, column)
            )
    return found, problems


_FILE, _ENTRY = "snapshot.cu", "reduce_picture"
#: The kernels that reduce buffers for thumbnails, by the type of numbers.
_CELL_ENTRIES = {f32: "reduce_floats", u8: "reduce_bytes"}
_THREAD_BLOCK = (32, 8)
#: The most thread blocks on a grid's second axis; the kernel loops over further rows.
_MOST_ROWS = (1 << 16) - 1


class Downscaler:
    """Scales pictures down on the device.

    Its kernel is loaded on first use, beside the engine's thread; until then, and when that fails, `kernel` is None.
    """

    def __init__(self, device: Device, beside: Executor) -> None:
        self._device, self._beside = device, beside
        self._loading: Future[None] | None = None
        self._module: Module | None = None
        self.kernel: LoadedKernel | None = None
        self._cell_kernels: dict[DType, LoadedKernel] = {}
        #: The reason why there is no kernel; cleared when it is reported.
        self.problem: Diagnostic | None = None

    def load(self, *, wait: bool) -> bool:
        """Begin to load the kernel, if that hasn't begun; return whether loading is over."""
        if self.kernel is not None:
            return True
        if self._loading is None:
            self._loading = self._beside.submit(self._load)
        if wait:
            self._loading.result()
        return self._loading.done()

    def reduce(
        self,
        stream: Stream,
        picture: MemoryPart,
        whole: tuple[int, int],
        strides: tuple[int, int],
        small: Memory,
        size: tuple[int, int],
        probe: tuple[int, int],
    ) -> None:
        """Write a picture, scaled down to `size`, followed by the pixel at `probe`.

        Sizes are (width, height) and `probe` is (x, y); `strides` are the elements from row to row and from column to
        column. Each axis has at most 2^29 pixels.
        """
        assert self.kernel is not None
        (width, height), (row, column) = size, strides
        grid = (-(-width // _THREAD_BLOCK[0]), min(-(-height // _THREAD_BLOCK[1]), _MOST_ROWS))
        at = probe[1] * row + probe[0] * column
        arguments = (picture, small, *whole, row, column, width, height, at)
        self._device.launch(self.kernel, grid, _THREAD_BLOCK, arguments, stream=stream)

    def can_reduce(self, dtype: DType) -> bool:
        """Return whether `reduce_cells` can take elements of a type now; begin to load the kernels."""
        return self.load(wait=False) and (dtype.of or dtype) in self._cell_kernels

    def reduce_cells(self, stream: Stream, buffer: MemoryPart, layout: Layout, small: Memory, cells: Layout) -> None:
        """Write the means that `make_sample` takes of the first row of each cell, for a dense buffer of two axes."""
        dtype, (rows, columns) = layout.dtype, cells.shape
        components = math.prod(dtype.numpy.shape)
        grid = (-(-columns * components // _THREAD_BLOCK[0]), min(-(-rows // _THREAD_BLOCK[1]), _MOST_ROWS))
        arguments = (buffer, small, *layout.shape, components, rows, columns)
        self._device.launch(self._cell_kernels[dtype.of or dtype], grid, _THREAD_BLOCK, arguments, stream=stream)

    def close(self) -> None:
        """Unload the kernel; loading must be over."""
        if self._module is not None:
            self._module.unload()

    def _load(self) -> None:
        self._device.activate()
        architecture = self._device.info.architecture
        try:
            self._module = self._device.load_module(load_image(find_kernel(_FILE), architecture).payload(architecture))
            self._cell_kernels = {dtype: self._module.kernel(entry) for dtype, entry in _CELL_ENTRIES.items()}
            self.kernel = self._module.kernel(_ENTRY)
        except WarploomError as problem:
            self.problem = warning(
                f"{_FILE}, which scales pictures down for viewers, must load, got: {problem}",
                file=getattr(problem, "file", None),
                line=getattr(problem, "line", None),
                remedy="correct the kernel and start the engine again; until then whole pictures are read back",
                source=Source.KERNEL_LOAD,
            )
