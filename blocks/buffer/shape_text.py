"""Parses the lists of whole numbers that people type: shapes and orders of axes."""

from warploom.engine.diagnostics import PatchError


def whole_numbers(name: str, text: str) -> tuple[int, ...]:
    """Return the numbers of a list such as "4, 3"; raise a PatchError that names the parameter for any other text."""
    try:
        numbers = tuple(int(part) for part in text.split(","))
    except ValueError:
        numbers = ()
    if not numbers:
        raise PatchError(f"parameter {name} must be whole numbers with commas between them, got {text!r}")
    return numbers


def shape_rule(name: str, text: str) -> str:
    """Return the shape rule of a fixed shape, such as "[4, 3]"; raise a PatchError when a size is below 1."""
    sizes = whole_numbers(name, text)
    if min(sizes) < 1:
        raise PatchError(f"parameter {name} must have sizes of at least 1, got {text!r}")
    return str(list(sizes))
