"""The names of columns: from the blocks that give them to the buffers that have the same columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from warploom.engine.compiler.description import GraphDescription
from warploom.engine.descriptions.description import BlockDescription
from warploom.engine.descriptions.entries import Entry, KernelEntry, SliceView, buffer_arguments
from warploom.engine.kernel_sources import op_graphs
from warploom.engine.kernel_sources.sources import OpGraphSource
from warploom.engine.patch.changes import PortRef
from warploom.engine.types import Shape
from warploom.engine.types.layout import Layout

#: A name for each position of the last of two axes.
Columns = tuple[str, ...]


def column_names(description: GraphDescription, layouts: Mapping[PortRef, Layout]) -> dict[PortRef, Columns]:
    """Return the names of the columns of ports, by port; ports without names are left out.

    An output has the names that its block gives it. Otherwise it has those of the inputs whose columns it keeps, if all
    inputs with names have the same ones. An output without a name for each of its columns has none.
    """
    found: dict[PortRef, Columns] = {}
    for node in description.nodes:
        for name, columns in node.description.columns:
            port = PortRef(node.id, name)
            if _is_table(layouts[port].shape, columns):
                found[port] = columns
    waiting = list(found)
    while waiting:  # each port changes at most twice: to names, and to none if they differ
        source = waiting.pop()
        for target in description.targets_of.get(source, ()):
            found[target] = found[source]
            block, shape = description.by_id[target.node].description, layouts[target].shape
            for name, columns in _kept(block, target.port, found[source]):
                output = PortRef(target.node, name)
                if name in dict(block.columns) or not _keeps(block, name, shape, layouts[output].shape, columns):
                    continue
                before = found.get(output, columns)
                after = columns if before == columns else ()
                if found.get(output) != after:
                    found[output] = after
                    waiting.append(output)
    return {port: columns for port, columns in found.items() if columns}


def _is_table(shape: Shape, columns: Columns) -> bool:
    return len(shape) == 2 and shape[1] == len(columns)


def _keeps(block: BlockDescription, output: str, read: Shape, made: Shape, columns: Columns) -> bool:
    """True if an output of shape `made` may have these columns of an input; () stands for names that differ."""
    if columns and not _is_table(made, columns):
        return False
    return output in block.view_of or output in dict(block.kept_columns) or read == made


def _kept(block: BlockDescription, name: str, columns: Columns) -> Iterator[tuple[str, Columns]]:
    """Yield the outputs that keep columns of an input, with the names of those that they keep."""
    explicit = dict(block.kept_columns)
    for output in block.outputs:
        view = block.view_of.get(output.name)
        if view is not None:
            if view.source == name and isinstance(view.transform, SliceView):
                cut = view.transform
                yield output.name, columns[cut.start : cut.stop : cut.step] if cut.axis in (1, -1) else columns
        elif output.name in explicit:
            if name in explicit[output.name]:
                yield output.name, columns
        elif name in _read_alike(block, output.name):
            yield output.name, columns


def _read_alike(block: BlockDescription, output: str) -> set[str]:
    """Return the buffers of which an output's elements are computed from the elements at the same place."""
    found: set[str] = set()
    for entry in block.all_entries:
        used = buffer_arguments(entry)
        if any(argument.writes and argument.name == output for argument in used):
            if not _is_elementwise(entry):
                return set()
            found |= {argument.name for argument in used if argument.reads}
    return found


def _is_elementwise(entry: Entry) -> bool:
    source = entry.kernel.source if isinstance(entry, KernelEntry) else None
    return isinstance(source, OpGraphSource) and op_graphs.interface(source).is_elementwise
