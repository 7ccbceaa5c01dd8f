"""The kernel that scales pictures down on the device, loaded beside the engine's thread."""

from __future__ import annotations

from concurrent.futures import Executor, Future

from engine.device.device import Device
from engine.device.protocol import LoadedKernel, Memory, MemoryPart, Module, Stream
from engine.diagnostics import Diagnostic, WarploomError, error
from engine.kernel_sources.loader import find_kernel, load_image

_FILE, _ENTRY = "snapshot.cu", "reduce_picture"
_THREAD_BLOCK = (32, 8)
#: The most thread blocks on a grid's second axis; the kernel loops over further rows.
_MOST_ROWS = (1 << 16) - 1


class Downscaler:
    """Loads the kernel on first use; until then, and when that fails, `kernel` is None."""

    def __init__(self, device: Device, beside: Executor) -> None:
        self._device, self._beside = device, beside
        self._loading: Future[None] | None = None
        self._module: Module | None = None
        self.kernel: LoadedKernel | None = None
        #: Why there is no kernel; cleared by whoever reports it.
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

    def close(self) -> None:
        """Unload the kernel; loading must be over."""
        if self._module is not None:
            self._module.unload()

    def _load(self) -> None:
        self._device.activate()
        architecture = self._device.info.architecture
        try:
            self._module = self._device.load_module(load_image(find_kernel(_FILE), architecture).payload(architecture))
            self.kernel = self._module.kernel(_ENTRY)
        except WarploomError as problem:
            self.problem = error(
                f"viewers must make pictures small with {_FILE}, got: {problem}",
                file=getattr(problem, "file", None),
                line=getattr(problem, "line", None),
                remedy="mend the kernel and start the engine again; until then whole pictures are read back",
            )
