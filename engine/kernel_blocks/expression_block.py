"""The interface of a block that computes an expression: its texts in, an op graph and its ports and sliders out."""

import re
from dataclasses import replace
from keyword import iskeyword
from typing import Any

from engine.arguments import checked
from engine.blocktypes.adaptive import Interface
from engine.blocktypes.parameters import ParameterSpec
from engine.diagnostics import Diagnostic, PatchError, warning
from engine.kernel_blocks.graph_block import graph_interface
from engine.ops import parse_expression
from engine.types import NAMED

_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_SLIDER = re.compile(rf"(\w+)\s*:?\s*(?:({_NUMBER})\s*\.\.\s*({_NUMBER}))?\s*(?:=\s*({_NUMBER}))?")
#: Default ends of sliders.
_USUAL = 10.0
_INPUT = re.compile(r"([A-Za-z_]\w*)\s*(?::\s*(\w+))?")


@checked()
def expression_interface(expression: str, reads: str, sliders: str, constants: str = "") -> Interface:
    """Return the interface of a node that computes an expression for each element.

    `reads` is like "x, image: float4" and `sliders` like "freq: 0..20 = 4; amp: 0..1". Sliders that the expression
    doesn't read are left out, and a note names them. Wrong texts raise a PatchError or an OpError.
    """
    inputs, settings = _inputs(reads), _sliders(sliders)
    graph = parse_expression(expression, inputs=inputs, parameters=settings)
    read = {connection.source.partition(".")[0] for connection in graph.connections} - inputs.keys()
    unread = [name for name in settings if name not in read]
    if unread:
        known = {name: given for name, given in settings.items() if name in read}
        graph = parse_expression(expression, inputs=inputs, parameters=known)
    found = graph_interface(graph, constants)
    notes = (*found.notes, *(_unread(name) for name in unread))
    return replace(found, parameters=tuple(map(_with_range, found.parameters)), notes=notes)


def _unread(slider: str) -> Diagnostic:
    message = f"sliders must name what the expression reads, got {slider}"
    return warning(message, port="sliders", remedy="use it in the expression, or leave it out")


def _with_range(spec: ParameterSpec) -> ParameterSpec:
    """Return a parameter with the usual range if it has none, so that it has a slider."""
    if spec.type != "float" or spec.minimum is not None:
        return spec
    return replace(spec, minimum=min(-_USUAL, spec.default), maximum=max(_USUAL, spec.default))


def _inputs(text: str) -> dict[str, str]:
    """Return the element types of inputs by name."""
    found = {}
    for part in filter(str.strip, text.split(",")):
        match = _INPUT.fullmatch(part.strip())
        kind = (match and match[2]) or "f32"
        if match is None or iskeyword(match[1]) or kind not in NAMED:
            raise PatchError(f"reads must be like 'x, image: float4', got {part.strip()!r}")
        found[match[1]] = kind
    return found


def _sliders(text: str) -> dict[str, dict[str, Any]]:
    """Return the settings of parameters by name."""
    found = {}
    for part in filter(str.strip, text.split(";")):
        match = _SLIDER.fullmatch(part.strip())
        if match is None:
            raise PatchError(f"sliders must be like 'freq: 0..20 = 4; amp: 0..1', got {part.strip()!r}")
        settings = {"minimum": match[2], "maximum": match[3], "default": match[4]}
        given = {name: float(value) for name, value in settings.items() if value is not None}
        found[match[1]] = {**given, "bounded": "minimum" in given}
    return found
