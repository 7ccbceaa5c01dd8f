"""Means, smallest and largest values of windows around each pixel."""

from collections.abc import Sequence
from typing import NamedTuple

from engine.api import BlockBuilder, BufferHandle, CudaFile, CudaOptions, Kernel, float4

#: What a kernel takes of each window, in the order of their numbers in `kernels/windows.cu`.
MEAN, SMALLEST, LARGEST = range(3)
#: Shapes of windows, in the order of their numbers in `kernels/windows.cu`.
SHAPES = ("square", "disc", "diamond", "cross")
THREADS, CHANNELS = (128, 2), 4
#: The pixels of a column that a thread computes at once, for shapes other than a large square, and the most loads for a
#: small one.
RUN, DIRECT_LOADS = 4, 108
#: The bytes of a tile, of which four fit a multiprocessor of a GPU.
TILE_BYTES = 54 * 1024
#: With a larger radius, a pass along each axis takes less time than to read the pixels around each tile.
ONE_PASS = 24


class Window(NamedTuple):
    """What to take of the window around each pixel, which has a radius along x and y. Both are equal except in a
    "square".
    """

    take: int
    x: int
    y: int
    shape: str = "square"

    def kernel(self, entry: str) -> Kernel:
        """Return a kernel for what is taken."""
        return Kernel(CudaFile("windows.cu", CudaOptions(defines={"TAKE": self.take})), entry=entry)

    def passes(self) -> list["Window"]:
        """Return windows that have the same result one after the other, and take the least time."""
        is_split = self.is_large and min(self.x, self.y) > 0 and max(self.x, self.y) > ONE_PASS
        return [self._replace(x=0), self._replace(y=0)] if is_split else [self]

    @property
    def is_large(self) -> bool:
        """True for a square so large that it takes less time to combine its columns first, and then its rows."""
        return self.shape == "square" and (2 * self.x + 1) * (2 * self.y + RUN) > DIRECT_LOADS


def describe_windows(build: BlockBuilder, image: BufferHandle, out: BufferHandle, steps: Sequence[Window]) -> None:
    """Take a number of the window around each pixel, in one or more steps."""
    passes = [each for step in steps for each in step.passes()]
    between = [build.buffer(f"between{i}", float4, f"same({image.name})") for i in range(min(2, len(passes) - 1))]
    width, height = image.dim(1), image.dim(0)
    source, size = image, (width, height)
    strides: tuple[object, object] = (image.stride(0), image.stride(1))
    for number, window in enumerate(passes, 1):
        target = out if number == len(passes) else between[number % len(between)]
        args = (source, target, build.element_type(image), *size, *strides)
        if window.is_large:
            tile_x = 256 if window.x <= ONE_PASS else 1024
            row_bytes = 4 * (-(-(tile_x + 2 * CHANNELS * window.x) // 32) * 32 + CHANNELS)
            tile_y = max(1, TILE_BYTES // row_bytes)
            tiles = (width * CHANNELS + (tile_x - 1)) // tile_x, (height + (tile_y - 1)) // tile_y
            build.launch(
                window.kernel("combine_windows"),
                num_threads=(tiles[0] * THREADS[0], tiles[1] * THREADS[1]),
                args=(*args, window.x, window.y, tile_x, tile_y),
                thread_block=THREADS,
                shared_bytes=row_bytes * tile_y,
            )
        else:
            build.launch(
                window.kernel("combine_shapes"),
                num_threads=(width, (height + (RUN - 1)) // RUN),
                args=(*args, SHAPES.index(window.shape), window.x, window.y),
                thread_block=(32, 8),
            )
        source, strides = target, (width, 1)
