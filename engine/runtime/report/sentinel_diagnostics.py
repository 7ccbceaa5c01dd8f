"""The findings of sentinels in a frame, as diagnostics at the checked outputs."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from warploom.engine.compiler.inlining.sentinels import FOUND, checked_port, found_buffer
from warploom.engine.compiler.plan import Plan
from warploom.engine.diagnostics import Diagnostic, Source, warning
from warploom.engine.patch.regions import region_of
from warploom.engine.types import Shape

_ALL = (1 << 64) - 1


def sentinel_diagnostics(plan: Plan, array: np.ndarray[Any, Any]) -> Iterator[Diagnostic]:
    """Yield a warning for each sentinel with wrong elements; `array` has the status words read back after a frame."""
    data = array.tobytes()
    for check, port in plan.inlined.checks.items():
        place = plan.status_places.get(found_buffer(check))
        if place is None:  # the sentinel's block is left out
            continue
        found = np.frombuffer(data[place.offset : place.end], FOUND)[0]
        if found["turn"]:
            sentinel = plan.inlined.original.sentinels[port]
            told = _finding(found, plan.layouts[checked_port(check)].shape)
            turn = f", in turn {found['turn']:,}" if _is_in_loop(plan, check) else ""
            text = f"elements must be {sentinel.rule_text}, got {told}{turn}"
            remedy = "check the block's code and its inputs"
            if sentinel.freezes:
                remedy += "; the frame is frozen, and Play goes on"
            yield warning(text, node=port.node, port=port.port, remedy=remedy, source=Source.SENTINEL)


def _finding(found: np.void, shape: Shape) -> str:
    """Return the finding as text: "3 NaN and 2 infinite among 100,000, the first at [41, 7]"."""
    kinds = ("nans", "NaN"), ("infinities", "infinite"), ("outside", "out of range")
    parts = [f"{found[name]:,} {what}" for name, what in kinds if found[name]]
    text = " and ".join([", ".join(parts[:-1]), parts[-1]] if parts[1:] else parts) + f" among {found['elements']:,}"
    if shape:
        index = np.unravel_index(_ALL - int(found["first"]), shape)
        text += f", the first at [{', '.join(map(str, index))}]"
    return f"{text}: {found['value']:.7g}" if math.isfinite(found["value"]) else text


def _is_in_loop(plan: Plan, node: str) -> bool:
    by_id = plan.description.by_id
    while region := region_of(by_id[node].region):
        control = by_id[region].description.control
        if control is not None and control.kind.is_loop:
            return True
        node = region
    return False
