"""What flows through a port: of a block what its type declares, of an op what is inferred from the whole graph."""

from app.theme.port_style import PortKind, kind_of_port
from engine.blocktypes.block import Block
from engine.descriptions.ports import PortSpec
from engine.op_graphs.op_patch import OpPatch
from engine.ops.types import BufferType, Type
from engine.patch.changes import PortRef
from engine.patch.contents import PatchContents


def kind_at(patch: PatchContents, node_id: str, block_type: type[Block], spec: PortSpec) -> PortKind:
    """Return the kind of a node's port. In an op graph a buffer looks like an image, and a number written out thin."""
    if not isinstance(patch, OpPatch):
        return kind_of_port(block_type, spec)
    kind = patch.flow(PortRef(node_id, spec.name), is_input=spec.is_input)
    if isinstance(kind, BufferType):
        return PortKind.IMAGE
    if kind is None:
        return PortKind.ANY
    if kind.weak:
        return PortKind.NUMBER
    if kind.components > 1:
        return PortKind.VECTOR
    return PortKind.FLAG if kind.is_boolean else PortKind.FLOAT if kind.is_float else PortKind.INTEGER


def type_text(patch: PatchContents, ref: PortRef, spec: PortSpec) -> str:
    """Return the type of what flows through a port, in a word or a few."""
    if not isinstance(patch, OpPatch):
        return str(spec.dtype)
    kind: Type | None = patch.flow(ref, is_input=spec.is_input)
    if kind is None:
        return "not known yet"
    return "number" if not isinstance(kind, BufferType) and kind.weak else str(kind)
