"""The kinds of ports, by their data, and the style of each: one table for colour, shape and width.

The shape shows the same as the colour, for people who can't distinguish the colours.
"""

import re
from dataclasses import dataclass
from enum import StrEnum

from warploom.app.theme.colours import Colours
from warploom.engine.blocktypes.block import Block
from warploom.engine.descriptions.ports import PortSpec
from warploom.engine.types import float4, uchar4

_SAME = re.compile(r"same(?:\(\s*(\w+)\s*\))?$")


class PortKind(StrEnum):
    """The kind of a port's data: a buffer by the kind of its elements, with images separate, or a single value."""

    FLOAT = "float"
    INTEGER = "integer"
    VECTOR = "vector"
    STRUCT = "struct"
    IMAGE = "image"
    ANY = "any"
    NUMBER = "number"
    FLAG = "flag"


@dataclass(frozen=True)
class PortStyle:
    """Colours in the dark and light theme, the connection's width in pixels at 100 %, and the port's outline.

    The outline has the corners of a polygon around the origin; without corners, it is a circle of about equal area.
    """

    dark: str
    light: str
    width: float
    outline: tuple[tuple[float, float], ...] = ()

    def colour(self, theme: Colours) -> str:
        """Return the colour in a theme."""
        return self.dark if theme.is_dark else self.light


_PLUS = (
    *((-1.7, -4.6), (1.7, -4.6), (1.7, -1.7), (4.6, -1.7), (4.6, 1.7), (1.7, 1.7)),
    *((1.7, 4.6), (-1.7, 4.6), (-1.7, 1.7), (-4.6, 1.7), (-4.6, -1.7), (-1.7, -1.7)),
)
_CHEVRON = ((-4.5, -4.8), (0, -4.8), (4.8, 0), (0, 4.8), (-4.5, 4.8), (-1, 0))
_HEXAGON = ((-4.6, 0), (-2.3, -4), (2.3, -4), (4.6, 0), (2.3, 4), (-2.3, 4))
_SQUARE, _BAR = (((-x, -y), (x, -y), (x, y), (-x, y)) for x, y in ((3.5, 3.5), (3, 5.5)))

PORT_STYLES: dict[PortKind, PortStyle] = {
    PortKind.FLOAT: PortStyle("#52bfc4", "#00767d", 1.6),
    PortKind.INTEGER: PortStyle("#cfc566", "#6f6500", 1.6, _SQUARE),
    PortKind.VECTOR: PortStyle("#a593f2", "#5d41bd", 2.0, ((0, -5), (5, 0), (0, 5), (-5, 0))),
    PortKind.STRUCT: PortStyle("#e080c4", "#a32a80", 2.4, _HEXAGON),
    PortKind.IMAGE: PortStyle("#cccccc", "#3c3c3c", 3.0, _BAR),
    PortKind.ANY: PortStyle("#9a9a9a", "#6a6a6a", 1.6, ((-3.5, -4.5), (4.5, 0), (-3.5, 4.5))),
    # Values are thinner than buffers, since they carry one number instead of many.
    PortKind.NUMBER: PortStyle("#e2a6ea", "#87309a", 1.2, _CHEVRON),
    PortKind.FLAG: PortStyle("#a9c8e8", "#3f6d94", 1.2, _PLUS),
}


#: Kinds of elements that use another kind's row: a boolean is an integer of one byte, a complex number a pair.
_SHARED = {"boolean": PortKind.INTEGER, "complex": PortKind.VECTOR}


def kind_of_port(block_type: type[Block], spec: PortSpec) -> PortKind:
    """Return the kind of a port; an image is a two-dimensional buffer of four-component pixels."""
    if spec.dtype in (float4, uchar4) and _rank(block_type, spec) == 2:
        return PortKind.IMAGE
    kind = spec.dtype.kind
    return _SHARED.get(kind) or PortKind(kind)


def kind_of_value(type: str) -> PortKind:
    """Return the kind of a value output or a driven parameter of type float, int or bool."""
    return PortKind.FLAG if type == "bool" else PortKind.NUMBER


def _rank(block_type: type[Block], spec: PortSpec) -> int | None:
    """Return the number of dimensions, if the declaration has it; outputs get it from their shape rule."""
    if spec.is_input or spec.rank is not None:
        return spec.rank
    rule = spec.shape.strip()
    if rule.startswith("["):
        return _parts(rule[1:-1])
    if match := _SAME.match(rule):
        inputs = block_type.inputs()
        name = match[1] or (inputs[0].name if inputs else "")
        source = block_type.ports.get(name)
        return source.rank if source is not None and source.is_input else None
    return None


def _parts(rule: str) -> int:
    """Return the number of parts between commas that are outside all brackets."""
    depth, parts = 0, 1
    for letter in rule:
        depth += (letter in "([") - (letter in ")]")
        parts += letter == "," and depth == 0
    return parts
