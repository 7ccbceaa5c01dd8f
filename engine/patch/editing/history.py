"""The undo history, with one entry for each action of a person."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from warploom.engine.patch.changes import Change, NodeAdded, NodeRemoved, ParameterChanged, merged, what_is_set


@dataclass(slots=True)
class Edit:
    """One undoable step: a name for the menu, and its changes in order.

    Edits with the same `gesture` merge: all moves of one slider drag are one step.
    """

    name: str
    changes: list[Change] = field(default_factory=list)
    gesture: object = None
    #: The size of the arrays and texts in it.
    size_bytes: int = 0
    #: The number of changes after they were merged last.
    merged: int = 0

    def merge(self) -> None:
        """Combine changes of the same property, between those of nodes and connections, into one, to the last value."""
        kept: list[Change] = []
        places: dict[object, int] = {}
        newest: dict[int, Change] = {}
        for change in self.changes:
            key, index = what_is_set(change), len(kept)
            if key is None:
                places.clear()
            elif (known := places.setdefault(key, index)) != index:
                newest[known] = change
                continue
            kept.append(change)
        for index, change in newest.items():
            kept[index] = merged(kept[index], change)
        self.changes, self.merged = kept, len(kept)
        self.size_bytes = sum(map(_size_bytes, kept))


#: A gesture has at most so many changes that are not merged yet, and as many as are.
_MOST_APART = 64
#: The types of most values, whose size does not count.
_SMALL = frozenset((float, int, bool, type(None)))
#: Stands for the saved state when undo can no longer reach it.
OUT_OF_REACH = Edit("")


class History:
    """The edits that can be undone and redone; the patch applies them.

    It keeps at most `limit` edits whose arrays and texts have `most_bytes` together, and always the last edit: of more,
    the oldest are dropped.
    """

    def __init__(self, limit: int = 1000, most_bytes: int = 1 << 28) -> None:
        self._done: list[Edit] = []
        self._undone: list[Edit] = []
        self._limit, self._most_bytes = limit, most_bytes
        self._done_bytes = 0  # of all edits in `_done`
        self._saved: Edit | None = None

    @property
    def undo_name(self) -> str | None:
        """The name of the edit that undo would take back."""
        return self._done[-1].name if self._done else None

    @property
    def redo_name(self) -> str | None:
        """The name of the edit that redo would apply."""
        return self._undone[-1].name if self._undone else None

    @property
    def last(self) -> Edit | None:
        """The edit that undo would take back."""
        return self._done[-1] if self._done else None

    @property
    def names(self) -> list[str]:
        """The names of the edits so far, oldest first."""
        return [edit.name for edit in self._done]

    @property
    def undone_names(self) -> list[str]:
        """The names of the edits that redo would apply, the next one first."""
        return [edit.name for edit in reversed(self._undone)]

    @property
    def is_saved(self) -> bool:
        """True when the patch equals its last saved version."""
        return (self._done[-1] if self._done else None) is self._saved

    def mark_saved(self) -> None:
        """Mark the present state as saved. Later changes of the same gesture become a separate step."""
        self._end_gesture()
        self._saved = self._done[-1] if self._done else None

    @property
    def changes(self) -> Iterator[Change]:
        """All changes, done and undone."""
        return (change for edit in (*self._done, *self._undone) for change in edit.changes)

    def rewrite(self, new: Callable[[Change], Change]) -> None:
        """Replace all changes, done and undone."""
        for edit in (*self._done, *self._undone):
            edit.changes = list(map(new, edit.changes))

    def goes_on(self, gesture: object) -> bool:
        """Return whether an edit of this gesture would become a part of the last one."""
        return gesture is not None and bool(self._done) and self._done[-1].gesture == gesture

    def record(self, edit: Edit) -> None:
        """Add a finished edit, and drop the edits that could be redone."""
        if not edit.changes:
            return
        self._undone.clear()
        size_bytes = sum(map(_size_bytes, edit.changes))
        if self.goes_on(edit.gesture):
            last = self._done[-1]
            last.changes += edit.changes
            last.size_bytes += size_bytes
            self._done_bytes += size_bytes
            # Most moves of a drag cost no more than an entry of a list.
            if size_bytes or len(last.changes) > 2 * last.merged + _MOST_APART:
                self._merge(last)
        else:
            self._end_gesture()
            edit.size_bytes = size_bytes
            self._done_bytes += size_bytes
            self._done.append(edit)
        while len(self._done) > self._limit or (self._done_bytes > self._most_bytes and len(self._done) > 1):
            oldest = self._done.pop(0)
            self._done_bytes -= oldest.size_bytes
            # Undoing everything now leads to the state after `oldest`, and no longer to the state before it.
            if self._saved is None:
                self._saved = OUT_OF_REACH
            elif self._saved is oldest:
                self._saved = None

    def take_undo(self) -> Edit | None:
        """Move the last edit to the redo side and return it."""
        if not self._done:
            return None
        self._end_gesture()
        edit = self._done.pop()
        self._done_bytes -= edit.size_bytes
        self._undone.append(edit)
        return edit

    def take_redo(self) -> Edit | None:
        """Move the last undone edit back and return it."""
        if not self._undone:
            return None
        edit = self._undone.pop()
        self._done_bytes += edit.size_bytes
        self._done.append(edit)
        return edit

    def _end_gesture(self) -> None:
        """Let the next edit be a step of its own, after a save, an undo or another edit."""
        last = self._done[-1] if self._done else None
        if last is not None and last.gesture is not None:
            self._merge(last)
            last.gesture = None

    def _merge(self, edit: Edit) -> None:
        self._done_bytes -= edit.size_bytes
        edit.merge()
        self._done_bytes += edit.size_bytes


def _size_bytes(change: Change) -> int:
    """Return the size of the arrays and texts in a change."""
    if isinstance(change, ParameterChanged):
        if type(change.value) in _SMALL and type(change.previous) in _SMALL:
            return 0
        return _value_bytes(change.value) + _value_bytes(change.previous)
    if isinstance(change, NodeAdded | NodeRemoved):
        return sum(map(_value_bytes, change.node.parameters.values()))
    return 0


def _value_bytes(value: object) -> int:
    if isinstance(value, Mapping):
        return sum(map(_value_bytes, value.values()))
    return len(value) if isinstance(value, str) else getattr(value, "nbytes", 0)
