"""What flows through a port: of a block what its type declares, inside a block what follows from the whole patch."""

from app.theme.port_style import PortKind, kind_of_port
from engine.blocktypes.block import Block
from engine.descriptions.ports import PortSpec
from engine.network_patches.network_patch import NetworkPatch
from engine.op_graphs.op_patch import OpPatch
from engine.ops.types import BufferType, Type
from engine.patch.changes import PortRef
from engine.patch.contents import PatchContents
from engine.tensor_ir.types import TensorType

#: Patches in which what flows is inferred.
TYPED = (OpPatch, NetworkPatch)


def kind_at(patch: PatchContents, node_id: str, block_type: type[Block], spec: PortSpec) -> PortKind:
    """Return the kind of a node's port. In an op graph a buffer looks like an image, and a number written out thin.

    In a network, columns of numbers look like floats, places of ones like integers, and all else like images.
    """
    ref = PortRef(node_id, spec.name)
    if isinstance(patch, NetworkPatch):
        tensor = patch.flow(ref)
        return PortKind.ANY if tensor is None else _kind_of_tensor(tensor)
    if not isinstance(patch, OpPatch):
        return kind_of_port(block_type, spec)
    kind = patch.flow(ref, is_input=spec.is_input)
    if isinstance(kind, BufferType):
        return PortKind.IMAGE
    if kind is None:
        return PortKind.ANY
    if kind.weak:
        return PortKind.NUMBER
    if kind.components > 1:
        return PortKind.VECTOR
    return PortKind.FLAG if kind.is_boolean else PortKind.FLOAT if kind.is_float else PortKind.INTEGER


def _kind_of_tensor(tensor: TensorType) -> PortKind:
    if tensor.nnz is not None:
        return PortKind.INTEGER
    return PortKind.FLOAT if len(tensor.stored_shape) == 1 else PortKind.IMAGE


def type_text(patch: PatchContents, ref: PortRef, spec: PortSpec) -> str:
    """Return the type of what flows through a port, in a word or a few."""
    if isinstance(patch, NetworkPatch):
        tensor = patch.flow(ref)
        return "not known yet" if tensor is None else _tensor_text(tensor)
    if not isinstance(patch, OpPatch):
        return str(spec.dtype)
    kind: Type | None = patch.flow(ref, is_input=spec.is_input)
    if kind is None:
        return "not known yet"
    return "number" if not isinstance(kind, BufferType) and kind.weak else str(kind)


def _tensor_text(tensor: TensorType) -> str:
    """Return the type of one example."""
    if tensor.nnz is not None:
        return f"at most {tensor.nnz} ones of {tensor.shape[0]}"
    return f"{tensor.dtype}{list(tensor.stored_shape)}"
