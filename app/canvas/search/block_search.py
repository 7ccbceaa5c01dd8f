"""The search for a block type, which places the block alone, at the end of a connection, or in its middle."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from PySide6.QtCore import QObject, QPoint, QPointF, Signal
from PySide6.QtWidgets import QWidget

from warploom.app.canvas.drawing.node_layout import HEADER, PADDING, ROW, node_size
from warploom.app.canvas.search.search_popup import Group, SearchPopup, palette
from warploom.app.documents.gallery import neighbours
from warploom.app.edits import nodes as node_edits
from warploom.app.edits.compatible import fitting_types
from warploom.app.edits.nodes import snapped
from warploom.app.edits.replacing import ends_to_keep, replace
from warploom.engine.blocktypes.block import Block
from warploom.engine.catalogue.search import search
from warploom.engine.descriptions.ports import PortSpec
from warploom.engine.diagnostics import PatchError
from warploom.engine.figures import plural
from warploom.engine.patch.changes import Connection, PortRef, Position
from warploom.engine.patch.document import Patch
from warploom.engine.patch.groups.flat import GROUP
from warploom.engine.patch.rules import End, is_target

_MOST_RECENT = 5
_FUNCTIONS = "Functions"
#: More than the examples connect two types.
_EXAMPLES = 1000
#: How much more the same type counts in examples than one whose id only begins alike.
_OF_TYPE = 20
#: Types in which a person writes what no block does.
_WRITTEN = ("kernel.expression", "kernel.cuda", "value.expression")


@dataclass(frozen=True)
class Replacement:
    """The nodes that the chosen type replaces."""

    nodes: tuple[str, ...]


#: The purpose of the new block: to connect to a port, to go into a connection, to replace nodes, or none of these.
Goal = PortRef | Connection | Replacement | None


class BlockSearch(QObject):
    """The search popup, and the placing of the block type that a person chooses."""

    placed = Signal(str)  # the new node's id
    replaced = Signal(list)  # the ids of the new nodes
    noted = Signal(str)
    refused = Signal(str)  # why the block could not be placed

    def __init__(
        self, parent: QWidget, free_place: Callable[[str], Position], make_room: Callable[[str, Connection], None]
    ) -> None:
        super().__init__(parent)
        self._free_place, self._make_room = free_place, make_room
        self._only_fitting = True
        self._patch = Patch()
        self._goal: Goal = None
        #: Ids of the most recently placed block types, the newest last.
        self.recent: list[str] = []
        self._point, self._scope = QPointF(), ""
        self.popup = SearchPopup(parent)
        self.popup.chosen.connect(self._place)

    def open(
        self,
        patch: Patch,
        position: QPoint,
        point: QPointF,
        goal: Goal,
        scope: str = "",
        *,
        only_fitting: bool = True,
    ) -> None:
        """Show the popup at a position of the canvas; the chosen type is placed at `point` of the scene, in `scope`.

        Unless only those that fit the goal are asked for, the other types follow, and are not connected.
        """
        self._only_fitting = only_fitting
        self._patch, self._point, self._goal, self._scope = patch, point, goal, scope
        match goal:
            case PortRef():
                hint = f"Connect {goal} to {patch.catalogue.member}"
            case Connection():
                hint = f"Insert {patch.catalogue.member}"
            case Replacement(nodes):
                title = patch.title(nodes[0]) if len(nodes) == 1 else f"{len(nodes)} blocks"
                hint = f"Replace {title} by {patch.catalogue.member}"
            case None:
                hint = f"Add {patch.catalogue.member}"
        self.popup.open(position, self._find, hint, only_fitting=only_fitting and goal is not None)

    def _find(self, text: str) -> list[Group]:
        """Return the block types that match a text and fit the goal; without a text and a goal, return the palette."""
        functions = search(node_edits.function_types(self._patch, self._scope), text)
        found = self._patch.catalogue.search(text, self._uses())
        if not text and self._goal is None:
            groups = palette(found, self.recent)
            return [Group(_FUNCTIONS, functions), *groups] if functions else groups
        known = [*functions, *found]
        if isinstance(self._goal, Replacement) and len(old := self._replaced(self._goal)) == 1:
            known = [kind for kind in known if kind not in old]
        found = known
        specs = [self._patch.find_end(ref) for ref in self._ends()]
        for spec in specs:
            found = fitting_types(found, spec, (lambda _: 0) if text else self._uses(), specs[0]) if spec else []
        if isinstance(self._goal, Replacement):
            found = self._like_replaced(self._goal, found)
        fitting = set(found)
        others = [] if self._only_fitting else [block_type for block_type in known if block_type not in fitting]
        if not text:
            return [Group("", found), *palette(others, self.recent)]
        # A type that is called so is meant, even if types fit better whose titles begin so or whose help has the words.
        words = text.lower().split()

        def rank(kind: type[Block]) -> tuple[bool, bool]:
            title = kind.title.lower()
            return title.split() != words, not all(word in title for word in words)

        ranked = sorted([*found, *others], key=rank)
        return [Group("", ranked)] if ranked else self._written(specs)

    def _replaced(self, goal: Replacement) -> set[type[Block]]:
        types = (self._patch.catalogue.get(self._patch.nodes[node].type) for node in goal.nodes)
        return {kind for kind in types if kind is not None}

    def _like_replaced(self, goal: Replacement, kinds: Sequence[type[Block]]) -> list[type[Block]]:
        """Return types, first those without inputs that nothing would feed, of these the ones of the same category."""
        patch = self._patch
        lines = {n: [c for c in patch.connections_of(n) if c.target.node == n] for n in goal.nodes}
        fed = max(len({c.target.port for c in each if not patch.is_value_connection(c)}) for each in lines.values())
        categories = {kind.category for kind in self._replaced(goal)}

        def rank(kind: type[Block]) -> tuple[bool, bool]:
            needed = sum(not spec.optional and spec.name not in kind.parameters for spec in kind.inputs())
            return needed > fed, kind.category not in categories

        return sorted(kinds, key=rank)

    def _written(self, specs: Sequence[End | None]) -> list[Group]:
        """Return what is offered for a text that nothing matches."""
        found = [kind for known in _WRITTEN if (kind := self._patch.catalogue.get(known)) is not None]
        for spec in specs:
            found = fitting_types(found, spec, lambda _: 0, specs[0]) if spec else []
        return [Group("", found, instead=True)] if found else []

    def _uses(self) -> Callable[[type[Block]], int]:
        """Return how much the person uses a block type: those just placed most, then those that the patch has.

        Of those that the person uses equally often, the ones come first that examples connect to such a port most.
        """
        used = Counter(node.type for node in self._patch.nodes.values())
        recent = {known: len(self._patch.nodes) + index for index, known in enumerate(self.recent, 1)}
        near = self._neighbours()
        return lambda kind: recent.get(kind.id, used[kind.id]) * _EXAMPLES + min(near[kind.id], _EXAMPLES - 1)

    def _neighbours(self) -> Counter[str]:
        """Return how often examples connect block types to the port for which one is searched, or to one like it."""
        ends = self._ends()[:1]
        spec = self._patch.find_end(ends[0]) if ends else None
        if spec is None:
            return Counter()
        type_id, is_source = self._patch.nodes[ends[0].node].type, not is_target(spec)
        of_type, of_alike = (
            neighbours().get((known, is_source), Counter()) for known in (type_id, type_id.partition(".")[0])
        )
        return Counter({name: _OF_TYPE * of_type[name] + count for name, count in of_alike.items()})

    def _ends(self) -> list[PortRef]:
        """Return the ports that the new block will be connected to."""
        match self._goal:
            case Connection(source, target):
                return [source, target]
            case PortRef() as port:
                return [port]
            case Replacement(nodes):
                return ends_to_keep(self._patch, nodes)
        return []

    def _place(self, block_type: type[Block]) -> None:
        goal = self._goal
        if isinstance(goal, Replacement):
            self._replace(goal, block_type)
            return
        if isinstance(goal, PortRef) and not self._only_fitting and not self._is_meant(goal, block_type):
            goal = None
        # The pointer is at the first port if something is connected, otherwise on the title bar; at the left edge, or
        # at the right edge if the block feeds something, or at the middle of a block in a connection.
        below = HEADER + PADDING / 2 + ROW / 2 if goal else HEADER / 2
        position = snapped(self._point.x(), self._point.y() - below)
        try:
            if isinstance(goal, Connection):
                settled = partial(self._settled, 0.5, goal=goal)
                placed = node_edits.insert(self._patch, block_type, position, goal, self._scope, settled)
            else:
                settled = partial(self._settled, 1.0 if self._feeds(goal) else 0.0)
                placed = node_edits.place(self._patch, block_type, position, goal, self._scope, settled)
        except PatchError as problem:
            self.refused.emit(str(problem))
        else:
            self._remember(block_type)
            self.placed.emit(placed)

    def _replace(self, goal: Replacement, block_type: type[Block]) -> None:
        try:
            made, lost = replace(self._patch, goal.nodes, block_type)
        except PatchError as problem:
            self.refused.emit(str(problem))
            return
        self._remember(block_type)
        self.replaced.emit(made)
        if lost:
            self.noted.emit(f"{plural(lost, 'connection')} of the replaced block had no place")

    def _remember(self, block_type: type[Block]) -> None:
        if block_type.id != GROUP:  # a function is of one patch
            others = [known for known in self.recent if known != block_type.id]
            self.recent[:] = [*others, block_type.id][-_MOST_RECENT:]

    def _feeds(self, goal: PortRef | None) -> bool:
        spec = self._patch.find_end(goal) if goal is not None else None
        return spec is not None and is_target(spec)

    def _settled(self, share: float, node: str, goal: Connection | None = None) -> Position:
        """Return a free place near a new node's, further to the left by a share of its width, or in a connection."""
        x, y = self._patch.nodes[node].position
        self._patch.move(node, snapped(x - share * node_size(self._patch, node)[0], y))
        if goal is None:
            return self._free_place(node)
        self._make_room(node, goal)
        return self._patch.nodes[node].position

    def _is_meant(self, goal: PortRef, block_type: type[Block]) -> bool:
        """Return whether a person expects a new block to be connected to the selected one.

        A value could drive any of the new block's parameters, so it drives none that the person has not chosen.
        """
        return isinstance(self._patch.find_end(goal), PortSpec) or block_type.is_value
