"""Means, smallest and largest values of windows around each pixel."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from warploom.api import BlockBuilder, BufferHandle, CudaFile, CudaOptions, Kernel, float4

#: What a kernel takes of each window, in the order of their numbers in `kernels/windows.cu`.
MEAN, SMALLEST, LARGEST = range(3)
#: Shapes of windows, in the order of their numbers in `kernels/shapes.cu`.
SHAPES = ("square", "disc", "diamond", "cross")
#: The entry points of `kernels/windows.cu`, in the order of their numbers there.
ENTRIES = ("combine_windows", "combine_rows", "combine_columns")
CHANNELS = 4
#: An H200's multiprocessors, and the shared memory of each, of which a thread block takes some more than it asks for.
MULTIPROCESSORS, SHARED_BYTES, EXTRA_BYTES = 132, 228 << 10, 1 << 10
#: As in `kernels/march.cuh`: the threads of a thread block, the rows that it filters together, and the largest radius
#: of a square that is combined in one pass. So GPUs of compute capability 8.6 have enough shared memory.
THREADS, BATCH, ONE_PASS = 192, 16, 24
#: The bytes of shared memory of `kernels/march.cuh`: a batch of rows, and those that are kept.
STRIP_BYTES = 4 * (BATCH * (THREADS + 2 * ONE_PASS * CHANNELS + CHANNELS) + 5 * BATCH * (THREADS + CHANNELS))
#: As in `kernels/squares.cu` and `kernels/march_pixels.cuh`, for a GPU: the threads of a thread block, and the
#: pixels of a strip's row.
MARCHING, STRIP = 128, 64
#: For shapes other than a square: the pixels of a column that a thread of `kernels/shapes.cu` computes. As in
#: `kernels/spread.cu`, for a GPU: the largest radius, the columns that a warp loads, the threads of a thread block, and
#: the rows that it completes together.
RUN, SPREAD, SPAN, SPREADING, ROWS = 8, 16, 128, 128, 8
#: Up to that radius, `kernels/shapes.cu` is for a CPU: the threads of a thread block, which are the numbers of its rows
#: with those beside them, and its rows.
NUMBERS, TALL = 1024, 32
#: Up to this radius, windows have kernels of their own, `kernels/small_windows.cu`: the threads of a thread block, the
#: rows of its tile, and the columns of the narrowest one, a multiple of the pixels that a thread computes.
SMALL, SMALL_THREADS, HIGH, WIDE = 8, 256, 8, 240


def share(strips: Any, threads: int, shared_bytes: int, resident: int, least: int = 1) -> dict[str, Any]:
    """Return a launch whose thread blocks share the strips of an image: as many as an H200 runs at once.

    A multiprocessor has the registers for `resident` of them. Each strip has at least `least` thread blocks.
    """
    blocks = MULTIPROCESSORS * min(resident, SHARED_BYTES // (shared_bytes + EXTRA_BYTES))
    parts = blocks // strips + least * (strips // (blocks // least + 1))  # the second is 0 if the first is enough
    return {"num_threads": (strips * threads, parts), "shared_bytes": shared_bytes, "thread_block": (threads, 1)}


def march(width: Any, most: int) -> dict[str, Any]:
    """Return how a kernel with `kernels/march_pixels.cuh` is launched, for radii up to `most`."""
    rows = BATCH * (STRIP + 2 * most + 1) + (2 * most + BATCH) * (STRIP + 1)
    return share(-(-width // STRIP), MARCHING, 16 * rows, 3)


def spread(width: Any, radius: int) -> dict[str, Any]:
    """Return how `kernels/spread.cu` is launched."""
    shared_bytes = 4 * CHANNELS * SPAN * (2 * radius + 2 * ROWS)
    return share(-(-width // (SPAN - 2 * radius)), SPREADING, shared_bytes, 3 if radius <= 5 else 2)


def require_near(build: BlockBuilder, image: BufferHandle) -> None:
    """Require that a kernel can count the pixels from the first to the last one with 32 bits."""
    last = (image.dim(0) - 1) * image.stride(0) + (image.dim(1) - 1) * image.stride(1)
    for most in (image.size, last):
        build.require((1 << 31) - 1 - most, "image must span fewer than 2^31 pixels: filter parts of it", port=image)


def run(radius: int) -> int:
    """Return how many windows next to each other a thread combines."""
    return 16 if radius >= 8 else 8 if radius >= 4 else 4 if radius >= 2 else 2


class Launch(NamedTuple):
    """An entry point of a kernel, its arguments after those that all of them have, and how it is launched."""

    entry: str
    args: tuple[Any, ...]
    how: dict[str, Any]


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
        defines = {"TAKE": self.take}
        if entry in ("combine_small", "combine_strips"):
            defines |= {"RADIUS_X": self.x, "RADIUS_Y": self.y}
            return Kernel(CudaFile("small_windows.cu", CudaOptions(defines=defines)), entry=entry)
        if entry == "spread_shapes":
            defines |= {"SHAPE": SHAPES.index(self.shape), "RADIUS": self.x}
            return Kernel(CudaFile("spread.cu", CudaOptions(defines=defines)), entry=entry)
        if entry == "combine_shapes":
            if self.x <= SPREAD:
                defines |= {"SHAPE": SHAPES.index(self.shape), "RADIUS": self.x}
            return Kernel(CudaFile("shapes.cu", CudaOptions(defines=defines)), entry=entry)
        defines |= {"ACROSS": run(self.x), "DOWN": run(self.y)}
        if entry == "combine_squares":
            return Kernel(CudaFile("squares.cu", CudaOptions(defines=defines)), entry=entry)
        defines |= {"ENTRY": ENTRIES.index(entry)}
        return Kernel(CudaFile("windows.cu", CudaOptions(defines=defines)), entry=entry)

    def passes(self) -> list["Window"]:
        """Return windows that have the same result one after the other, and take the least time."""
        if self.shape != "square" or max(self.x, self.y) <= ONE_PASS or min(self.x, self.y) == 0:
            return [self]
        return [self._replace(y=0), self._replace(x=0)]

    def launches(self, width: Any, height: Any, wide: tuple[bool, bool]) -> list[Launch]:
        """Return the launches for an image of a size: all but one are idle.

        Numbers of the image or of the result may be wide: the kernels for large windows take these, and no others.
        """
        most = max(self.x, self.y)
        how: dict[str, Any] = {"thread_block": (THREADS, 1)}
        if self.shape != "square":
            args = SHAPES.index(self.shape), self.x
            if self.x > SPREAD:
                how = {"num_threads": (width, -(-height // RUN)), "thread_block": (32, 4)}
                return [Launch("combine_shapes", args, how)]
            strips = -(-(width * CHANNELS) // (NUMBERS - 2 * self.x * CHANNELS))
            how = {"num_threads": (strips * NUMBERS, -(-height // TALL)), "thread_block": (NUMBERS, 1)}
            return [Launch("combine_shapes", args, how), Launch("spread_shapes", (), spread(width, self.x))]
        if most <= SMALL and not any(wide):
            threads = -(-width // WIDE) * SMALL_THREADS, -(-height // HIGH)
            found = [Launch("combine_small", (), {"num_threads": threads, "thread_block": (SMALL_THREADS, 1)})]
            return [*found, Launch("combine_strips", (), march(width, most))] if most > 1 else found
        if most <= ONE_PASS and not any(wide):
            kept = 2 * self.y + (BATCH if self.y < BATCH // 2 else 0)
            shared_bytes = 16 * (BATCH * (STRIP + 2 * self.x + 1) + kept * (STRIP + 1))
            squares = share(-(-width // STRIP), MARCHING, shared_bytes, 3)
            # The strips of a field; those of an image with four channels, on a CPU, are four times as many.
            windows = share(-(-width // THREADS), THREADS, STRIP_BYTES, 2, least=CHANNELS)
            args = self.x, self.y
            return [Launch("combine_windows", args, windows), Launch("combine_squares", args, squares)]
        if self.y > 0:
            segment = 256 + self.y
            how["shared_bytes"] = 4 * THREADS * ((2 * self.y + 1) // BATCH)
            how["num_threads"] = -(-(width * CHANNELS) // THREADS) * THREADS, -(-height // segment)
            return [Launch("combine_columns", (self.y, *wide, segment), how)]
        group, numbers = BATCH * CHANNELS, THREADS * BATCH + 2 * self.x * CHANNELS
        how["shared_bytes"] = 4 * (group + 2 * CHANNELS) * -(-numbers // group)
        how["num_threads"] = -(-(width * CHANNELS) // (THREADS * BATCH)) * THREADS, height
        return [Launch("combine_rows", (self.x, *wide), how)]


def describe_windows(build: BlockBuilder, image: BufferHandle, out: BufferHandle, steps: Sequence[Window]) -> None:
    """Take a number of the window around each pixel, in one or more steps."""
    require_near(build, image)
    passes = [each for step in steps for each in step.passes()]
    between = [build.buffer(f"between{i}", float4, f"same({image.name})") for i in range(min(2, len(passes) - 1))]
    size, source = (image.dim(1), image.dim(0)), image
    strides: tuple[object, object] = (image.stride(0), image.stride(1))
    for number, window in enumerate(passes, 1):
        target = out if number == len(passes) else between[number % len(between)]
        # Sums are not rounded between passes.
        wide = window.take == MEAN and source is not image, window.take == MEAN and target is not out
        args = source, target, build.element_type(image), *size, *strides
        for launch in window.launches(*size, wide):
            build.launch(window.kernel(launch.entry), args=(*args, *launch.args), **launch.how)
        source, strides = target, (size[0], 1)
