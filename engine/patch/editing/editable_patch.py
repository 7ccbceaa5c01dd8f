"""How a patch is edited: changes become one undo step, listeners follow them, and a failed edit is taken back."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Mapping
from contextlib import AbstractContextManager
from typing import Any, Self

from msgspec.structs import replace

from warploom.engine.catalogue.catalogue import Catalogue
from warploom.engine.descriptions.checks import shown
from warploom.engine.diagnostics import PatchError
from warploom.engine.patch import changes
from warploom.engine.patch.changes import Change, inverse
from warploom.engine.patch.editing.history import Edit, History
from warploom.engine.patch.groups.contents import GroupedContents
from warploom.engine.patch.groups.functions import following
from warploom.engine.patch.organise.annotations import Dots, PinnedViewer, RunOrder
from warploom.engine.patch.organise.osc import OscOut
from warploom.engine.patch.organise.pins import Pin


class EditablePatch(GroupedContents):
    """The contents of a patch, with undo and listeners. `Patch` adds a method for each kind of edit."""

    def __init__(self, catalogue: Catalogue | None = None) -> None:
        super().__init__(catalogue)
        self.history = History()
        #: True while listeners are notified of the changes of an undo or a redo.
        self.is_undoing = False
        self._listeners: list[Callable[[Change], None]] = []
        self._flat_listeners: list[Callable[[Change], None]] = []
        self._when_done: list[Callable[[], None]] = []
        self._has_news = False  # listeners got a change since `when_done` was last called
        self._open_edit: Edit | None = None

    def edit(self, name: str, *, gesture: object = None) -> AbstractContextManager[None]:
        """Make all edits inside one undo step. An exception undoes them."""
        if not isinstance(name, str):
            raise PatchError(f"name of an edit must be a text, got {shown(name)}")
        _check_gesture(gesture)
        return _Step(self, name, gesture)

    def _complete(self, edit: Edit) -> None:
        """Add what follows from an edit: a connection may come and go within it."""
        for followed in following(self, edit.changes) if self.has_groups else ():
            for change in followed:
                self._apply(change, edit)
        for port in [port for port in self.sentinels if not self.feeds(port)]:
            self._apply(changes.SentinelChanged(port, None, self.sentinels[port]), edit)
        for key, note in [*self.annotations.items()]:
            is_loose = isinstance(note, Dots) and changes.PortRef(note.node, note.port) not in self._by_target
            is_loose = is_loose or (isinstance(note, Pin | OscOut) and note.node not in self.nodes)
            if isinstance(note, RunOrder):
                is_loose = not {note.first, note.then} <= self.nodes.keys()
            if isinstance(note, PinnedViewer):  # perhaps of a block inside another one
                is_loose = note.node.partition("/")[0] not in self.nodes
            if is_loose or ((group := getattr(note, "group", "")) and group not in self.nodes):
                self._apply(changes.AnnotationChanged(key, None, note), edit)

    def shelve(self, edit: Callable[[Self], object]) -> None:
        """Make an edit and take it back before listeners are notified. Nothing changes, but redo applies the edit."""
        if not callable(edit):
            raise PatchError(f"edit must be a function of a patch, got {shown(edit)}")
        last, told = self.history.last, (self._listeners, self._flat_listeners, self._when_done)
        self._listeners, self._flat_listeners, self._when_done = [], [], []
        try:
            edit(self)
            if self.history.last is not last:
                self.undo()
        finally:
            self._listeners, self._flat_listeners, self._when_done = told

    def undo(self) -> str | None:
        """Undo the last edit; return its name, or None when there is none."""
        edit = self.history.take_undo()
        if edit is not None:
            self.is_undoing = True
            self.restore(list(map(inverse, reversed(edit.changes))))
        return edit.name if edit else None

    def redo(self) -> str | None:
        """Redo the last undone edit; return its name, or None when there is none."""
        edit = self.history.take_redo()
        if edit is not None:
            self.is_undoing = True
            self.restore(edit.changes)
        return edit.name if edit else None

    def subscribe(
        self,
        listener: Callable[[Change], None] | None,
        when_done: Callable[[], None] | None = None,
        *,
        without_groups: bool = False,
    ) -> Callable[[], None]:
        """Call `listener` with every change from now on. Return a function that ends the subscription.

        `when_done` is called once after all changes of an edit, an undo, a redo or a `restore`; `listener` is None if
        that is enough, since an edit may make thousands of changes. With `without_groups`, the changes are those of
        the patch without its groups, which an engine runs.
        """
        given = [each for each in (listener, when_done) if each is not None]
        if not given or not all(map(callable, given)):
            raise PatchError(f"listener must be a function of a change, got {shown(listener)} and {shown(when_done)}")
        listeners = self._flat_listeners if without_groups else self._listeners
        if listener is not None:
            listeners.append(listener)
        if when_done is not None:
            self._when_done.append(when_done)

        def end() -> None:
            if listener is not None:
                listeners.remove(listener)
            if when_done is not None:
                self._when_done.remove(when_done)

        return end

    def restore(self, changes: list[Change]) -> None:
        """Apply changes unchecked and without an undo step, as loading a file, undo and redo do."""
        try:
            for change in changes:
                self._apply(change)
        finally:
            self.is_undoing = False
            self._tell_done()

    def _do(self, name: str, *made: Change, gesture: object = None) -> None:
        opened = self._open(name, gesture)
        is_whole = False
        try:
            for change in made:
                self._apply(change, opened[0])
            is_whole = True
        finally:
            self._close(opened, is_whole=is_whole)

    def _open(self, name: str, gesture: object) -> _Opened:
        """Open an edit, or continue the one that is open."""
        if type(gesture) is not str:  # the check takes longer
            _check_gesture(gesture)
        outer = self._open_edit
        self._open_edit = edit = outer or Edit(name, gesture=gesture)
        return edit, outer, len(edit.changes), self.edition

    def _close(self, opened: _Opened, *, is_whole: bool) -> None:
        """Close an edit, or take its part back unless it `is_whole`."""
        edit, outer, start, edition = opened
        try:
            if is_whole and outer is None and (self.edition != edition or self._flat is not None):
                is_whole = False
                self._complete(edit)
                is_whole = True
        finally:
            try:
                while not is_whole and len(edit.changes) > start:
                    self._apply(inverse(edit.changes.pop()))
            finally:
                self._open_edit = outer
                if outer is None:
                    self.history.record(edit)
                    self._tell_done()

    def _apply(self, change: Change, edit: Edit | None = None) -> None:
        """Apply a change, and add it to `edit` once it is done. If a listener raises, the edit is taken back."""
        if isinstance(change, changes.NodeRemoved):  # a node's connections are removed before it
            for connection in self.connections_of(change.node.id):
                self._apply(changes.Disconnected(connection))
            for port in [port for port in self.sentinels if port.node == change.node.id]:
                self._apply(changes.SentinelChanged(port, None, self.sentinels[port]))
        elif isinstance(change, changes.BlockTypesChanged):
            self._carry_over(change.types)
        change = self._carried(change)
        self._take(change)
        if edit is not None:
            edit.changes.append(change)
        self._has_news = True
        flat = self._flat_changes if self._flat is not None else (change,)  # a listener may make further changes
        for listener in tuple(self._listeners):
            listener(change)
        for listener in tuple(self._flat_listeners):
            for each in flat:
                listener(each)

    def _carried(self, change: Change) -> Change:
        """Return a change in which old names of ports and parameters are replaced by the present ones.

        An old name stays if this node still uses it, or if the present name already has a value or connection.
        """
        match change:
            case changes.NodeAdded(node) if renamed := self._renamed(node.type):
                if not renamed.keys().isdisjoint({**node.parameters, **node.curves}):
                    held = {name: _carried_names(getattr(node, name), renamed) for name in ("parameters", "curves")}
                    return changes.NodeAdded(replace(node, **held))
            case changes.ParameterChanged() | changes.CurveChanged() if change.node in self.nodes:
                node = self.nodes[change.node]
                known = node.parameters if isinstance(change, changes.ParameterChanged) else node.curves
                if (
                    change.parameter not in known
                    and (new := self._renamed(node.type).get(change.parameter)) is not None
                ):
                    return replace(change, parameter=new)
            case changes.Connected(connection):
                made = self._present_ends(connection)
                return change if made is connection or made.target in self._by_target else changes.Connected(made)
            case changes.Disconnected(connection) if self._by_target.get(connection.target) != connection:
                return changes.Disconnected(self._present_ends(connection))
            case changes.SentinelChanged(port):
                present = self._present(port)
                return change if present in self.sentinels else replace(change, port=present)
        return change

    def _tell_done(self) -> None:
        """Notify listeners that the changes are complete, unless an edit is still open."""
        if self._has_news and self._open_edit is None:
            self._has_news = False
            for tell in tuple(self._when_done):
                tell()

    def _carry_over(self, types: Collection[str]) -> None:
        """Move values and connections to the present names of ports and parameters, for nodes of changed types."""
        for node in list(self.nodes.values()):
            renamed = self._renamed(node.type) if node.type in types else {}
            for old, new in renamed.items():
                if old in node.parameters and new not in node.parameters:
                    self._apply(changes.ParameterChanged(node.id, new, node.parameters[old], None))
                    self._apply(changes.ParameterChanged(node.id, old, None, node.parameters[old]))
            for old, keys in node.curves.items():
                if old in renamed and renamed[old] not in node.curves:
                    self._apply(changes.CurveChanged(node.id, renamed[old], keys, ()))
                    self._apply(changes.CurveChanged(node.id, old, (), keys))
            for connection in self.connections_of(node.id) if renamed else ():
                made = self._present_ends(connection)
                if made != connection and made.target not in self._by_target.keys() - {connection.target}:
                    self._apply(changes.Disconnected(connection))
                    self._apply(changes.Connected(made))
            for port in [port for port in self.sentinels if port.node == node.id] if renamed else ():
                present = self._present(port)
                if present != port and present not in self.sentinels:
                    sentinel = self.sentinels[port]
                    self._apply(changes.SentinelChanged(port, None, sentinel))
                    self._apply(changes.SentinelChanged(present, sentinel, None))


def _check_gesture(gesture: object) -> None:
    if not isinstance(gesture, Hashable):
        raise PatchError(f"gesture must be a text or another object that never changes, got {shown(gesture)}")


#: An open edit, the one that it is a part of, and the number of changes and the patch's edition at its begin.
_Opened = tuple[Edit, Edit | None, int, int]


class _Step:
    """The context of an edit, which begins when it is entered."""

    __slots__ = ("_gesture", "_name", "_opened", "_patch")

    def __init__(self, patch: EditablePatch, name: str, gesture: object) -> None:
        self._patch, self._name, self._gesture = patch, name, gesture
        self._opened: _Opened | None = None

    def __enter__(self) -> None:
        if self._opened is not None:
            raise PatchError(f"edit {self._name!r} must be left before it is entered again")
        self._opened = self._patch._open(self._name, self._gesture)

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        opened, self._opened = self._opened, None
        assert opened is not None
        self._patch._close(opened, is_whole=kind is None)


def _carried_names(held: Mapping[str, Any], renamed: Mapping[str, str]) -> dict[str, Any]:
    """Return what a node holds by parameter, under present names; an old name stays if the present one is taken."""
    return {old if (new := renamed.get(old, old)) != old and new in held else new: value for old, value in held.items()}
