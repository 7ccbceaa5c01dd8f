"""The needs of commands: a patch, an engine, a selection of some kind."""

from collections.abc import Callable

from warploom.app.commands.actions import Need
from warploom.app.docks.dock import Editor
from warploom.engine.patch.groups.functions import function_of
from warploom.engine.patch.inner_patch import inner_kind


class Needs:
    """The needs that several commands of one editor share."""

    def __init__(self, editor: Editor) -> None:
        self._session, self._canvas = session, canvas = editor.session, editor.canvas
        self._selected = canvas.scene.selection_settled, canvas.selection_changed, session.replaced
        bridge = editor.bridge
        self.patch = Need(lambda: session.patch is not None, (session.replaced,))
        #: A patch that has a file.
        self.file = Need(lambda: session.path is not None, (session.replaced, session.changed))
        #: A running engine.
        self.engine = Need(
            lambda: session.engine is not None and not bridge.has_stopped, (session.engine_changed, bridge.stopped)
        )
        #: An engine that compiles.
        self.compiles = Need(lambda: bridge.is_preparing, (bridge.preparing,))
        #: A recorded frame is shown in place of the present.
        self.past = Need(lambda: bridge.moment is not None, (bridge.looked_back,))
        self.undoable = Need(lambda: self._undo_name() is not None, (session.changed,))
        self.redoable = Need(lambda: self._redo_name() is not None, (session.changed,))
        self.node = self._selection(lambda: bool(canvas.selected()))
        self.one_node = self._selection(lambda: len(canvas.selected()) == 1)
        #: A block or a connection.
        self.wired = self._selection(lambda: self.node.is_met() or self.connection.is_met())
        #: Two blocks or more; below, three or more.
        self.several = self._selection(lambda: len(canvas.selected()) > 1)
        self.many = self._selection(lambda: len(canvas.selected()) > 2)
        self.connection = self._selection(lambda: bool(canvas.scene.selected_connections()))
        #: A connection that leads through dots; a session changes when dots do.
        self.dotted = Need(self._has_dots, (*self._selected, session.changed))
        #: A frame; below, a block or a frame, and anything.
        self.frame = self._selection(lambda: bool(canvas.scene.frames.selected()))
        self.copyable = self._selection(lambda: self.node.is_met() or self.frame.is_met())
        self.selection = self._selection(lambda: self.copyable.is_met() or self.connection.is_met())
        #: A connection that carries numbers; below, one whose numbers are checked.
        self.checkable = self._selection(lambda: canvas.edits.checkable is not None)
        self.check = self._selection(self._is_checked)
        #: A block in a region.
        self.member = self._selection(canvas.edits.has_members)
        #: A block that runs before or after another one without a connection.
        self.ordered = Need(canvas.edits.has_orders, (*self._selected, session.changed))
        #: A group.
        self.group = self._selection(lambda: any(map(canvas.patch.is_group, canvas.selected())))
        #: A group that is a function's; below, one that is not.
        changing = (*self._selected, session.changed)
        self.instance = Need(lambda: any(map(self._function, canvas.selected())), changing)
        self.plain_group = Need(lambda: self.group.is_met() and not self.instance.is_met(), changing)
        #: One block that holds a patch.
        self.inner_patch = self._selection(self._holds_patch)

    def region_type(self, kind: str) -> Need:
        """Return the need for a block, and an available region type of this kind to wrap it in."""
        return self._selection(lambda: self.node.is_met() and self._canvas.edits.region_type(kind) is not None)

    def undo_text(self) -> str:
        """Return the present text of the undo command."""
        return _named("&Undo", self._undo_name())

    def redo_text(self) -> str:
        """Return the present text of the redo command."""
        return _named("&Redo", self._redo_name())

    def _selection(self, is_met: Callable[[], bool]) -> Need:
        return Need(is_met, self._selected)

    def _undo_name(self) -> str | None:
        return self._session.patch.history.undo_name if self._session.patch else None

    def _redo_name(self) -> str | None:
        return self._session.patch.history.redo_name if self._session.patch else None

    def _has_dots(self) -> bool:
        lines = self._canvas.scene.connections
        return any(lines[chosen].dots for chosen in self._canvas.scene.selected_connections())

    def _is_checked(self) -> bool:
        checkable = self._canvas.edits.checkable
        return checkable is not None and self._canvas.patch.sentinel_of(checkable.source) is not None

    def _function(self, node: str) -> str:
        node_of = self._canvas.patch.nodes
        return function_of(node_of[node]) if node in node_of else ""

    def _holds_patch(self) -> bool:
        selected = self._canvas.selected()
        patch = self._canvas.patch
        return len(selected) == 1 and (patch.is_group(selected[0]) or inner_kind(patch, selected[0]) is not None)


def _named(word: str, name: str | None) -> str:
    return f"{word} {name}".replace("&&", "&") if name else word
