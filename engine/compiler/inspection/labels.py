"""Names of operations and buffers, for all forms in which a plan is shown."""

from collections.abc import Iterable

from warploom.engine.compiler.buffers import ends_block
from warploom.engine.compiler.operations import ClearStatus, DownloadStatus, RegionEntry, UploadFrame
from warploom.engine.compiler.plan import Plan
from warploom.engine.descriptions.entries import CaptureEntry, CopyEntry, FillEntry, KernelEntry
from warploom.engine.patch.changes import PortRef


def what(plan: Plan, index: int) -> str:
    """Return a description of an operation's work: "kernel scale, grid 4x1x1 of 256x1x1"."""
    match plan.operations[index].entry:
        case KernelEntry(kernel=kernel, shared_bytes=shared_bytes, count=count):
            launch = plan.launches[index]
            shared = f", {shared_bytes} bytes shared" if shared_bytes else ""
            shared += f", as far as {count} says" if count else ""
            return f"kernel {kernel.entry}, grid {_size(launch.grid)} of {_size(launch.thread_block)}{shared}"
        case FillEntry(target=target, value=value):
            return f"fill {target.name} with {value}"
        case CopyEntry(target=target, source=source):
            return f"copy {source.name} to {target.name}"
        case CaptureEntry(label=label):
            return f"captured {label}"
        case RegionEntry(kind=kind):
            return f"region {kind.value}"
        case UploadFrame():
            return "upload frame"
        case ClearStatus():
            return "clear status"
        case DownloadStatus():
            return "download status"


def name(plan: Plan, index: int) -> str:
    """Return an operation's name in a table: the kernel's name, or its work."""
    entry = plan.operations[index].entry
    return entry.kernel.entry if isinstance(entry, KernelEntry) else what(plan, index)


def title(plan: Plan, index: int) -> str:
    """Return the block of an operation, or all blocks fused in it; "graph" for the graph's own operations."""
    return " + ".join(plan.operations[index].nodes) or "graph"


def names(owners: Iterable[PortRef]) -> str:
    """Return buffers in alphabetical order, and stand-ins for conditions and ends of blocks.

    The graph's own buffers have no block.
    """
    return ", ".join(sorted(set(map(_name, owners))))


def _name(owner: PortRef) -> str:
    if not owner.port:
        return f"condition of {owner.node}"
    if ends_block(owner):
        return f"end of {owner.node}"
    return str(owner) if owner.node else owner.port


def _size(size: tuple[int, int, int]) -> str:
    return "x".join(map(str, size))
