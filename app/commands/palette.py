"""The command palette: every entry of the menu bar, to be found by typing."""

from collections.abc import Iterator

from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QMenu

from warploom.app.commands.actions import WORDS, Actions
from warploom.app.widgets.chooser import Choice

#: Between the parts of a place in the menus.
SEPARATOR = " › "


def palette_choices(actions: Actions) -> list[Choice]:
    """Return a choice for each entry of the menus, as they would open now."""
    actions.look()
    return [choice for menu in actions.bar() for choice in _entries(menu, plain(menu.title()), is_enabled=True)]


def _entries(menu: QMenu, place: str, *, is_enabled: bool) -> Iterator[Choice]:
    menu.aboutToShow.emit()  # this fills menus whose entries depend on the present state
    for action in menu.actions():
        submenu = action.menu()
        if isinstance(submenu, QMenu):
            inside = f"{place}{SEPARATOR}{plain(action.text())}"
            yield from _entries(submenu, inside, is_enabled=is_enabled and action.isEnabled())
        elif not action.isSeparator():
            yield _choice(action, place, is_enabled=is_enabled and action.isEnabled())


def _choice(action: QAction, place: str, *, is_enabled: bool) -> Choice:
    keys = action.shortcut().toString(QKeySequence.SequenceFormat.NativeText)
    text = plain(action.text())
    if action.isCheckable():
        keys = f"{'on' if action.isChecked() else 'off'}   {keys}".rstrip()
    words = f"{action.statusTip()} {action.property(WORDS) or ''}"
    return Choice(text, action.trigger, place, keys, action.icon(), is_enabled, words)


def plain(text: str) -> str:
    """Return the text of an action without marks of keys."""
    return text.replace("&&", "\0").replace("&", "").replace("\0", "&")
