"""Phases 1 and 2: finds all errors of a patch at once, and the layout of every buffer.

A block with an error gets no layouts, and blocks that depend on it get no follow-up errors. A block keeps its layouts
while its description and its input layouts are unchanged.
"""

from collections.abc import Container, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import cached_property

import msgspec

from warploom.engine.compiler.checking.dataflow import Dataflow, trace_dataflow
from warploom.engine.compiler.checking.layouts import Layouts, NodeLayouts, node_layouts
from warploom.engine.compiler.checking.loops import loop_layouts
from warploom.engine.compiler.checking.validation import unchecked, unconnected
from warploom.engine.compiler.description import GraphDescription
from warploom.engine.compiler.inlining.sentinels import checked_port
from warploom.engine.descriptions.description import BlockDescription
from warploom.engine.diagnostics import Diagnostic
from warploom.engine.libraries.call import WorkspaceOf
from warploom.engine.patch.changes import PortRef
from warploom.engine.types.layout import Layout


class Checked(msgspec.Struct, frozen=True, dict=True):
    """The results of a check.

    `nodes` holds the layouts and launches of every block without errors, each after its sources, except those of
    delayed inputs. `dataflow` has the connections of the blocks.
    """

    description: GraphDescription
    dataflow: Dataflow
    nodes: dict[str, NodeLayouts]
    #: Blocks that, like the sources of their inputs, are unchanged since the previous result.
    kept: AbstractSet[str]
    errors: tuple[Diagnostic, ...] = ()
    warnings: tuple[Diagnostic, ...] = ()

    @cached_property
    def layouts(self) -> Layouts:
        """Layouts by (node, port or internal buffer); an input has its source's layout."""
        return {PortRef(node, name): layout for node, n in self.nodes.items() for name, layout in n.layouts.items()}

    @property
    def advice(self) -> tuple[Diagnostic, ...]:
        """Warnings that a running patch does not show: optional inputs that should be connected."""
        return tuple(
            unconnected(node, name)
            for node in self.description.nodes
            for name in node.description.rules.advised
            if name not in self.dataflow.incoming[node.id]
        )


def check_description(
    description: GraphDescription, previous: Checked | None = None, workspace_of: WorkspaceOf | None = None
) -> Checked:
    """Return every error and warning of a description, and the layouts and launches of the blocks without errors.

    `workspace_of` returns the scratch memory of library calls, or raises an error for unsupported ones.
    """
    flow = trace_dataflow(description)
    known, fed_before = (previous.nodes, previous.dataflow.incoming) if previous is not None else ({}, {})
    kept: set[str] = set()
    is_settled = True  # true while the output layouts of every block are unchanged
    nodes: dict[str, NodeLayouts] = {}
    errors = list(flow.errors)
    by_id, incoming, broken = description.by_id, flow.incoming, flow.broken
    late: dict[str, set[str]] = {}
    for connection in flow.late:
        late.setdefault(connection.target.node, set()).add(connection.target.port)
    looped, unknown = loop_layouts(description, flow) if flow.looped else ({}, [])
    errors += unknown
    in_loops = {target.node for target in looped}
    alike = _Alike(workspace_of)
    for node_id in flow.level:
        if node_id in broken:
            is_settled = False
            continue
        block, connected = by_id[node_id].description, incoming[node_id]
        old = known.get(node_id)
        if old is not None and old.description is block and connected == fed_before[node_id]:
            kept.add(node_id)
            if is_settled and node_id not in in_loops:  # layouts in loops may change later
                nodes[node_id] = old
                continue
        is_late = node_id in late
        given = _layouts_of(node_id, block, connected, nodes, late[node_id] if is_late else (), looped)
        if given is None:
            continue
        if old is not None and old.description is block and old.inputs == given:
            nodes[node_id] = old
            continue
        made = node_layouts(block, given, outputs_only=True) if is_late else alike.layouts(block, given)
        is_settled = is_settled and (old is None or _gives_the_same(made, old))
        if made.problems:
            errors += _located(node_id, made.problems, connected)
        else:
            nodes[node_id] = made
    for node_id in late:  # check these again now that their sources are known
        if node_id not in nodes:
            continue
        block, connected = by_id[node_id].description, incoming[node_id]
        given = _layouts_of(node_id, block, connected, nodes)
        if given is None:
            continue
        old = known.get(node_id)
        if old is not None and old.description is block and old.inputs == given:
            nodes[node_id] = old
        else:
            nodes[node_id] = node_layouts(block, given, workspace_of)
            errors += _located(node_id, nodes[node_id].problems, connected)
    warnings = [*flow.warnings, *_unchecked(description, nodes)]
    return Checked(description, flow, nodes, kept, tuple(errors), tuple(warnings))


def _unchecked(description: GraphDescription, nodes: Mapping[str, NodeLayouts]) -> Iterator[Diagnostic]:
    """Yield a warning for each sentinel that can't check its elements."""
    if not any(kind.is_sentinel for kind in description.kinds):
        return
    for node in description.nodes:
        if node.description.is_sentinel and node.id in nodes:
            source = description.source_of[checked_port(node.id)]
            problem = unchecked(source, nodes[node.id].layouts[checked_port(node.id).port])
            if problem is not None:
                yield problem


def _gives_the_same(made: NodeLayouts, old: NodeLayouts) -> bool:
    names = made.description.rules.output_of
    return not made.problems and all(made.layouts[name] == old.layouts.get(name) for name in names)


def _layouts_of(
    node: str,
    block: BlockDescription,
    connected: Mapping[str, PortRef],
    nodes: Mapping[str, NodeLayouts],
    late: Container[str] = (),
    looped: Mapping[PortRef, Layout | None] = {},
) -> tuple[Layout | None, ...] | None:
    """Return the layouts of a block's inputs; None when a block that it depends on has an error.

    `late` inputs have layouts only on loops; the result is None while a loop's layout is unknown.
    """
    found: list[Layout | None] = []
    for name in block.rules.input_of:
        source = connected.get(name)
        if source is None:
            found.append(None)
            continue
        if name in late:
            layout = looped.get(PortRef(node, name))
            if layout is None and PortRef(node, name) in looped:
                return None
            found.append(layout)
            continue
        feeding = nodes.get(source.node)
        if feeding is None:
            return None
        found.append(feeding.layouts[source.port])
    return tuple(found)


class _Alike:
    """The layouts of blocks with the same description and inputs. A patch has many such blocks; they are computed once.

    Equal layouts become one object, so that most comparisons are of identities.
    """

    def __init__(self, workspace_of: WorkspaceOf | None) -> None:
        self._workspace_of = workspace_of
        self._known: dict[tuple[int, ...], NodeLayouts] = {}
        self._canonical: dict[Layout, Layout] = {}

    def layouts(self, block: BlockDescription, inputs: tuple[Layout | None, ...]) -> NodeLayouts:
        """Return the layouts of a block with this description, computed from its inputs."""
        key = (id(block), *map(id, inputs))
        found = self._known.get(key)
        if found is None:
            canonical = self._canonical
            # The result keeps the description and the inputs alive, so no other object gets their ids.
            found = self._known[key] = node_layouts(block, inputs, self._workspace_of)
            for name, layout in found.layouts.items():
                found.layouts[name] = canonical.setdefault(layout, layout)
        return found


def _located(node: str, problems: Sequence[Diagnostic], sources: Mapping[str, PortRef]) -> list[Diagnostic]:
    """Return a block's problems with its id. A problem with an input's contents also names the input's source."""
    located = []
    for problem in problems:
        source = sources.get(problem.port) if problem.port and problem.found else None
        message = problem.message
        if source is not None and message.endswith(problem.found):
            message = f"{message} from {source}"
        located.append(msgspec.structs.replace(problem, node=node, message=message))
    return located
