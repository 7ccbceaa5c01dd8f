"""CUDA's limits for launches, which both devices enforce, and launches whose shape a device chooses."""

import math
from functools import lru_cache

from warploom.engine.device.occupancy import KernelResources, MultiprocessorLimits, occupancy
from warploom.engine.device.protocol import Dim3, LaunchConfig
from warploom.engine.diagnostics import DeviceError

#: Limits along x, y and z: of a grid in thread blocks, and of a thread block in threads.
#: (CUDA C++ Programming Guide, technical specifications for compute capability 7.5 and later.)
GRID_LIMITS = (2**31 - 1, 65535, 65535)
THREAD_BLOCK_LIMITS = (1024, 1024, 64)
#: The fewest threads of a thread block that is chosen by occupancy.
LEAST_THREADS = 64


def check_shape(name: str, config: LaunchConfig, max_threads: int) -> None:
    """Raise DeviceError unless a kernel with at most `max_threads` per thread block can be launched like this.

    Whether its shared memory fits depends on the device: see `shared_memory_error`.
    """
    _check_extents(f"grid of kernel {name}", config.grid, GRID_LIMITS)
    _check_extents(f"thread block of kernel {name}", config.thread_block, THREAD_BLOCK_LIMITS)
    x, y, z = config.thread_block
    if x * y * z > max_threads:
        raise DeviceError(
            f"thread block of kernel {name} must have at most {max_threads} threads, "
            f"got {x * y * z} in {config.thread_block}"
        )
    if config.shared_bytes < 0:
        raise DeviceError(f"shared_bytes of kernel {name} must be at least 0, got {config.shared_bytes}")


def check_waiting(name: str, config: LaunchConfig, most: int) -> None:
    """Raise DeviceError unless all thread blocks of a launch, which wait for each other, are among `most` at once."""
    blocks = math.prod(config.grid)
    if blocks > most:
        raise DeviceError(
            f"grid of kernel {name} must have at most {most} thread blocks, since they wait for each other, got "
            f"{blocks}; launch fewer threads, and let each compute several elements"
        )


def shared_memory_error(name: str, static_bytes: int, shared_bytes: int) -> DeviceError:
    """Return the error for a kernel whose static and dynamic shared memory exceed a multiprocessor's."""
    return DeviceError(
        f"dynamic shared memory of kernel {name} must fit in a multiprocessor beside its {static_bytes} static bytes, "
        f"got {shared_bytes} bytes"
    )


def _check_extents(what: str, extents: Dim3, limits: Dim3) -> None:
    if not all(1 <= extent <= limit for extent, limit in zip(extents, limits, strict=True)):
        raise DeviceError(f"{what} must be from (1, 1, 1) to {limits}, got {extents}")


@lru_cache(maxsize=4096)
def free_launch(
    config: LaunchConfig, elements: int, resources: KernelResources, limits: MultiprocessorLimits
) -> LaunchConfig:
    """Return a launch over the same elements in which each thread computes several along x.

    The thread block is the largest of those for which the most threads run at once.
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
