"""Describes regions: the kernels that set a region's condition, and when they run."""

from warploom.engine.arguments import checked
from warploom.engine.descriptions.builder import BlockBuilder
from warploom.engine.descriptions.checks import whole
from warploom.engine.descriptions.entries import (
    Argument,
    BufferArgument,
    ConditionArgument,
    Control,
    Kernel,
    KernelEntry,
    RegionKind,
    StatusKind,
    ValueArgument,
    switch_branches,
)
from warploom.engine.descriptions.handles import BufferHandle
from warploom.engine.ops.graph import OTHERWISE
from warploom.engine.types import u32

_FILE = "control.cu"
#: The buffer in which a region records which of its bodies runs.
_CHOSEN = "chosen"


@checked()
def describe_if(build: BlockBuilder, condition: BufferHandle, element: int, *, otherwise: bool = False) -> None:
    """Make a region that runs once unless an element of `condition` is 0; `otherwise` adds a branch for 0."""
    chosen = build.buffer(_CHOSEN, u32, "[1]")
    begin = _launch("begin_if", ConditionArgument(), *_element(build, condition, element), _write(chosen))
    kind, branches = (RegionKind.IF_ELSE, ("", OTHERWISE)) if otherwise else (RegionKind.IF, ("",))
    build.control(Control(kind, (begin,), _CHOSEN, branches=branches))


@checked()
def describe_switch(build: BlockBuilder, index: BufferHandle, element: int, *, branches: int) -> None:
    """Make a region of 2 to 16 branches that runs the one whose number is an element of `index`, rounded down.

    Branches are counted from 0. If there is none of this number, none runs.
    """
    names = switch_branches(branches)
    chosen, count = build.buffer(_CHOSEN, u32, "[1]"), ValueArgument(len(names))
    begin = _launch("begin_switch", ConditionArgument(), *_element(build, index, element), count, _write(chosen))
    build.control(Control(RegionKind.SWITCH, (begin,), _CHOSEN, branches=names))


@checked()
def describe_while(
    build: BlockBuilder, condition: BufferHandle, element: int, *, turns: BufferHandle, limit: object
) -> None:
    """Make a region that repeats until an element of `condition` is 0, at most `limit` times.

    `turns`, an output of one u32, is the number of completed iterations.
    """
    stopped, chosen = _stopped(build, turns, limit), build.buffer(_CHOSEN, u32, "[1]")
    most = build.argument(limit)
    looked_at = _element(build, condition, element)
    begin = _launch(
        "begin_while", ConditionArgument(), *looked_at, _write(turns), _change(stopped), most, _write(chosen)
    )
    turn = _launch("turn_while", ConditionArgument(), *looked_at, _change(turns), _change(stopped), most)
    build.control(Control(RegionKind.WHILE, (begin,), _CHOSEN, (turn,)))


@checked()
def describe_for(
    build: BlockBuilder, count: object, counts: BufferHandle, *, index: BufferHandle, limit: object
) -> None:
    """Make a region that runs `count` times, or as often as the first element of `counts`, at most `limit` times.

    `index`, an output of one u32, is the number of the iteration from 0 on; after the loop, it is the number of
    iterations.
    """
    stopped, chosen = _stopped(build, index, limit), build.buffer(_CHOSEN, u32, "[1]")
    times = (build.argument(count), build.argument(counts), build.element_type(counts))
    most = build.argument(limit)
    begin = _launch("begin_for", ConditionArgument(), *times, _write(index), _change(stopped), most, _write(chosen))
    turn = _launch("turn_for", ConditionArgument(), *times, _change(index), _change(stopped), most)
    build.control(Control(RegionKind.FOR, (begin,), _CHOSEN, (turn,)))


def _launch(entry: str, *arguments: Argument) -> KernelEntry:
    return KernelEntry(Kernel(_FILE, entry), (1,), (1, 1, 1), arguments)


def _element(build: BlockBuilder, condition: BufferHandle, element: int) -> tuple[Argument, ...]:
    """Return the arguments for an element of a buffer, and require that the element exists."""
    element = whole("region", "element", element, 0, 2**32 - 1)
    build.require(
        condition.size - 1 - element,
        f"element must be less than the size of the {condition.name}, got {element}",
        port=condition,
    )
    return build.argument(condition), build.element_type(condition), ValueArgument(element)


def _stopped(build: BlockBuilder, turns: BufferHandle, limit: object) -> BufferHandle:
    stopped = build.buffer("stopped", u32, "[1]")
    build.report(stopped, StatusKind.STOPPED, turns, limit)
    return stopped


def _write(buffer: BufferHandle) -> BufferArgument:
    return BufferArgument(buffer.name, reads=False, writes=True)


def _change(buffer: BufferHandle) -> BufferArgument:
    return BufferArgument(buffer.name, reads=True, writes=True)
