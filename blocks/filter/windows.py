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
#: As in the kernels: the threads of a thread block, the rows that it filters together, and the largest radius that it
#: combines in one pass.
THREADS, BATCH, ONE_PASS = 256, 16, 24
#: An H200's multiprocessors, and the shared memory of each. The most thread blocks that filter strips are two for each
#: multiprocessor, which holds no more of them.
MULTIPROCESSORS, SHARED_BYTES = 132, 227 << 10
BLOCKS = 2 * MULTIPROCESSORS
#: For shapes other than a square: the pixels of a column that a thread of `kernels/shapes.cu` computes. For a GPU and a
#: radius up to ONE_PASS, as in `kernels/spread.cu`: the columns that a warp loads, the threads of a thread block, and
#: the rows that it completes together.
RUN, SPAN, SPREADING, ROWS = 8, 128, 128, 8
#: Up to this radius, windows have kernels of their own, `kernels/small_windows.cu`: the rows of their tiles, and the
#: columns of the narrowest one, a multiple of the pixels that a thread computes.
SMALL, HIGH, WIDE = 8, 8, 240
#: As in `kernels/march_pixels.cuh`: the pixels of a strip's row, the rows that are filtered together, and the threads.
STRIP_WIDE, STRIP_HIGH, MARCHING = 64, 16, 128
#: The bytes of shared memory of `kernels/march.cuh`: a batch of rows, and those that are kept.
STRIP_BYTES = 4 * (BATCH * (THREADS + 2 * ONE_PASS * CHANNELS + CHANNELS) + 5 * BATCH * (THREADS + CHANNELS))


def strips(width: Any) -> tuple[Any, Any]:
    """Return the number of threads for strips of an image of up to four channels, which thread blocks share."""
    across = -(-(width * CHANNELS) // THREADS)
    return across * THREADS, BLOCKS // across + across // (BLOCKS + 1)  # the second is 1 if the first is 0


def march(width: Any, most: int) -> dict[str, Any]:
    """Return how a kernel that marches down strips of pixels is launched, for radii up to `most`.

    Thread blocks share the image: as many as an H200 runs at once, since their registers allow three a multiprocessor.
    """
    shared_bytes = 16 * (STRIP_HIGH * (STRIP_WIDE + 2 * most + 1) + (2 * most + STRIP_HIGH) * (STRIP_WIDE + 1))
    blocks, across = MULTIPROCESSORS * min(3, SHARED_BYTES // shared_bytes), -(-width // STRIP_WIDE)
    return {
        "num_threads": (across * MARCHING, blocks // across + across // (blocks + 1)),
        "thread_block": (MARCHING, 1),
        "shared_bytes": shared_bytes,
    }


def spread(width: Any, radius: int) -> dict[str, Any]:
    """Return how the kernel for shapes on a GPU is launched: thread blocks share the image, as many as run at once."""
    shared_bytes = 4 * CHANNELS * SPAN * (2 * radius + 2 * ROWS)
    blocks = MULTIPROCESSORS * (3 if radius <= 5 else min(2, SHARED_BYTES // shared_bytes))
    across = -(-width // (SPAN - 2 * radius))
    return {
        "num_threads": (across * SPREADING, blocks // across + across // (blocks + 1)),
        "thread_block": (SPREADING, 1),
        "shared_bytes": shared_bytes,
    }


def require_near(build: BlockBuilder, image: BufferHandle) -> None:
    """Require that a kernel can count the pixels from the first to the last one with 32 bits."""
    last = (image.dim(0) - 1) * image.stride(0) + (image.dim(1) - 1) * image.stride(1)
    for most in (image.size, last):
        build.require((1 << 31) - 1 - most, "image must span fewer than 2^31 pixels: filter parts of it", port=image)


def run(radius: int) -> int:
    """Return how many windows next to each other a thread combines."""
    return 16 if radius >= 8 else 8 if radius >= 4 else 4 if radius >= 2 else 2


class Launch(NamedTuple):
    """An entry point of a kernel, and how it is launched; `args` follow those that all of them have."""

    entry: str
    threads: tuple[Any, Any]
    args: tuple[Any, ...]
    shared_bytes: int = 0
    thread_block: tuple[int, int] = (THREADS, 1)


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
            return Kernel(CudaFile("shapes.cu", CudaOptions(defines=defines)), entry=entry)
        defines["ENTRY"] = ENTRIES.index(entry)
        if entry == "combine_windows":
            defines |= {"ACROSS": run(self.x), "DOWN": run(self.y)}
        return Kernel(CudaFile("windows.cu", CudaOptions(defines=defines)), entry=entry)

    def passes(self) -> list["Window"]:
        """Return windows that have the same result one after the other, and take the least time."""
        if self.shape != "square" or max(self.x, self.y) <= ONE_PASS or min(self.x, self.y) == 0:
            return [self]
        return [self._replace(y=0), self._replace(x=0)]

    def launch(self, width: Any, height: Any, wide: tuple[bool, bool]) -> Launch:
        """Return the launch for an image of a size. Its numbers, or those of the result, may be wide."""
        if self.shape != "square":
            rows = (height + (RUN - 1)) // RUN
            return Launch("combine_shapes", (width, rows), (SHAPES.index(self.shape), self.x), 0, (32, 4))
        if max(self.x, self.y) <= SMALL:
            return Launch("combine_small", (-(-width // WIDE) * THREADS, -(-height // HIGH)), ())
        if max(self.x, self.y) <= ONE_PASS:
            return Launch("combine_windows", strips(width), (self.x, self.y), STRIP_BYTES)
        if self.y > 0:
            segment = 256 + self.y
            kept = 4 * THREADS * ((2 * self.y + 1) // BATCH)
            columns = -(-(width * CHANNELS) // THREADS) * THREADS, -(-height // segment)
            return Launch("combine_columns", columns, (self.y, *wide, segment), kept)
        group, numbers = BATCH * CHANNELS, THREADS * BATCH + 2 * self.x * CHANNELS
        threads = -(-(width * CHANNELS) // (THREADS * BATCH)) * THREADS, height
        return Launch("combine_rows", threads, (self.x, *wide), 4 * (group + 2 * CHANNELS) * -(-numbers // group))


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
        launch, args = window.launch(*size, wide), (source, target, build.element_type(image), *size, *strides)
        build.launch(
            window.kernel(launch.entry),
            num_threads=launch.threads,
            args=(*args, *launch.args),
            thread_block=launch.thread_block,
            shared_bytes=launch.shared_bytes,
        )
        most = max(window.x, window.y)
        if launch.entry == "combine_small" and most > 1:  # one of both is idle
            build.launch(window.kernel("combine_strips"), args=args, **march(size[0], most))
        if launch.entry == "combine_shapes" and most <= ONE_PASS:
            build.launch(window.kernel("spread_shapes"), args=args, **spread(size[0], most))
        source, strides = target, (size[0], 1)
