"""What flows through a declared port: the row of the colour table it belongs to."""

from __future__ import annotations

import re

from app.theme.type_colours import Flow
from engine.blocktypes.block import Block
from engine.blocktypes.ports import PortSpec
from engine.types import float4, uchar4

#: Kinds of elements that share another kind's row: a flag is an integer of one byte, a complex number a pair.
_SHARED = {"boolean": Flow.INTEGER, "complex": Flow.VECTOR}
_SAME = re.compile(r"same(?:\(\s*(\w+)\s*\))?$")


def flow_of(block_type: type[Block], spec: PortSpec) -> Flow:
    """Return what flows through a port: an image is a two-dimensional buffer of four-component pixels."""
    if spec.dtype in (float4, uchar4) and _rank(block_type, spec) == 2:
        return Flow.IMAGE
    kind = spec.dtype.kind
    return _SHARED.get(kind) or Flow(kind)


def flow_of_value(type: str) -> Flow:
    """Return what flows out of a value output or into a driven parameter of type float, int or bool."""
    return Flow.FLAG if type == "bool" else Flow.NUMBER


def _rank(block_type: type[Block], spec: PortSpec) -> int | None:
    """Number of dimensions as far as the declaration tells; outputs take it from their shape rule."""
    if spec.is_input or spec.rank is not None:
        return spec.rank
    rule = spec.shape.strip()
    if rule.startswith("["):
        return rule.count(",") + 1
    if match := _SAME.match(rule):
        inputs = block_type.inputs()
        name = match[1] or (inputs[0].name if inputs else "")
        source = block_type.ports.get(name)
        return source.rank if source is not None and source.is_input else None
    return None
