"""The text at a dragged connection: the effect of a drop and its cost, or why it is refused."""

from collections.abc import Callable, Sequence

from warploom.app.edits.compatible import ends, refusal
from warploom.engine.figures import format_time
from warploom.engine.patch.changes import Change, Connected, Connection, Disconnected, PortRef
from warploom.engine.patch.document import Patch
from warploom.engine.protocol.messages import EditCost, UpdateLevel

#: Returns what changes of the shown patch would cost; None when no engine runs.
Costing = Callable[[Sequence[Change]], EditCost | None]

_WORDS = {
    UpdateLevel.NONE: "costs nothing",
    UpdateLevel.HOT: "parameter write",
    UpdateLevel.WARM: "update in place",
    UpdateLevel.RECAPTURE: "library call captured again",
    UpdateLevel.CODE: "function swap",
    UpdateLevel.COLD: "rebuild",
}


def preview(
    patch: Patch, start: PortRef, end: PortRef, picked_up: Connection | None, cost: Costing | None
) -> tuple[str, bool]:
    """Return the effect and cost of a drop at `end`, or why it is refused; and whether it is refused.

    `picked_up` is the connection whose end is being dragged; a drop removes it.
    """
    reason = refusal(patch, start, end)
    if reason is not None:
        return reason, True
    connection = Connection(*ends(patch, start, end))
    text = f"{connection.source} → {connection.target}"
    found = cost(changes_of(patch, connection, picked_up)) if cost is not None else None
    return (f"{text}\n{update_cost_text(found)}" if found is not None else text), False


def changes_of(patch: Patch, connection: Connection, picked_up: Connection | None = None) -> list[Change]:
    """Return the changes that make a connection and remove the picked-up one."""
    before = patch.source_of(connection.target)
    gone = [] if before is None else [Connection(before, connection.target)]
    gone += [picked_up] if picked_up is not None else []
    changes: list[Change] = [Disconnected(old) for old in dict.fromkeys(gone) if old != connection]
    return changes if before == connection.source else [*changes, Connected(connection)]


def update_cost_text(cost: EditCost) -> str:
    """Return an update level and the time of recent updates of it: "Rebuild, about 3.10 ms", "At most: rebuild"."""
    # "At most" is left out for a parameter write, which costs next to nothing.
    may_be_less = cost.at_most and cost.level > UpdateLevel.HOT
    words = f"at most: {_WORDS[cost.level]}" if may_be_less else _WORDS[cost.level]
    words = words[0].upper() + words[1:]
    return f"{words}, about {format_time(cost.estimate_ns)}" if cost.estimate_ns else words
