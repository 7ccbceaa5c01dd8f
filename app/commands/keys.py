"""The keys of commands: those of the table, or the person's own, without two commands for one key."""

from collections.abc import Iterable, Mapping, Sequence

from PySide6.QtGui import QKeySequence

from warploom.app.commands.actions import Actions, Command
from warploom.app.documents.editor_state import UserState
from warploom.engine.patch.organise.annotations import COLOURS

#: Keys that the canvas, fields and dialogs need themselves.
_FIXED = ("Return", "Enter", "Esc", "Left", "Right", "Up", "Down", "Shift+Tab")


class Keys:
    """Changes the keys of commands, and keeps changes in the person's state."""

    def __init__(self, actions: Actions, state: UserState) -> None:
        self._actions, self._state = actions, state
        for before, now in _renamed().items():
            if (own := state.keys.pop(before, None)) is not None:
                state.keys.setdefault(now, own)
        for command, keys in list(state.keys.items()):
            if command in actions.commands:
                actions.set_keys(command, keys)
            # Keys of a command that this version lacks stay in the state, for the version that has it.

    @property
    def commands(self) -> Mapping[str, Command]:
        """Every command, by id."""
        return self._actions.commands

    def of(self, command: str) -> Sequence[str]:
        """Return the present keys of a command."""
        return self._state.keys.get(command, self.commands[command].keys)

    def is_changed(self, command: str) -> bool:
        """Return whether the person has changed the keys of a command."""
        return command in self._state.keys

    def refusal(self, command: str, key: str) -> str:
        """Return why a command can't have a key; "" if it can."""
        if not key:
            return "Press the keys first"
        if key in _FIXED:
            return f"{shown_keys([key])} is needed on the canvas and in fields"
        other = self.user(key)
        if other is not None and other != command:
            return f"{shown_keys([key])} belongs to {self.commands[other].name}"
        return ""

    def user(self, key: str) -> str | None:
        """Return the command that has a key."""
        wanted = QKeySequence(key)
        for command in self.commands:
            for known in map(QKeySequence, self.of(command)):
                if known == wanted:
                    return command
        return None

    def give(self, command: str, key: str) -> None:
        """Give a key to a command, besides those that it has; another command loses it."""
        other = self.user(key)
        if other is not None:
            self.set(other, [known for known in self.of(other) if QKeySequence(known) != QKeySequence(key)])
        self.set(command, [*self.of(command), key])

    def set(self, command: str, keys: Sequence[str]) -> None:
        """Set the keys of a command."""
        if tuple(keys) == self.commands[command].keys:
            self._state.keys.pop(command, None)
        else:
            self._state.keys[command] = list(keys)
        self._actions.set_keys(command, keys)

    def reset(self, commands: Iterable[str]) -> None:
        """Return to the keys of the table; a command to which the person gave one of these keys loses it."""
        for command in list(commands):
            for key in self.commands[command].keys:
                other = self.user(key)
                if other is not None and other != command:
                    self.set(other, [known for known in self.of(other) if QKeySequence(known) != QKeySequence(key)])
            self.set(command, self.commands[command].keys)


def _renamed() -> dict[str, str]:
    """Return the ids of commands that had others in earlier versions, by these."""
    return {"edit_frame": "mark", **{f"frame_{name}": f"colour_{name}" for name in COLOURS}}


def shown_keys(keys: Iterable[str]) -> str:
    """Return keys as the system writes them."""
    return ", ".join(QKeySequence(key).toString(QKeySequence.SequenceFormat.NativeText) for key in keys)
