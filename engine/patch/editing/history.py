"""The undo history, with one entry for each action of a person."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from warploom.engine.patch.changes import Change, NodeAdded, NodeRemoved, ParameterChanged, merged, what_is_set


@dataclass
class Edit:
    """One undoable step: a name for the menu, and its changes in order.

    Edits with the same `gesture` merge: all moves of one slider drag are one step.
    """

    name: str
    changes: list[Change] = field(default_factory=list)
    gesture: object = None
    #: The size of the arrays and texts in it.
    size_bytes: int = 0
    #: The index in `changes` of each property that is set, once edits were merged.
    places: dict[object, int] = field(default_factory=dict)

    def merge(self, more: list[Change]) -> None:
        """Add the changes of a later edit; a property that both set is changed once, to the last value."""
        if not self.places:
            for index, change in enumerate(self.changes):
                self.places[what_is_set(change)] = index
        for change in more:
            index = self.places.setdefault(what_is_set(change), len(self.changes))
            if index == len(self.changes) or (both := merged(self.changes[index], change)) is None:
                self.changes.append(change)
                self.size_bytes += _size_bytes(change)
            else:
                self.size_bytes += _size_bytes(both) - _size_bytes(self.changes[index])
                self.changes[index] = both


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
        self._saved = self._done[-1] if self._done else None
        if self._saved is not None:
            self._saved.gesture = None

    @property
    def changes(self) -> Iterator[Change]:
        """All changes, done and undone."""
        return (change for edit in (*self._done, *self._undone) for change in edit.changes)

    def rewrite(self, new: Callable[[Change], Change]) -> None:
        """Replace all changes, done and undone."""
        for edit in (*self._done, *self._undone):
            edit.changes = list(map(new, edit.changes))
            edit.places.clear()

    def record(self, edit: Edit) -> None:
        """Add a finished edit, and drop the edits that could be redone."""
        if not edit.changes:
            return
        self._undone.clear()
        last = self._done[-1] if self._done else None
        if last is not None and edit.gesture is not None and last.gesture == edit.gesture:
            self._done_bytes -= last.size_bytes
            last.merge(edit.changes)
            self._done_bytes += last.size_bytes
        else:
            edit.size_bytes = sum(map(_size_bytes, edit.changes))
            self._done_bytes += edit.size_bytes
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
        edit = self._move(self._done, self._undone)
        self._done_bytes -= edit.size_bytes if edit is not None else 0
        return edit

    def take_redo(self) -> Edit | None:
        """Move the last undone edit back and return it."""
        edit = self._move(self._undone, self._done)
        self._done_bytes += edit.size_bytes if edit is not None else 0
        return edit

    @staticmethod
    def _move(source: list[Edit], target: list[Edit]) -> Edit | None:
        if not source:
            return None
        edit = source.pop()
        edit.gesture = None  # a new drag after an undo is a new step
        target.append(edit)
        return edit


def _size_bytes(change: Change) -> int:
    """Return the size of the arrays and texts in a change."""
    if isinstance(change, ParameterChanged):
        return _value_bytes(change.value) + _value_bytes(change.previous)
    if isinstance(change, NodeAdded | NodeRemoved):
        return sum(map(_value_bytes, change.node.parameters.values()))
    return 0


def _value_bytes(value: object) -> int:
    if isinstance(value, int | float):  # most values; others take longer to tell apart
        return 0
    if isinstance(value, Mapping):
        return sum(map(_value_bytes, value.values()))
    return len(value) if isinstance(value, str) else getattr(value, "nbytes", 0)
