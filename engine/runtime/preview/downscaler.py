"""`Downscaler`: makes pictures and other buffers smaller on the device, so that fewer bytes are transferred."""

import math
from concurrent.futures import Executor, Future

from warploom.engine.device.device import Device
from warploom.engine.device.protocol import LoadedKernel, Memory, MemoryPart, Module, Stream
from warploom.engine.diagnostics import Diagnostic, Source, WarploomError, warning
from warploom.engine.kernel_sources.loader import find_kernel, load_image
from warploom.engine.types import DType, f32, u8
from warploom.engine.types.layout import Layout

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
