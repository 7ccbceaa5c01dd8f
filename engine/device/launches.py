"""Launches that a device shapes to suit a kernel, since its threads don't know of each other."""

from functools import lru_cache

from engine.device.occupancy import KernelResources, MultiprocessorLimits, occupancy
from engine.device.protocol import LaunchConfig

#: Limits of CUDA's grid in x, y and z, counted in thread blocks.
GRID_LIMITS = (2**31 - 1, 65535, 65535)
#: The fewest threads of a thread block that is chosen by what runs at once.
LEAST_THREADS = 64


@lru_cache(maxsize=4096)
def free_launch(
    config: LaunchConfig, elements: int, resources: KernelResources, limits: MultiprocessorLimits
) -> LaunchConfig:
    """Return a launch over the same elements, of which each thread computes so many along x.

    Thread blocks become those of which most threads run at once, and the largest of such.
    """
    sizes = [config.thread_block]
    x, y, z = config.thread_block
    while x * y * z > LEAST_THREADS and (x % 2 == 0 or y % 2 == 0):
        x, y = (x, y // 2) if y % 2 == 0 else (x // 2, y)
        sizes.append((x, y, z))
    sizes.sort(key=lambda size: -occupancy(resources, limits, size, config.shared_bytes).active_threads)
    counts = [n * size for n, size in zip(config.grid, config.thread_block, strict=True)]
    grids = ((-(-counts[0] // (x * elements)), -(-counts[1] // y), -(-counts[2] // z)) for x, y, z in sizes)
    launches = (LaunchConfig(grid, size, config.shared_bytes) for grid, size in zip(grids, sizes, strict=True))
    return next(it for it in launches if all(n <= most for n, most in zip(it.grid, GRID_LIMITS, strict=True)))
