"""Means, smallest and largest values of windows around each pixel."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from warploom.api import BlockBuilder, BufferHandle, CudaFile, CudaOptions, Kernel, float4

#: What a kernel takes of each window, in the order of their numbers in `kernels/windows.cu`.
MEAN, SMALLEST, LARGEST = range(3)
#: Shapes of windows, in the order of their numbers in `kernels/windows.cu`.
SHAPES = ("square", "disc", "diamond", "cross")
#: As in the kernels: the threads of a thread block, the rows that it filters together and, for shapes other than a
#: square, the pixels of a column that a thread computes.
THREADS, BATCH, RUN = 256, 16, 8
CHANNELS = 4
#: The largest radius for which rows and columns are filtered in one pass.
ONE_PASS = 24
#: The bytes of shared memory for that: a batch of rows, and those that are kept.
STRIP_BYTES = 4 * (BATCH * (THREADS + 2 * ONE_PASS * CHANNELS + CHANNELS) + 5 * BATCH * (THREADS + CHANNELS))


def strips(width: Any, height: Any, segment: int) -> tuple[Any, Any]:
    """Return the number of threads for an image of up to four channels, whose thread blocks have a segment of rows."""
    return -(-(width * CHANNELS) // THREADS) * THREADS, -(-height // segment)


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
        if self.shape != "square" or max(self.x, self.y) <= ONE_PASS or min(self.x, self.y) == 0:
            return [self]
        return [self._replace(y=0), self._replace(x=0)]

    def launch(
        self, build: BlockBuilder, common: Sequence[Any], wide: tuple[bool, bool], size: tuple[Any, Any]
    ) -> None:
        """Launch a kernel for an image of a width and a height. Its numbers, or those of the result, may be wide."""
        width, height = size
        if self.shape != "square":
            build.launch(
                self.kernel("combine_shapes"),
                num_threads=(width, (height + (RUN - 1)) // RUN),
                args=(*common, SHAPES.index(self.shape), self.x),
                thread_block=(32, 4),
            )
            return
        threads, shared_bytes = (
            strips(width, height, segment := 128 + self.y),
            4 * THREADS * ((2 * self.y + 1) // BATCH),
        )
        entry, args = "combine_columns", (*common, self.y, *wide, segment)
        if max(self.x, self.y) <= ONE_PASS:
            threads, shared_bytes = strips(width, height, segment := 64 + 10 * self.y), STRIP_BYTES
            entry, args = "combine_windows", (*common, self.x, self.y, segment)
        elif self.y == 0:
            group, numbers = BATCH * CHANNELS, (THREADS * BATCH + 2 * self.x * CHANNELS)
            groups = -(-numbers // group)
            threads = -(-(width * CHANNELS) // (THREADS * BATCH)) * THREADS, height
            shared_bytes = 4 * groups * (group + 2 * CHANNELS)
            entry, args = "combine_rows", (*common, self.x, *wide)
        build.launch(
            self.kernel(entry), num_threads=threads, args=args, thread_block=(THREADS, 1), shared_bytes=shared_bytes
        )


def describe_windows(build: BlockBuilder, image: BufferHandle, out: BufferHandle, steps: Sequence[Window]) -> None:
    """Take a number of the window around each pixel, in one or more steps."""
    passes = [each for step in steps for each in step.passes()]
    between = [build.buffer(f"between{i}", float4, f"same({image.name})") for i in range(min(2, len(passes) - 1))]
    size, source = (image.dim(1), image.dim(0)), image
    strides: tuple[object, object] = (image.stride(0), image.stride(1))
    for number, window in enumerate(passes, 1):
        target = out if number == len(passes) else between[number % len(between)]
        # Sums are not rounded between passes.
        wide = (window.take == MEAN and source is not image, window.take == MEAN and target is not out)
        window.launch(build, (source, target, build.element_type(image), *size, *strides), wide, size)
        source, strides = target, (size[0], 1)
