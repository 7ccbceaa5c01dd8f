"""`ComputeBlock`: a block type whose nodes have the ports and parameters of an op graph."""

from typing import Any

from engine.arguments import checked
from engine.blocktypes.adaptive import AdaptiveBlock, Interface
from engine.blocktypes.block import is_reserved
from engine.blocktypes.declarations import param
from engine.blocktypes.parameters import ParameterSpec
from engine.descriptions.builder import BlockBuilder
from engine.descriptions.handles import BufferHandle
from engine.descriptions.ports import PortSpec
from engine.diagnostics import Diagnostic, PatchError, error
from engine.kernel_blocks.arguments import GENERATED
from engine.kernel_blocks.constants import CONSTANTS_DOC, constant_values, live_parameters
from engine.kernel_blocks.kernel_block import size_parameters
from engine.kernel_sources import op_graphs
from engine.kernel_sources.sources import OpGraphSource
from engine.ops import OpError, OpGraph, OpInterface, OpParameter
from engine.ops.analysis import NAMED_OPS, Analysis
from engine.types import NAMED, any_type


class ComputeBlock(AdaptiveBlock, abstract=True):
    """A block type whose nodes run an op graph over the elements of a port."""

    constants: str = param("", doc=CONSTANTS_DOC)

    def describe(self, build: BlockBuilder) -> None:
        """Run the graph; nothing while the node has none."""
        if self.content is not None:
            source, over = self.content
            build.compute(source.with_constants(constant_values(self)), over=BufferHandle(over))


@checked()
def graph_interface(graph: OpGraph, constants: str = "", *, title: str = "", summary: str = "") -> Interface:
    """Return the interface of a node that runs an op graph; OpError when the graph is wrong.

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
    return Interface(tuple(ports), tuple(parameters), (source, over), title=title, summary=summary, notes=notes)


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
        dtype, doc = NAMED.get(item.dtype, any_type), item.doc or f"Elements of {item.name}."
        rule = "number" if item.dtype == "number" else None
        made.append(PortSpec(item.name, "in", dtype, doc, shape, dtype_rule=rule))
    return made


def _outputs(kernel: OpInterface, domain: str) -> list[PortSpec]:
    usual = f"same({domain})" if domain else GENERATED[kernel.rank - 1]
    return [
        PortSpec(item.name, "out", NAMED[item.dtype], item.doc or f"Elements of {item.name}.", item.shape or usual)
        for item in kernel.outputs
    ]


def _parameter(item: OpParameter) -> ParameterSpec:
    dtype = NAMED[item.dtype]
    kind: Any = {"boolean": bool, "integer": int}.get(dtype.kind, float)
    low, high = (None, None) if kind is bool else (item.minimum, item.maximum)
    doc = item.doc or f"{item.name} of the kernel."
    return ParameterSpec(item.name, kind.__name__, kind(item.default), doc, low, high, item.unit, number=item.dtype)
