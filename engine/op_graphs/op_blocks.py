"""The ops as block types, and their catalogue: the same palette, search, ports, settings and help as for blocks."""

import types
from functools import cache
from typing import ClassVar

from engine.blocktypes.block import Block
from engine.blocktypes.parameters import ParameterSpec
from engine.catalogue.fixed_catalogue import FixedCatalogue
from engine.descriptions.builder import BlockBuilder
from engine.descriptions.ports import PortSpec
from engine.ops import CATEGORIES, OPS, OpInput, OpSetting, OpType
from engine.types import any_type


class OpBlock(Block, abstract=True):
    """An op as a block type of an op graph. An input with a default is a parameter of the same name too."""

    op: ClassVar[OpType]

    def describe(self, build: BlockBuilder) -> None:
        """An op is a part of a kernel and launches nothing."""


@cache
def op_block(op: OpType) -> type[OpBlock]:
    """Return an op as a block type."""
    made: type[OpBlock] = types.new_class(op.title.replace(" ", ""), (OpBlock,), {"abstract": True})
    made.op, made.id, made.version, made.title, made.category = op, op.id, 1, op.title, op.category
    made.tags, made.regions, made.renamed = op.tags, op.regions, {}
    made.__doc__, made.summary = op.doc, op.doc
    made.ports = {port.name: _input(port) for port in op.inputs}
    shown = [port for port in op.outputs if not port.is_internal]
    made.ports |= {port.name: PortSpec(port.name, "out", any_type, port.doc, "") for port in shown}
    made.parameters = {setting.name: _parameter(setting) for setting in op.values}
    return made


def _input(port: OpInput) -> PortSpec:
    optional = port.optional or port.default is not None
    return PortSpec(port.name, "in", any_type, port.doc, "same", optional=optional, delayed=port.delayed)


def _parameter(setting: OpSetting) -> ParameterSpec:
    kind = {"float": float, "int": int, "bool": bool, "str": str}[setting.type]
    # Structural, so that the blocks that compute single numbers, which there are none of here, don't seem to fit.
    return ParameterSpec(
        *(setting.name, setting.type, kind(setting.default), setting.doc, setting.minimum, setting.maximum),
        choices=setting.choices,
        structural=True,
    )


class OpCatalogue(FixedCatalogue):
    """The ops of the table, by category as the table orders them."""

    member: ClassVar[str] = "an op"


@cache
def op_catalogue() -> OpCatalogue:
    """Return the catalogue of ops."""
    shown = sorted((op for op in OPS.values() if not op.is_internal), key=lambda op: CATEGORIES.index(op.category))
    return OpCatalogue({type_id: op_block(op) for type_id, op in OPS.items()}, [op_block(op) for op in shown])
