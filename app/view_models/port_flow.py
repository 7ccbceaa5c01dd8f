"""The type of a port: a block's declared type or, inside a block, the type inferred from the whole patch."""

from app.theme.port_style import PortKind, kind_of_port
from engine.blocktypes.block import Block
from engine.descriptions.ports import PortSpec
from engine.ops.types import BufferType, ValueType
from engine.patch.changes import PortRef
from engine.patch.contents import PatchContents
from engine.patch.inner_patch import InnerPatch
from engine.tensor_ir.types import TensorType


def infers_types(patch: PatchContents) -> bool:
    """True for a patch whose port types are inferred from the whole patch."""
    return isinstance(patch, InnerPatch) and patch.infers_types


def kind_at(patch: PatchContents, node_id: str, block_type: type[Block], spec: PortSpec) -> PortKind:
    """Return the kind of a node's port. In an op graph, buffers look like images, and literals are thin.

    In a network, columns of numbers look like floats, positions of ones like integers, and everything else like images.
    """
    if not isinstance(patch, InnerPatch) or not patch.infers_types:
        return kind_of_port(block_type, spec)
    match patch.flow(PortRef(node_id, spec.name), is_input=spec.is_input):
        case TensorType() as tensor:
            return _kind_of_tensor(tensor)
        case BufferType():
            return PortKind.IMAGE
        case ValueType() as value:
            return _kind_of_value(value)
        case _:
            return PortKind.ANY


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
