"""Shapes of loops: the layout of a delayed input that depends on its own block's output.

First, all layouts that follow from known ones are computed. If a loop is then still open, each layout of a buffer that
enters the loop is tried: it is followed round the loop until it returns unchanged. If all layouts that do so lead to
the same answer, that is the layout of the loop.
"""

from collections.abc import Iterator, Sequence

from warploom.engine.compiler.checking.dataflow import Dataflow
from warploom.engine.compiler.checking.layouts import node_layouts, outputs_that_follow
from warploom.engine.compiler.description import GraphDescription
from warploom.engine.diagnostics import Diagnostic, Mend, error
from warploom.engine.patch.changes import Connection, PortRef
from warploom.engine.types.layout import Layout

#: Known layouts of ports.
KnownLayouts = dict[PortRef, Layout]
#: The most rounds in which a layout that returned changed is tried again.
_MOST_ROUNDS = 8


def loop_layouts(
    description: GraphDescription, flow: Dataflow
) -> tuple[dict[PortRef, Layout | None], list[Diagnostic]]:
    """Return the layouts of the delayed inputs `flow.looped`, None for unknown ones, and the errors."""
    solver = _Solver(description, flow)
    waiting = list(flow.looped)
    known = solver.propagated({}, {})
    assumed: KnownLayouts = {}
    errors: list[Diagnostic] = []
    still_open = [connection for connection in waiting if connection.source not in known]
    while still_open:
        # Try each by itself, and finally all together: loops that pass through each other have one shape.
        for group in [*([connection] for connection in still_open), still_open]:
            fitting = solver.fitting(group, known, assumed)
            if len(fitting) == 1:
                assumed |= fitting[0]
                known = solver.propagated(known, assumed)
                break
        else:
            break
        still_open = [connection for connection in still_open if connection.source not in known]
    if solver.is_sound:
        errors += [_unknown(flow, c, solver.fitting([c], known, assumed)) for c in still_open]
    return {c.target: _plain(known[c.source]) if c.source in known else None for c in waiting}, errors


class _Solver:
    """The blocks on the loops of a patch and before them."""

    def __init__(self, description: GraphDescription, flow: Dataflow) -> None:
        self._by_id, self._incoming = description.by_id, flow.incoming
        needed = {end.node for c in flow.looped for end in (c.source, c.target)}
        waiting = list(needed)
        while waiting:
            before = {source.node for source in self._incoming[waiting.pop()].values()} - needed
            needed |= before
            waiting += before
        #: False when a block has an error of its own, which may be the reason that a loop is open.
        self.is_sound = needed.isdisjoint(flow.broken) and needed <= flow.level.keys()
        self._order = [node for node in flow.level if node in needed and node not in flow.broken]

    def propagated(self, known: KnownLayouts, assumed: KnownLayouts) -> KnownLayouts:
        """Return all layouts that follow from the known ones and from those assumed for looped inputs."""
        known = dict(known)
        count = -1
        while count != len(known):
            count = len(known)
            for node in self._order:
                block = self._by_id[node].description
                if all(PortRef(node, name) in known for name in block.rules.output_of):
                    continue
                inputs = self._inputs(node, known, assumed)
                unknown = self._incoming[node].keys() - inputs.keys()
                found = outputs_that_follow(block, tuple(map(inputs.get, block.rules.input_of)), unknown)
                known |= {PortRef(node, name): layout for name, layout in found.items()}
        return known

    def fitting(self, group: Sequence[Connection], known: KnownLayouts, assumed: KnownLayouts) -> list[KnownLayouts]:
        """Return the layouts of looped inputs that return unchanged, by input; each distinct answer once."""
        candidates = dict.fromkeys(
            _plain(layout) for connection in group for layout in self._entering(connection, known)
        )
        targets = [connection.target for connection in group]
        found = (self._settled(group, known, assumed, dict.fromkeys(targets, layout)) for layout in candidates)
        return list({tuple(answer.values()): answer for answer in found if answer is not None}.values())

    def _entering(self, connection: Connection, known: KnownLayouts) -> Iterator[Layout]:
        """Yield the known layouts that enter the loop, from the looped input's source backwards."""
        reached, before = {connection.source.node}, [connection.source.node]
        while before:
            for source in self._incoming[before.pop()].values():
                if source in known:
                    yield known[source]
                elif source.node not in reached:
                    reached.add(source.node)
                    before.append(source.node)

    def _settled(
        self, group: Sequence[Connection], known: KnownLayouts, assumed: KnownLayouts, tried: KnownLayouts
    ) -> KnownLayouts | None:
        """Follow the loops with trial layouts for their inputs until the layouts return unchanged."""
        for _ in range(_MOST_ROUNDS):
            found = self.propagated(known, {**assumed, **tried})
            if any(connection.source not in found for connection in group):
                return None
            back = {connection.target: _plain(found[connection.source]) for connection in group}
            if back == tried:
                return tried if self._is_sound_with(found, known, {**assumed, **tried}) else None
            if any(back[target].dtype != layout.dtype for target, layout in tried.items()):
                return None
            tried = back  # a round has added an axis: broadcasting adds none in the next round, but growth does
        return None

    def _is_sound_with(self, found: KnownLayouts, known: KnownLayouts, assumed: KnownLayouts) -> bool:
        """Return whether the layouts in `found` give no block an error."""
        for node in {port.node for port in found.keys() - known.keys()}:
            inputs = self._inputs(node, found, assumed)
            if self._incoming[node].keys() <= inputs.keys():
                block = self._by_id[node].description
                if node_layouts(block, tuple(map(inputs.get, block.rules.input_of))).problems:
                    return False
        return True

    def _inputs(self, node: str, known: KnownLayouts, assumed: KnownLayouts) -> dict[str, Layout]:
        """Return the known layouts of a block's inputs, by name."""
        found = {name: known[source] for name, source in self._incoming[node].items() if source in known}
        for name in self._incoming[node].keys() - found.keys():
            if (layout := assumed.get(PortRef(node, name))) is not None:
                found[name] = layout
        return found


def _plain(layout: Layout) -> Layout:
    """Return the layout as that of a separate buffer, without gaps, as delayed elements are stored."""
    return Layout(layout.dtype, layout.shape)


def _unknown(flow: Dataflow, connection: Connection, fitting: list[KnownLayouts]) -> Diagnostic:
    target = connection.target
    way = " -> ".join(flow.ways[target])
    if fitting:
        found = " or ".join(
            sorted(f"{layout.dtype} {list(layout.shape)}" for answer in fitting for layout in answer.values())
        )
        text = f"shape of the loop {way} must follow from one block, got {found}"
    else:
        text = f"shapes must not follow from themselves, got {way}"
    return error(
        text,
        node=target.node,
        port=target.port,
        remedy="connect an input from which the delayed one's shape follows",
        expected="one shape",
        found=way,
        mend=Mend.CONNECT_LIKE,
    )
