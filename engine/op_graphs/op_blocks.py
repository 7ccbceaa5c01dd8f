"""The ops as block types, and their catalogue: the same palette, search, ports, settings and help as for blocks."""

import difflib
import types
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

from engine.blocktypes.block import Block
from engine.blocktypes.parameters import ParameterSpec
from engine.catalogue.catalogue import Catalogue
from engine.catalogue.search import search
from engine.descriptions.builder import BlockBuilder
from engine.descriptions.ports import PortSpec
from engine.diagnostics import Diagnostic, PatchError
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


class OpCatalogue(Catalogue):
    """The ops of the table. They don't change while the program runs, and none follows from a node's values."""

    member: ClassVar[str] = "an op"

    def get(self, type_id: str) -> type[Block] | None:
        """Return an op, or None when there is none of this id."""
        op = OPS.get(type_id)
        return None if op is None else op_block(op)

    def problem(self, type_id: str) -> Diagnostic | None:
        """Return None: the table holds what is in use."""
        return None

    def problems(self) -> list[Diagnostic]:
        """Return nothing: ops don't come from files."""
        return []

    def resolve(
        self, type_id: str, said: Mapping[str, Any], folder: Callable[[], Path]
    ) -> tuple[type[Block] | None, Diagnostic | None]:
        """Return an op, whatever is said of its settings."""
        return self.get(type_id), None

    def require(self, type_id: str) -> type[Block]:
        """Return an op; PatchError that suggests the nearest ids when there is none."""
        found = self.get(type_id)
        if found is None:
            near = difflib.get_close_matches(type_id, OPS, n=3)
            hint = f"; did you mean {' or '.join(near)}?" if near else ""
            raise PatchError(f"op must be one of the table, got {type_id!r}{hint}")
        return found

    def all(self) -> list[type[Block]]:
        """Return every op that a person may place, by category as the table orders them."""
        ops = (op for op in OPS.values() if not op.is_internal)
        return [op_block(op) for op in sorted(ops, key=lambda op: CATEGORIES.index(op.category))]

    def search(self, text: str) -> list[type[Block]]:
        """Return the ops that match every word of `text`, best first."""
        return search(self.all(), text)


@cache
def op_catalogue() -> OpCatalogue:
    """Return the catalogue of ops."""
    return OpCatalogue()
