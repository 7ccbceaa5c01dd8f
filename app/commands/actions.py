"""Commands and menus as data, and the actions, menu bar, toolbar and context menus made from them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from PySide6.QtCore import QPoint, Qt, SignalInstance
from PySide6.QtGui import QAction, QActionGroup, QKeySequence
from PySide6.QtWidgets import QMainWindow, QMenu, QToolBar, QWidget

from warploom.app.theme.icons import icon

#: The property of an action that holds the words of its command.
WORDS = "words"


@dataclass(frozen=True, eq=False)
class Need:
    """Conditions for a command to be enabled.

    The conditions are checked after each of the signals `changed`, and before a menu is shown.
    """

    is_met: Callable[[], bool]
    changed: tuple[SignalInstance[Any], ...]


@dataclass(frozen=True)
class Command:
    """A command of a person: its name, icon and keys, the function that runs it, and its needs.

    A command with `checked` shows a state; commands of one `group` exclude each other. `canvas_only` keys work only
    while the canvas has the focus, because they mean something else in a panel. `says` returns the text whenever the
    needs are checked. Further `words` of other tools find it in the palette.
    """

    id: str
    text: str
    run: Callable[[], object]
    icon: str = ""
    keys: tuple[str, ...] = ()
    help: str = ""
    needs: Need | None = None
    says: Callable[[], str] | None = None
    checked: bool | None = None
    group: str = ""
    canvas_only: bool = False
    words: str = ""

    @property
    def name(self) -> str:
        """The text without its mnemonic and its ellipsis."""
        return self.text.replace("&", "").removesuffix(" …")


@dataclass(frozen=True)
class Menu:
    """A menu: commands, None for a separator, and submenus; or `fill`, which adds its entries when it opens.

    `if_empty` is shown if `fill` adds no entries.
    """

    id: str
    title: str
    items: Sequence[Command | Menu | None] = ()
    needs: Need | None = None
    fill: Callable[[QMenu], None] | None = None
    if_empty: str = ""


class Actions:
    """The menu bar of one window, its actions by command id, and the actions that open its menus by menu id.

    `before` is called before each command, to apply typed text.
    """

    def __init__(self, window: QMainWindow, menus: Sequence[Menu], canvas: QWidget, before: Callable[[], None]) -> None:
        self._window, self._canvas, self._before = window, canvas, before
        self.commands: dict[str, Command] = {}
        self.menus: dict[str, QMenu] = {}
        self._groups: dict[str, QActionGroup] = {}
        self._needing: dict[Need, list[tuple[QAction, Callable[[], str] | None]]] = {}
        self._by_id: dict[str, QAction] = {}
        for menu in menus:
            shown = window.menuBar().addMenu(menu.title)
            shown.aboutToShow.connect(self.look)
            self._fill(shown, menu)
        for need in self._needing:
            self._watch(need)

    def __getitem__(self, command: str) -> QAction:
        menu = self.menus.get(command)
        return menu.menuAction() if menu is not None else self._by_id[command]

    def bar(self) -> list[QMenu]:
        """Return the menus of the menu bar."""
        menus = (action.menu() for action in self._window.menuBar().actions())
        return [menu for menu in menus if isinstance(menu, QMenu)]

    def set_keys(self, command: str, keys: Sequence[str]) -> None:
        """Give a command other keys."""
        action, known = self._by_id[command], self.commands[command]
        action.setShortcuts([QKeySequence(key) for key in keys])
        shown = f" ({action.shortcut().toString(QKeySequence.SequenceFormat.NativeText)})" if keys else ""
        action.setToolTip(f"{known.name}{shown}" + (f"\n{known.help}" if known.help else ""))

    def look(self) -> None:
        """Enable the commands whose needs are met, and disable the others."""
        for need in self._needing:
            self._look_for(need)

    def make_toolbar(self, items: Sequence[str | None]) -> QToolBar:
        """Return a toolbar with these commands; None is a separator."""
        toolbar = QToolBar("Toolbar", objectName="toolbar", movable=False)
        self._add(toolbar, items)
        return toolbar

    def open_menu(self, items: Sequence[str | None], position: QPoint) -> None:
        """Open a context menu with these commands and menus at a screen position; None is a separator."""
        self.look()
        menu = QMenu(self._window)
        menu.aboutToHide.connect(menu.deleteLater)
        self._add(menu, items)
        menu.popup(position)

    def _add(self, target: QMenu | QToolBar, items: Sequence[str | None]) -> None:
        for item in items:
            if item is None:
                target.addSeparator()
            else:
                target.addAction(self[item])

    def _make(self, command: Command) -> QAction:
        action = QAction(command.text, self._window, objectName=command.id)
        if command.icon:
            action.setIcon(icon(command.icon))
        action.setStatusTip(command.help)
        action.setProperty(WORDS, command.words)
        if command.checked is not None:
            action.setCheckable(True)
            action.setChecked(command.checked)
        if command.group:
            if command.group not in self._groups:
                self._groups[command.group] = QActionGroup(self._window)
            self._groups[command.group].addAction(action)
        action.triggered.connect(lambda *_: (self._before(), command.run()))
        if command.canvas_only:
            action.setShortcutContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
            self._canvas.addAction(action)
        else:
            self._window.addAction(action)
        if command.needs is not None:
            self._needing.setdefault(command.needs, []).append((action, command.says))
        return action

    def _watch(self, need: Need) -> None:
        def look() -> None:
            self._look_for(need)

        for signal in need.changed:
            signal.connect(look)
        look()

    def _look_for(self, need: Need) -> None:
        is_met = need.is_met()
        for action, says in self._needing[need]:
            if says is not None:
                action.setText(says())
            action.setEnabled(is_met)

    def _fill(self, target: QMenu, menu: Menu) -> None:
        target.setToolTipsVisible(True)
        self.menus[menu.id] = target
        target.menuAction().setObjectName(menu.id)
        if menu.needs is not None:
            self._needing.setdefault(menu.needs, []).append((target.menuAction(), None))
        if menu.fill is not None:
            target.aboutToShow.connect(lambda: _refill(target, menu))
        for item in menu.items:
            if item is None:
                target.addSeparator()
            elif isinstance(item, Menu):
                self._fill(target.addMenu(item.title), item)
            else:
                self.commands[item.id], self._by_id[item.id] = item, self._make(item)
                self.set_keys(item.id, item.keys)
                target.addAction(self._by_id[item.id])
        _part_mnemonics(target.actions())


def _part_mnemonics(actions: Sequence[QAction]) -> None:
    """Give each entry of a menu a letter of its own: the marked one, unless an entry above has it, or another one."""
    taken, others = set[str](), list[QAction]()
    for action in actions:
        letter = action.text().partition("&")[2][:1].lower()
        if letter and letter not in taken:
            taken.add(letter)
        elif action.text():
            others.append(action)
    for action in others:
        text = action.text().replace("&", "")
        starts = [at for at, _ in enumerate(text) if not text[at - 1 : at].strip()]
        free = (at for at in (*starts, *range(len(text))) if text[at].isalnum() and text[at].lower() not in taken)
        if (place := next(free, None)) is not None:
            taken.add(text[place].lower())
            text = f"{text[:place]}&{text[place:]}"
        action.setText(text)


def _refill(target: QMenu, menu: Menu) -> None:
    assert menu.fill is not None
    target.clear()
    menu.fill(target)
    if target.isEmpty():
        target.addAction(menu.if_empty).setEnabled(False)
