"""Region blocks for patches made by hand, and the problems that a check reports."""

from msgspec.structs import replace

from tests.compiler.support.descriptions import i, launch, node, o
from warploom.engine.compiler.checking.check import check_description
from warploom.engine.compiler.description import BlockNode, GraphDescription
from warploom.engine.descriptions.description import BlockDescription
from warploom.engine.descriptions.entries import Control, RegionKind
from warploom.engine.types import u32


def messages(patch: GraphDescription) -> list[tuple[str | None, str | None, str]]:
    return [(d.node, d.port, d.message) for d in check_description(patch).errors]


def region(name: str, kind: RegionKind = RegionKind.WHILE, inside: str = "") -> BlockNode:
    """Return a region block with a condition and the output `index`."""
    ports = (i("condition", u32), o("index", u32, shape="[1]"))
    begin = launch(ports, "condition", threads=(1,))
    control = Control(kind, (begin,), "chosen", branches=("", "else") if kind is RegionKind.IF_ELSE else ("",))
    return BlockNode(name, BlockDescription(ports, (), control=control), inside)


def within(scope: str, block: BlockNode) -> BlockNode:
    return replace(block, region=scope)


def flag(name: str = "flag") -> BlockNode:
    return node(name, o("out", u32, shape="[1]"))
