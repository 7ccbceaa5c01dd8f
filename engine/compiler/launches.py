"""Launch grids: how many thread blocks cover the threads that a block asks for."""

from __future__ import annotations

from engine.blocktypes.description import KernelEntry
from engine.blocktypes.shape_rules import Extent, ShapeContext, ShapeRuleError, evaluate_extent
from engine.device.protocol import LaunchConfig

#: Limits of CUDA's grid in x, y and z, counted in thread blocks.
GRID_LIMITS = (2**31 - 1, 65535, 65535)


def launch_config(entry: KernelEntry, context: ShapeContext) -> LaunchConfig:
    """Return the launch that covers `entry.num_threads`; ShapeRuleError when it has no size or too many."""
    grid = [1, 1, 1]
    for axis, size in enumerate(entry.num_threads):
        threads = evaluate_extent(size, context) if isinstance(size, Extent) else size
        if threads < 1:
            raise ShapeRuleError(f"num_threads of {entry.kernel.entry} must be at least 1, got {threads}")
        grid[axis] = -(-threads // entry.thread_block[axis])
        if grid[axis] > GRID_LIMITS[axis]:
            raise ShapeRuleError(f"grid of {entry.kernel.entry} must be at most {GRID_LIMITS}, got {tuple(grid)}")
    return LaunchConfig((grid[0], grid[1], grid[2]), entry.thread_block, entry.shared_bytes)
