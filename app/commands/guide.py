"""The window "What Warploom can do": each feature with how to use it, from `resources/help/guide.toml`."""

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from html import escape
from itertools import groupby
from pathlib import Path

from PySide6.QtCore import QEvent, QMargins, Qt
from PySide6.QtGui import QKeySequence
from PySide6.QtWidgets import QDialog, QLineEdit, QMenu, QTextBrowser, QVBoxLayout, QWidget

from warploom.app.commands.actions import Actions
from warploom.app.commands.palette import SEPARATOR, plain
from warploom.app.theme import colours
from warploom.app.widgets.marked_text import marked_html

_FILE = Path(__file__).resolve().parents[2] / "resources" / "help" / "guide.toml"
_COMMAND = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True)
class Feature:
    """A feature; `how` names commands as `{id}`, and `partly` says what is missing still."""

    id: str
    group: str
    title: str
    how: str
    partly: str = ""


def features() -> list[Feature]:
    """Return all features, by group."""
    groups = tomllib.loads(_FILE.read_text(encoding="utf-8"))["group"]
    return [Feature(name, each["title"], **found) for each in groups for name, found in each["feature"].items()]


class Guide(QDialog):
    """Lists the features whose texts have all words of the filter. It stays open while the person tries them."""

    def __init__(self, actions: Actions, parent: QWidget) -> None:
        super().__init__(parent, windowTitle="What Warploom can do")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.resize(560, 680)
        self._places = dict(_places(actions))
        self.filter = QLineEdit(placeholderText="Find a feature, a menu or keys", clearButtonEnabled=True)
        self.page = QTextBrowser(objectName="helpPage")
        self.page.document().setDocumentMargin(12)
        column = QVBoxLayout(self, contentsMargins=QMargins(8, 8, 8, 8), spacing=8)
        column.addWidget(self.filter)
        column.addWidget(self.page, 1)
        self.filter.textChanged.connect(self._write)
        self.filter.setFocus()
        self._write()

    def changeEvent(self, event: QEvent) -> None:
        """Write the page in another theme's colours."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange:
            self._write()

    def _write(self) -> None:
        words, theme = self.filter.text().lower().split(), colours.current()
        self.page.document().setDefaultStyleSheet(
            f"h4, .faint {{ color: {theme.text_dim}; }} .partly {{ color: {theme.warning}; }}"
        )
        shown = [(each, html) for each in features() if _has(html := _html(each, self._places), each, words)]
        parts = [
            f"<h4>{escape(title)}</h4>" + "".join(html for _, html in rows)
            for title, rows in groupby(shown, lambda row: row[0].group)
        ]
        self.page.setHtml("".join(parts) or "<p class=faint>Nothing has these words.</p>")


def _html(feature: Feature, places: Mapping[str, str]) -> str:
    def text(marked: str) -> str:
        return _COMMAND.sub(lambda found: places[found[1]], marked_html(marked))

    missing = f"<br><span class=partly>Partly: {text(feature.partly)}</span>" if feature.partly else ""
    return f"<p><b>{escape(feature.title)}</b><br>{text(feature.how)}{missing}</p>"


def _has(html: str, feature: Feature, words: list[str]) -> bool:
    text = f"{feature.group} {re.sub('<[^>]*>', '', html)}".lower()
    return all(word in text for word in words)


def _places(actions: Actions) -> Iterator[tuple[str, str]]:
    """Return the place in the menus of each command and menu, with its present keys, as HTML."""

    def inside(menu: QMenu, place: str) -> Iterator[tuple[str, str]]:
        for action in menu.actions():
            here = f"{place}{SEPARATOR}{plain(action.text()).removesuffix(' …')}"
            keys = action.shortcut().toString(QKeySequence.SequenceFormat.NativeText)
            where = f"<span class=faint>{escape(here)}</span>"
            name = action.objectName() or plain(action.text()).lower().replace(" ", "_")  # entries of docks have none
            yield name, f"<b>{escape(keys)}</b> ({where})" if keys else f"<b>{escape(here)}</b>"
            submenu = action.menu()
            if isinstance(submenu, QMenu):
                yield from inside(submenu, here)

    for menu in actions.bar():
        yield from inside(menu, plain(menu.title()))
