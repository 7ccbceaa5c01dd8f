"""Launch grids: the number of thread blocks that cover the threads that a block requests.

A launch that follows a count on the device gets, at build time, at most as many thread blocks as the device runs at
once. Its kernel loops over the grid, so that thread blocks beyond the count never start. If each thread compared its
index with the count instead, a launch would cost as much as its capacity. Grids set on the device
(`cudaGraphKernelNodeSetGridDim`) are not allowed in the bodies of conditional nodes, and don't exist on the host.
"""

from functools import lru_cache

from msgspec.structs import replace

from warploom.engine.descriptions.entries import KernelEntry
from warploom.engine.descriptions.shapes.extents import ShapeContext, ShapeRuleError
from warploom.engine.descriptions.shapes.rules import LaunchRule, launch_rule
from warploom.engine.device.device import DeviceInfo
from warploom.engine.device.launches import GRID_LIMITS, THREAD_BLOCK_LIMITS
from warploom.engine.device.occupancy import KernelResources, occupancy
from warploom.engine.device.protocol import LaunchConfig

#: The most threads in a thread block.
MAX_THREADS = 1024
#: Kernels count threads along an axis with 32 bits and a sign, so that a larger number would lead to other addresses.
MOST_THREADS = (1 << 31) - 1
#: Thread blocks for each core of a CPU: enough for cores that finish early to take over some.
BLOCKS_PER_CORE = 8


def covering_launch(entry: KernelEntry, context: ShapeContext) -> LaunchConfig:
    """Return the launch that covers `entry.num_threads`. Raise ShapeRuleError if it has no size or too many threads."""
    return evaluate_launch(launch_rule(entry), context)


def evaluate_launch(rule: LaunchRule, context: ShapeContext) -> LaunchConfig:
    """Return the launch that covers the threads of a parsed rule.

    Raise ShapeRuleError if its size is 0 or too large.
    """
    entry = rule.entry
    threads = tuple([size if isinstance(size, int) else size(context) for size in rule.threads])
    return _config(entry.kernel.entry, threads, entry.thread_block, entry.shared_bytes)


def counted_launch(config: LaunchConfig, resources: KernelResources | None, info: DeviceInfo) -> LaunchConfig:
    """Return a launch whose kernel loops over its grid, with no more thread blocks than the device runs at once."""
    most = blocks_at_once(config, resources, info)
    if most is None:
        most = BLOCKS_PER_CORE * info.cores
    return config if config.grid[0] <= most else replace(config, grid=(max(1, most), 1, 1))


def blocks_at_once(config: LaunchConfig, resources: KernelResources | None, info: DeviceInfo) -> int | None:
    """Return how many thread blocks of a launch the device runs at once; None for a CPU, where it depends on them."""
    if resources is None or info.limits is None:
        return None
    return info.cores * occupancy(resources, info.limits, config.thread_block, config.shared_bytes).thread_blocks


@lru_cache(maxsize=4096)
def cooperative(config: LaunchConfig) -> LaunchConfig:
    """Return a launch whose thread blocks wait for each other."""
    return replace(config, is_cooperative=True)


@lru_cache(maxsize=4096)
def free(config: LaunchConfig) -> LaunchConfig:
    """Return a launch whose shape the device may choose, since the threads don't depend on each other."""
    return replace(config, is_free=True)


@lru_cache(maxsize=4096)
def _config(name: str, threads: tuple[int, ...], thread_block: tuple[int, int, int], shared_bytes: int) -> LaunchConfig:
    """Return the launch; equal launches are the same object."""
    x, y, z = thread_block
    if x * y * z > MAX_THREADS or any(a > b for a, b in zip(thread_block, THREAD_BLOCK_LIMITS, strict=True)):
        limits = f"{MAX_THREADS} threads and {THREAD_BLOCK_LIMITS}"
        raise ShapeRuleError(f"thread_block of {name} must be at most {limits}, got {thread_block}")
    grid = [1, 1, 1]
    for axis, count in enumerate(threads):
        if count < 1:
            raise ShapeRuleError(f"num_threads of {name} must be at least 1, got {count}")
        if count > MOST_THREADS:
            raise ShapeRuleError(
                f"num_threads of {name} must be below 2^31 along each axis, got {count}; compute parts of the buffer"
            )
        grid[axis] = -(-count // thread_block[axis])
        if grid[axis] > GRID_LIMITS[axis]:
            raise ShapeRuleError(f"grid of {name} must be at most {GRID_LIMITS}, got {tuple(grid)}")
    return LaunchConfig((grid[0], grid[1], grid[2]), thread_block, shared_bytes)
