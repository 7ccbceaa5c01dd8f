"""What an edit would cost the running engine, in a few words."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from engine.figures import format_time
from engine.patch.changes import Change
from engine.protocol.messages import EditCost, UpdateLevel

#: Returns what changes of the shown patch would cost, or None when no engine runs.
Costing = Callable[[Sequence[Change]], EditCost | None]

_WORDS = {
    UpdateLevel.NONE: "costs nothing",
    UpdateLevel.HOT: "parameter write",
    UpdateLevel.WARM: "update in place",
    UpdateLevel.RECAPTURE: "library call captured again",
    UpdateLevel.CODE: "function swap",
    UpdateLevel.COLD: "rebuild",
}


def cost_text(cost: EditCost) -> str:
    """Return an update level with what such updates took of late: "Rebuild, about 3.10 ms", "At most: rebuild"."""
    # A write that may not even be needed is no news.
    may_be_less = cost.at_most and cost.level > UpdateLevel.HOT
    words = f"at most: {_WORDS[cost.level]}" if may_be_less else _WORDS[cost.level]
    words = words[0].upper() + words[1:]
    return f"{words}, about {format_time(cost.estimate_ns)}" if cost.estimate_ns else words
