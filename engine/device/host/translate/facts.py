"""Facts about a function that are worked out once and kept with it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from engine.device.host.translate.flow import defined
from engine.ptx.tree import Function, Instruction

Fact = TypeVar("Fact")


def fact(compute: Callable[[Function], Fact]) -> Callable[[Function], Fact]:
    """Keep what a function of a PTX function returns; nobody may change it."""
    name = f"{compute.__module__}.{compute.__qualname__}"

    def get(function: Function) -> Fact:
        kept = vars(function)  # where cached properties lie as well: a PTX function is never changed
        if name not in kept:
            kept[name] = compute(function)
        found: Fact = kept[name]
        return found

    get.__doc__ = compute.__doc__
    return get


@fact
def writes(function: Function) -> dict[str, list[Instruction]]:
    """Return the instructions that write each register, in order."""
    found: dict[str, list[Instruction]] = {}
    for instruction in function.instructions:
        for name in defined(instruction):
            found.setdefault(name, []).append(instruction)
    return found
