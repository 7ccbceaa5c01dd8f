"""The type of a port: a block's declared type or, inside a block, the type inferred from the whole patch."""

import re

from warploom.app.theme.port_style import PortKind, kind_of_port
from warploom.engine.blocktypes.block import Block
from warploom.engine.descriptions.ports import PortSpec
from warploom.engine.ops.types import BufferType, ValueType
from warploom.engine.patch.changes import PortRef
from warploom.engine.patch.contents import PatchContents
from warploom.engine.patch.document import Patch
from warploom.engine.patch.inner_patch import InnerPatch
from warploom.engine.tensor_ir.types import TensorType

#: The kinds of ports that may carry data of another kind: any data, and pixels in an image.
_OPEN = (PortKind.ANY, PortKind.VECTOR)
#: The most connections and blocks that a kind is followed through.
_FARTHEST = 32
_SAME = re.compile(r"same(?:\(([\w\s,]*)\))?$")


def infers_types(patch: PatchContents) -> bool:
    """True for a patch whose port types are inferred from the whole patch."""
    return isinstance(patch, InnerPatch) and patch.infers_types


def kind_at(patch: Patch, node_id: str, block_type: type[Block], spec: PortSpec) -> PortKind:
    """Return the kind of a node's port by what flows there, as far as it can be known without running the patch.

    In an op graph, buffers look like images, and literals are thin. In a network, columns of numbers look like floats,
    positions of ones like integers, and everything else like images.
    """
    if not isinstance(patch, InnerPatch) or not patch.infers_types:
        declared = kind_of_port(block_type, spec)
        passes_on = declared in _OPEN or patch.is_group(node_id) or patch.is_end(node_id)
        return _kind_at_end(patch, PortRef(node_id, spec.name), _FARTHEST) if passes_on else declared
    match patch.flow(PortRef(node_id, spec.name), is_input=spec.is_input):
        case TensorType() as tensor:
            return _kind_of_tensor(tensor)
        case BufferType():
            return PortKind.IMAGE
        case ValueType() as value:
            return _kind_of_value(value)
        case _:
            return PortKind.ANY


def _kind_by_flow(patch: Patch, node_id: str, block_type: type[Block], spec: PortSpec, most: int) -> PortKind:
    """Return the kind of a port in at most so many steps.

    Blocks for any data, and blocks for any number of dimensions, pass on what they get. An output for which that is
    unknown looks like the inputs that it feeds.
    """
    declared = kind_of_port(block_type, spec)
    if declared not in _OPEN or not most:
        return declared
    ref = PortRef(node_id, spec.name)
    found = declared
    if spec.is_input:
        source = patch.source_of(ref)
        found = _kind_at_end(patch, source, most - 1) if source is not None else declared
    elif rule := _SAME.match((spec.dtype_rule or spec.shape).strip()):
        inputs = [name.strip() for name in (rule[1] or "").split(",")] if rule[1] else list(block_type.ports)[:1]
        kinds = (_kind_at_end(patch, PortRef(node_id, name), most - 1) for name in inputs)
        found = next((kind for kind in kinds if kind is not PortKind.ANY), declared)
    if found is PortKind.ANY and not spec.is_input:
        targets = (c.target for c in patch.connections_of(node_id) if c.source == ref)
        kinds = (_declared_at(patch, target) for target in targets)
        found = next((kind for kind in kinds if kind is not PortKind.ANY), declared)
    return found if declared is PortKind.ANY or found is PortKind.IMAGE else declared


def _kind_at_end(patch: Patch, ref: PortRef, most: int) -> PortKind:
    ref = patch.leaf(ref) or ref
    block_type = patch.block_type(ref.node)
    spec = block_type.ports.get(ref.port) if block_type is not None else None
    return _kind_by_flow(patch, ref.node, block_type, spec, most) if block_type and spec else PortKind.ANY


def _declared_at(patch: Patch, ref: PortRef) -> PortKind:
    ref = patch.leaf(ref) or ref
    block_type = patch.block_type(ref.node)
    spec = block_type.ports.get(ref.port) if block_type is not None else None
    return kind_of_port(block_type, spec) if block_type and spec else PortKind.ANY


def _kind_of_tensor(tensor: TensorType) -> PortKind:
    if tensor.nnz is not None:
        return PortKind.INTEGER
    return PortKind.FLOAT if len(tensor.stored_shape) == 1 else PortKind.IMAGE


def _kind_of_value(value: ValueType) -> PortKind:
    if value.weak:
        return PortKind.NUMBER
    if value.components > 1:
        return PortKind.VECTOR
    return PortKind.FLAG if value.is_boolean else PortKind.FLOAT if value.is_float else PortKind.INTEGER


def type_text(patch: PatchContents, ref: PortRef, spec: PortSpec) -> str:
    """Return the type of a port's data as a short text."""
    if not isinstance(patch, InnerPatch) or not patch.infers_types:
        return str(spec.dtype)
    match patch.flow(ref, is_input=spec.is_input):
        case None:
            return "not known yet"
        case TensorType() as tensor:
            return _tensor_text(tensor)
        case ValueType(weak=True):
            return "number"
        case found:
            return str(found)


def _tensor_text(tensor: TensorType) -> str:
    """Return the type of one example."""
    if tensor.nnz is not None:
        return f"at most {tensor.nnz} ones of {tensor.shape[0]}"
    return f"{tensor.dtype}{list(tensor.stored_shape)}"
