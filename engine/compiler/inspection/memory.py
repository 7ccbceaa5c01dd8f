"""The memory timeline: the buffers in use during each operation if operations run in the plan's order."""

from collections.abc import Iterator

import msgspec

from warploom.engine.compiler.inspection.labels import title, what
from warploom.engine.compiler.memory.uses import buffer_uses, lifetimes
from warploom.engine.compiler.plan import Plan
from warploom.engine.drawings.svg import FAINT, FILLS, LINE, document, estimated_width, line, rectangle, text_line
from warploom.engine.figures import format_bytes
from warploom.engine.patch.changes import PortRef


class TimelineStep(msgspec.Struct, frozen=True):
    """One operation, and the buffers of the arena that are in use during it, with their total bytes."""

    operation: int
    buffers: tuple[PortRef, ...]
    live_bytes: int


class MemoryTimeline(msgspec.Struct, frozen=True):
    """The steps of a frame; `own_bytes` is the size of buffers outside the arena, which are always in use.

    `spans` holds the first and the last operation during which each buffer of the arena is in use.
    """

    steps: tuple[TimelineStep, ...]
    spans: dict[PortRef, tuple[int, int]]
    own_bytes: int


def memory_timeline(plan: Plan) -> MemoryTimeline:
    """Return the buffers in use during each operation; sizes are multiples of 256 bytes, as in the arena."""
    placement = plan.placement
    users = buffer_uses(plan.schedule, placement.offsets).users
    owners = list(placement.offsets)
    found = dict(zip(owners, lifetimes(plan.operations, plan.scopes, [users[o] for o in owners]), strict=True))
    starting: list[list[PortRef]] = [[] for _ in plan.operations]
    for owner in owners:
        starting[found[owner][0]].append(owner)
    live: dict[PortRef, None] = {}
    steps = []
    for index, new in enumerate(starting):
        live = {owner: None for owner in live if found[owner][1] >= index} | dict.fromkeys(new)
        steps.append(TimelineStep(index, tuple(live), sum(placement.sizes[owner] for owner in live)))
    return MemoryTimeline(tuple(steps), found, sum(plan.own_sizes))


_LEFT, _TOP, _BOTTOM, _COLUMN, _HEIGHT, _CURVE = 90.0, 40.0, 30.0, 26.0, 320.0, 90.0


def memory_svg(plan: Plan) -> str:
    """Return an SVG file: above, each buffer's place and the time it is used; below, the bytes in use."""
    timeline = memory_timeline(plan)
    width = _LEFT + _COLUMN * max(len(timeline.steps), 14) + 20
    return document(width, _TOP + _HEIGHT + 40 + _CURVE + _BOTTOM, _parts(plan, timeline, width))


def _parts(plan: Plan, timeline: MemoryTimeline, width: float) -> Iterator[str]:
    placement = plan.placement
    saved = f"arena {format_bytes(placement.size_bytes)}, without sharing {format_bytes(placement.unshared_bytes)}"
    yield text_line(20, 24, f"{saved}; buffers with memory of their own {format_bytes(timeline.own_bytes)}", bold=True)
    scale = _HEIGHT / max(placement.size_bytes, 1)
    yield from _axis(_TOP, _HEIGHT, placement.size_bytes, width)
    for number, (owner, (first, last)) in enumerate(timeline.spans.items()):
        x, span = _LEFT + _COLUMN * first, _COLUMN * (last - first + 1)
        height = scale * placement.sizes[owner]
        y = _TOP + _HEIGHT - scale * placement.offsets[owner] - height
        tip = f"{owner}: {format_bytes(placement.sizes[owner])} at {placement.offsets[owner]}, {first} to {last}"
        yield rectangle(x + 0.5, y, span - 1, height, FILLS[number % len(FILLS)], tip=tip)
        if height >= 14 and estimated_width(str(owner)) <= span - 4:
            yield text_line(x + span / 2, y + height / 2 + 4, str(owner), anchor="middle")
    top = _TOP + _HEIGHT + 40
    yield from _axis(top, _CURVE, placement.size_bytes, width)
    yield text_line(_LEFT, top - 8, "bytes in use during each operation", FAINT)
    for step in timeline.steps:
        height = _CURVE * step.live_bytes / max(placement.size_bytes, 1)
        x = _LEFT + _COLUMN * step.operation
        tip = f"{step.operation} {title(plan, step.operation)}: {what(plan, step.operation)}\n"
        tip += f"{format_bytes(step.live_bytes)} in {len(step.buffers)} buffers"
        yield rectangle(x + 0.5, top + _CURVE - height, _COLUMN - 1, max(height, 1.0), FILLS[0], tip=tip)
        yield text_line(x + _COLUMN / 2, top + _CURVE + 16, str(step.operation), FAINT, "middle")


def _axis(top: float, height: float, size_bytes: int, width: float) -> Iterator[str]:
    yield line(_LEFT, top, _LEFT, top + height)
    yield line(_LEFT, top + height, width - 20, top + height)
    for share in (0.0, 0.5, 1.0):
        y = top + height * (1 - share)
        yield line(_LEFT - 4, y, _LEFT, y, LINE)
        yield text_line(_LEFT - 8, y + 4, format_bytes(int(size_bytes * share)), FAINT, "end")
