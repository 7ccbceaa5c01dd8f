"""`ComputeBlock`: a block type whose nodes have the ports and parameters of an op graph, or of an expression."""

import re
from keyword import iskeyword
from typing import Any

from msgspec.structs import replace

from warploom.engine.arguments import checked
from warploom.engine.blocktypes.adaptive import AdaptiveBlock, Interface
from warploom.engine.blocktypes.block import is_reserved
from warploom.engine.blocktypes.declarations import param
from warploom.engine.blocktypes.parameters import ParameterSpec
from warploom.engine.descriptions.builder import BlockBuilder
from warploom.engine.descriptions.handles import BufferHandle
from warploom.engine.descriptions.ports import PortSpec
from warploom.engine.diagnostics import Diagnostic, PatchError, error, warning
from warploom.engine.kernel_blocks.arguments import GENERATED
from warploom.engine.kernel_blocks.constants import CONSTANTS_DOC, constant_values, live_parameters
from warploom.engine.kernel_blocks.kernel_block import size_parameters
from warploom.engine.kernel_sources import op_graphs
from warploom.engine.kernel_sources.sources import OpGraphSource
from warploom.engine.ops import OpError, OpGraph, OpInterface, OpParameter, parse_expression
from warploom.engine.ops.analysis import NAMED_OPS, Analysis
from warploom.engine.ops.types import in_memory
from warploom.engine.types import NAMED


class ComputeBlock(AdaptiveBlock, abstract=True):
    """A block type whose nodes run an op graph over the elements of a port."""

    constants: str = param("", doc=CONSTANTS_DOC)

    def describe(self, build: BlockBuilder) -> None:
        """Run the graph; do nothing while the node has none."""
        if self.content is not None:
            source, over = self.content
            build.compute(source.with_constants(constant_values(self)), over=BufferHandle(over))


@checked()
def graph_interface(graph: OpGraph, constants: str = "") -> Interface:
    """Return the interface of a node that runs an op graph. Raise OpError if the graph is wrong.

    `constants` is the block's list of parameters that are compiled into the kernel. Inputs that are read element by
    element have the same shape, which is also that of the outputs. Without inputs, parameters set the outputs' size.
    """
    source = OpGraphSource.of(graph)
    kernel = op_graphs.interface(source)
    if not kernel.outputs:
        raise PatchError("op graph must have an output, got none")
    for node in graph.nodes:
        if node.type == "op.aggregate":
            text = "aggregate must be in a block that chooses the number of thread blocks, got one that doesn't"
            remedy = "give the elements to an output, and connect a Sum to it"
            raise OpError([error(text, node=node.id, remedy=remedy)])
    domain = next((i.name for i in kernel.inputs if i.is_own_element), kernel.inputs[0].name if kernel.inputs else "")
    ports = [*_inputs(kernel, domain), *_outputs(kernel, domain)]
    over = domain or next((port.name for port in ports if port.shape in GENERATED), kernel.outputs[0].name)
    live, notes = live_parameters(map(_parameter, kernel.parameters), constants)
    parameters = [*live, *size_parameters([port.shape for port in ports])]
    if any(map(is_reserved, (*(port.name for port in ports), *(item.name for item in parameters)))):
        raise OpError(name_problems(op_graphs.analysis(source)))
    return Interface(tuple(ports), tuple(parameters), (source, over), notes=notes)


def name_problems(analysis: Analysis) -> list[Diagnostic]:
    """Return an error for each input, output and parameter whose name no port or parameter of a block can have."""
    named = (node_id for node_id, placed in analysis.ops.items() if placed.op.id in NAMED_OPS)
    return [
        error(
            f"name must be one that blocks don't use themselves, got {name}",
            node=node_id,
            port="name",
            remedy="rename it",
        )
        for node_id in named
        if is_reserved(name := analysis.name(node_id))
    ]


def _inputs(kernel: OpInterface, domain: str) -> list[PortSpec]:
    made = []
    for item in kernel.inputs:
        shape = f"same({domain})" if item.is_own_element and item.name != domain else "same"
        dtype, doc = in_memory(item.dtype), item.doc or f"Elements of {item.name}."
        rule = "number" if item.dtype == "number" else None
        made.append(PortSpec(item.name, "in", dtype, doc, shape, dtype_rule=rule))
    return made


def _outputs(kernel: OpInterface, domain: str) -> list[PortSpec]:
    usual = f"same({domain})" if domain else GENERATED[kernel.rank - 1]
    return [
        PortSpec(item.name, "out", in_memory(item.dtype), item.doc or f"Elements of {item.name}.", item.shape or usual)
        for item in kernel.outputs
    ]


def _parameter(item: OpParameter) -> ParameterSpec:
    dtype = NAMED[item.dtype]
    kind: Any = {"boolean": bool, "integer": int}.get(dtype.kind, float)
    low, high = (None, None) if kind is bool else (item.minimum, item.maximum)
    doc = item.doc or f"{item.name} of the kernel."
    return ParameterSpec(item.name, kind.__name__, kind(item.default), doc, low, high, item.unit, number=item.dtype)


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
    inputs, settings = _read_inputs(reads), _sliders(sliders)
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


def _read_inputs(text: str) -> dict[str, str]:
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
