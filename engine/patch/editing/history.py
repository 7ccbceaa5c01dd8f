"""The undo history, with one entry for each action of a person."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from warploom.engine.patch.changes import Change, NodeAdded, NodeRemoved, ParameterChanged, merge, what_is_set


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

    def record(self, edit: Edit) -> None:
        """Add a finished edit, and drop the edits that could be redone."""
        if not edit.changes:
            return
        self._undone.clear()
        last = self._done[-1] if self._done else None
        if last is not None and edit.gesture is not None and last.gesture == edit.gesture:
            last.changes = _merged(last.changes, edit.changes)
            edit = last
        else:
            self._done.append(edit)
        edit.size_bytes = sum(map(_size_bytes, edit.changes))
        total_bytes = sum(each.size_bytes for each in self._done)
        while len(self._done) > self._limit or (total_bytes > self._most_bytes and len(self._done) > 1):
            oldest = self._done.pop(0)
            total_bytes -= oldest.size_bytes
            # Undoing everything now leads to the state after `oldest`, and no longer to the state before it.
            if self._saved is None:
                self._saved = OUT_OF_REACH
            elif self._saved is oldest:
                self._saved = None

    def take_undo(self) -> Edit | None:
        """Move the last edit to the redo side and return it."""
        return self._move(self._done, self._undone)

    def take_redo(self) -> Edit | None:
        """Move the last undone edit back and return it."""
        return self._move(self._undone, self._done)

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
    match change:
        case ParameterChanged(_, _, value, previous):
            return _value_bytes(value) + _value_bytes(previous)
        case NodeAdded(node) | NodeRemoved(node):
            return sum(map(_value_bytes, node.parameters.values()))
    return 0


def _value_bytes(value: object) -> int:
    if isinstance(value, Mapping):
        return sum(map(_value_bytes, value.values()))
    return len(value) if isinstance(value, str) else getattr(value, "nbytes", 0)


def _merged(changes: list[Change], more: list[Change]) -> list[Change]:
    """Return the changes of both lists. If both set the same property, only one change with the last value remains."""
    result = list(changes)
    places = {what_is_set(change): index for index, change in enumerate(result)}
    for change in more:
        index = places.get(what_is_set(change))
        both = merge(result[index], change) if index is not None else None
        if index is not None and both is not None:
            result[index] = both
        else:
            places.setdefault(what_is_set(change), len(result))
            result.append(change)
    return result
