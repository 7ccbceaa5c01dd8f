"""Structs that a kernel takes by value, as texts that name the type and the place of each number."""

from collections.abc import Iterable
from functools import cache

from warploom.engine.types.dtype import DType

_PREFIX = "struct of "


def record_text(numbers: Iterable[tuple[DType, int]]) -> str:
    """Return numbers at their places in bytes as a text: `struct of f32 @0, s32 @4`."""
    return _PREFIX + ", ".join(f"{dtype} @{offset}" for dtype, offset in numbers)


@cache
def record_numbers(text: str) -> tuple[tuple[str, int], ...]:
    """Return the type's name and the place of each number in a struct; none if the text is of something else."""
    if not text.startswith(_PREFIX):
        return ()
    pairs = (number.partition(" @") for number in text.removeprefix(_PREFIX).split(", "))
    return tuple((name, int(offset)) for name, _, offset in pairs)
