"""Random edits of plain patches, like a person's; some results can't run."""

import random
from dataclasses import replace

from tests.compiler.support import patch_blocks as blocks
from tests.compiler.support.random_patches import RandomPatch
from warploom.engine.compiler.description import BlockNode, GraphDescription
from warploom.engine.compiler.plan import Plan
from warploom.engine.patch.changes import Connection, PortRef

_KINDS = ("rewire", "rewire", "rewire", "add", "add", "insert", "remove", "bypass", "describe")
_KINDS += ("resize", "resize", "resize", "reorder", "two")


def random_edit(chance: random.Random, patch: RandomPatch, plan: Plan) -> RandomPatch:
    """Return the patch with one thing changed; `plan` is the plan of the given patch."""
    return _Editor(chance, patch, plan).edit(chance.choice(_KINDS))


class _Editor:
    def __init__(self, chance: random.Random, patch: RandomPatch, plan: Plan) -> None:
        self._chance = chance
        self._plan = plan
        self._nodes = list(patch.description.nodes)
        self._connections = list(patch.description.connections)
        self._values = dict(patch.values)

    def edit(self, kind: str) -> RandomPatch:
        """Make one change, or two if the kind is "two"."""
        for each in (self._chance.choice(_KINDS[:-1]), self._chance.choice(_KINDS[:-1])) if kind == "two" else (kind,):
            getattr(self, f"_{each}")()
        return RandomPatch(GraphDescription(tuple(self._nodes), tuple(self._connections)), self._values)

    def _outputs(self, like: PortRef | None = None) -> list[PortRef]:
        """Return the outputs of the patch before the edit; with `like`, only those of the same layout."""
        layouts = self._plan.layouts
        wanted = layouts.get(like) if like is not None else None
        there = {node.id for node in self._nodes}
        return [
            port
            for node in self._plan.description.nodes
            for spec in node.description.outputs
            if (port := PortRef(node.id, spec.name)).node in there
            and not spec.append
            and (wanted is None or layouts[port] == wanted)
        ]

    def _free(self) -> list[int]:
        """Return the indices of the connections that may be moved; the connection of a count must stay."""
        appending = {node.id for node in self._nodes if any(spec.append for spec in node.description.outputs)}
        return [n for n, c in enumerate(self._connections) if c.source.node not in appending]

    def _rewire(self) -> None:
        if not self._free():
            return
        number = self._chance.choice(self._free())
        old = self._connections[number]
        choice = self._outputs(old.source)
        if choice:
            self._connections[number] = Connection(self._chance.choice(choice), old.target)

    def _new(self) -> tuple[str, str]:
        """Add a block with one input and maybe a second one; return its id and the second input, or ""."""
        name = f"e{self._chance.randrange(10**6):06}_{len(self._nodes)}"
        kind = self._chance.randrange(5)
        made, second = (
            (blocks.blend(), "y"),
            (blocks.scale(), ""),
            (blocks.copy(), ""),
            (blocks.absorb(), "y"),
            (blocks.mix(), ""),
        )[kind]
        if kind < 2:
            self._values[name] = {"a": self._chance.randrange(1, 2**32)}
        self._nodes.insert(self._chance.randrange(len(self._nodes) + 1), BlockNode(name, made))
        return name, second

    def _add(self) -> None:
        outputs = self._outputs()
        x, y = self._chance.choice(outputs), self._chance.choice(outputs)
        name, second = self._new()
        self._connections.append(Connection(x, PortRef(name, "x")))
        if second:
            self._connections.append(Connection(y, PortRef(name, second)))

    def _insert(self) -> None:
        if not self._free():
            return
        old = self._connections.pop(self._chance.choice(self._free()))
        name, second = self._new()
        self._connections.append(Connection(old.source, PortRef(name, "x")))
        if second:
            self._connections.append(Connection(self._chance.choice(self._outputs()), PortRef(name, second)))
        self._connections.append(Connection(PortRef(name, "out"), old.target))

    def _take_out(self, name: str) -> None:
        self._nodes = [node for node in self._nodes if node.id != name]
        self._connections = [c for c in self._connections if name not in (c.source.node, c.target.node)]

    def _remove(self) -> None:
        feeding = {c.source.node for c in self._connections}
        leaves = [node.id for node in self._nodes if node.id not in feeding]
        if len(self._nodes) > 3 and leaves:
            self._take_out(self._chance.choice(leaves))

    def _bypass(self) -> None:
        """Remove a block and connect its readers to its source."""
        source_of = {c.target: c.source for c in self._connections}
        appending = {node.id for node in self._nodes if any(spec.append for spec in node.description.outputs)}
        middle = [
            node.id
            for node in self._nodes
            if (feeding := source_of.get(PortRef(node.id, "x"))) is not None and not appending & {node.id, feeding.node}
        ]
        if len(self._nodes) < 4 or not middle:
            return
        name = self._chance.choice(middle)
        source = source_of[PortRef(name, "x")]
        fed = [c.target for c in self._connections if c.source.node == name and c.target.node != name]
        self._take_out(name)
        self._connections += [Connection(source, target) for target in fed]

    def _describe(self) -> None:
        """Describe a block again, as after a change and its undo."""
        number = self._chance.randrange(len(self._nodes))
        node = self._nodes[number]
        self._nodes[number] = BlockNode(node.id, replace(node.description))

    def _resize(self) -> None:
        """Change the size of a block that makes numbers; some of its readers may refuse the size.

        The new size is random, or one row more or less, which may just fit the allocation or just not.
        """
        made = [n for n, node in enumerate(self._nodes) if not node.description.inputs and node.description.entries]
        if made:
            number = self._chance.choice(made)
            rows, columns, seed = (self._chance.randint(1, 64) for _ in range(3))
            layout = self._plan.layouts.get(PortRef(self._nodes[number].id, "out"))
            if layout is not None and len(layout.shape) == 2 and self._chance.random() < 0.5:
                rows, columns = max(layout.shape[0] + self._chance.choice((-1, 1)), 1), layout.shape[1]
            self._nodes[number] = BlockNode(self._nodes[number].id, blocks.fresh(rows, columns, seed))

    def _reorder(self) -> None:
        """List the same blocks and connections in another order, as files or undo may."""
        self._chance.shuffle(self._nodes)
        self._chance.shuffle(self._connections)
