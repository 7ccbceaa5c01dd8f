"""Commands as data, and what is made of them: actions, menus and the toolbar."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QAction, QActionGroup, QKeySequence
from PySide6.QtWidgets import QMainWindow, QMenu, QToolBar, QWidget

from app.theme.icons import icon

_ICON = 20


@dataclass(frozen=True)
class Command:
    """Something a person can do: its name, icon and keys, and the function that does it.

    A command with `checked` shows a state; commands of one `group` exclude each other. `canvas_only` keys work only
    while the canvas has the focus, because they mean something else in a panel.
    """

    id: str
    text: str
    run: Callable[[], object]
    icon: str = ""
    keys: tuple[str, ...] = ()
    help: str = ""
    checked: bool | None = None
    group: str = ""
    canvas_only: bool = False

    @property
    def name(self) -> str:
        """The text without its mnemonic and its ellipsis."""
        return self.text.replace("&", "").removesuffix(" …")


@dataclass(frozen=True)
class Menu:
    """A menu: command ids, None for a separator, and menus inside it. `id` names one that is filled later."""

    title: str
    items: Sequence[str | Menu | None] = field(default_factory=tuple)
    id: str = ""


class Actions:
    """The actions of one window, by command id, and those that open its menus, by menu id.

    `before` is called before each command: it enters what was typed.
    """

    def __init__(
        self, window: QMainWindow, commands: Sequence[Command], canvas: QWidget, before: Callable[[], None]
    ) -> None:
        self._window, self._before = window, before
        self.commands = {command.id: command for command in commands}
        self.menus: dict[str, QMenu] = {}
        self._groups: dict[str, QActionGroup] = {}
        self._by_id = {command.id: self._make(command, canvas) for command in commands}

    def __getitem__(self, command: str) -> QAction:
        menu = self.menus.get(command)
        return menu.menuAction() if menu is not None else self._by_id[command]

    def fill_menu_bar(self, menus: Sequence[Menu]) -> None:
        """Add the menus to the window."""
        for menu in menus:
            self._fill(self._window.menuBar().addMenu(menu.title), menu)

    def make_toolbar(self, items: Sequence[str | None]) -> QToolBar:
        """Return a toolbar with these commands; None separates."""
        toolbar = QToolBar("Toolbar", objectName="toolbar", movable=False, iconSize=QSize(_ICON, _ICON))
        for item in items:
            if item is None:
                toolbar.addSeparator()
            else:
                toolbar.addAction(self._by_id[item])
        return toolbar

    def set_enabled(self, commands: Sequence[str], enabled: bool) -> None:
        """Enable or disable commands; a menu's id stands for everything in it."""
        for command in commands:
            self[command].setEnabled(enabled)

    def refresh_icons(self) -> None:
        """Draw all icons again, in the colours of the present theme."""
        for command in self.commands.values():
            if command.icon:
                self._by_id[command.id].setIcon(icon(command.icon))

    def _make(self, command: Command, canvas: QWidget) -> QAction:
        action = QAction(command.text, self._window, objectName=command.id)
        if command.icon:
            action.setIcon(icon(command.icon))
        action.setShortcuts([QKeySequence(keys) for keys in command.keys])
        keys = f" ({action.shortcut().toString(QKeySequence.SequenceFormat.NativeText)})" if command.keys else ""
        action.setToolTip(f"{command.name}{keys}" + (f"\n{command.help}" if command.help else ""))
        action.setStatusTip(command.help)
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
            canvas.addAction(action)
        else:
            self._window.addAction(action)
        return action

    def _fill(self, target: QMenu, menu: Menu) -> None:
        target.setToolTipsVisible(True)
        if menu.id:
            self.menus[menu.id] = target
            target.menuAction().setObjectName(menu.id)
        for item in menu.items:
            if item is None:
                target.addSeparator()
            elif isinstance(item, Menu):
                self._fill(target.addMenu(item.title), item)
            else:
                target.addAction(self._by_id[item])
