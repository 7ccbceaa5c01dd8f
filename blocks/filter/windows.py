"""Means, smallest and largest values of windows around each pixel."""

from collections.abc import Sequence

from engine.api import BlockBuilder, BufferHandle, CudaFile, CudaOptions, Kernel, float4

#: What a kernel takes of each window, in the order of their numbers in `kernels/windows.cu`.
MEAN, SMALLEST, LARGEST = (
    Kernel(CudaFile("windows.cu", CudaOptions(defines={"TAKE": take})), entry="combine_windows") for take in range(3)
)
THREADS, CHANNELS = (128, 4), 4
#: The bytes of a tile, of which two fit a multiprocessor of a GPU.
TILE_BYTES = 110 * 1024
#: With a larger radius, a pass along each axis takes less time than to read the pixels around each tile.
ONE_PASS = 24


def describe_windows(
    build: BlockBuilder, image: BufferHandle, out: BufferHandle, steps: Sequence[tuple[Kernel, int, int]]
) -> None:
    """Take a number of the window around each pixel, in one or more steps.

    Each step has a kernel, and the radii of the window along x and y.
    """
    passes: list[tuple[Kernel, int, int]] = []
    for kernel, x, y in steps:
        passes += [(kernel, x, y)] if min(x, y) == 0 or max(x, y) <= ONE_PASS else [(kernel, 0, y), (kernel, x, 0)]
    between = [build.buffer(f"between{i}", float4, f"same({image.name})") for i in range(min(2, len(passes) - 1))]
    width, height = image.dim(1), image.dim(0)
    source = image
    source = image
    strides: tuple[object, object] = (image.stride(0), image.stride(1))
    for number, (kernel, x, y) in enumerate(passes, 1):
        tile_x = 256 if x <= ONE_PASS else 1024
        row_bytes = 4 * (-(-(tile_x + 2 * CHANNELS * x) // 32) * 32 + CHANNELS)
        tile_y = max(1, TILE_BYTES // row_bytes)
        tiles = (width * CHANNELS + (tile_x - 1)) // tile_x, (height + (tile_y - 1)) // tile_y
        target = out if number == len(passes) else between[number % len(between)]
        args = (source, target, build.element_type(image), width, height, *strides, x, y, tile_x, tile_y)
        size = (tiles[0] * THREADS[0], tiles[1] * THREADS[1])
        build.launch(kernel, num_threads=size, args=args, thread_block=THREADS, shared_bytes=row_bytes * tile_y)
        source, strides = target, (width, 1)
