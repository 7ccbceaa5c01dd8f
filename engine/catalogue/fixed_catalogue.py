"""`FixedCatalogue`: block types of a table, such as the ops of kernels, which don't change while the program runs."""

import difflib
import types
from collections.abc import Collection, Mapping, Sequence

from warploom.engine.blocktypes.block import Block
from warploom.engine.blocktypes.declarations import ValueSpec
from warploom.engine.blocktypes.parameters import ParameterSpec
from warploom.engine.catalogue.catalogue import Catalogue
from warploom.engine.descriptions.builder import BlockBuilder
from warploom.engine.descriptions.checks import shown
from warploom.engine.descriptions.ports import PortSpec
from warploom.engine.diagnostics import Diagnostic, PatchError


class RowBlock(Block, abstract=True):
    """A row of a table as a block type: a part of a block's work, such as an op of a kernel."""

    def describe(self, build: BlockBuilder) -> None:
        """Describe nothing: a part launches no work by itself."""


def row_block(
    type_id: str,
    title: str,
    category: str,
    doc: str,
    ports: Collection[PortSpec | ValueSpec],
    parameters: Collection[ParameterSpec],
    *,
    tags: tuple[str, ...] = (),
    regions: tuple[str, ...] = (),
) -> type[RowBlock]:
    """Return a row of a table as a block type; one with a value output counts as a value block."""
    made: type[RowBlock] = types.new_class(title.replace(" ", ""), (RowBlock,), {"abstract": True})
    made.id, made.version, made.title, made.category = type_id, 1, title, category
    made.tags, made.regions, made.renamed = tags, regions, {}
    made.__doc__ = made.summary = doc
    made.ports = {port.name: port for port in ports if isinstance(port, PortSpec)}
    made.values_out = {port.name: port for port in ports if isinstance(port, ValueSpec)}
    made.is_value = bool(made.values_out)
    made.parameters = {parameter.name: parameter for parameter in parameters}
    return made


class FixedCatalogue(Catalogue):
    """The block types of a table; none comes from a file, and none follows from a node's values."""

    def __init__(self, member: str, types: Mapping[str, type[Block]], shown: Sequence[str]) -> None:
        """`types` are all, by id; `shown` are the ids of those that a person may place, in their order."""
        self.member, self._types, self._shown = member, types, shown

    def get(self, type_id: str) -> type[Block] | None:
        """Return a block type, or None when there is none of this id."""
        return self._types.get(type_id)

    def problem(self, type_id: str) -> Diagnostic | None:
        """Return None: every type in the table is in use."""
        return None

    def require(self, type_id: str) -> type[Block]:
        """Return a block type. Raise PatchError, which suggests the nearest ids, when there is none."""
        found = self.get(type_id) if isinstance(type_id, str) else None
        if found is None:
            near = difflib.get_close_matches(str(type_id), self._types, n=3)
            hint = f"; did you mean {' or '.join(near)}?" if near else ""
            word = self.member.split()[-1]
            raise PatchError(f"{word} must be one that exists, got {shown(type_id)}{hint}")
        return found

    def all(self) -> list[type[Block]]:
        """Return every block type that a person may place."""
        return [self._types[type_id] for type_id in self._shown]
