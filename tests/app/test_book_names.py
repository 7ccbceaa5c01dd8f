"""The book names menus and keys as the window has them."""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from PySide6.QtGui import QKeySequence
from PySide6.QtWidgets import QMenu

from warploom.app.commands.palette import plain

_BOOK = Path(__file__).parents[2] / "book"
#: "*Run > Profiling*", and before it perhaps "**Ctrl+L** (".
_PLACE = re.compile(r"(?:\*\*([^*]+)\*\*\s\()?(?<!\*)\*([A-Z][^*]* > [^*]*)\*(?!\*)")


def _places(menus: Iterable[QMenu], before: str = "") -> Iterator[tuple[str, str]]:
    """Yield each entry of menus by its place, such as "Run > Profiling > Deep", with its keys."""
    for menu in menus:
        for action in menu.actions():
            place = f"{before}{plain(menu.title())} > {plain(action.text()).removesuffix(' …')}"
            yield place, action.shortcut().toString(QKeySequence.SequenceFormat.PortableText)
            if isinstance(submenu := action.menu(), QMenu):
                yield from _places([submenu], f"{before}{plain(menu.title())} > ")


def test_menus_of_the_book(shared_window: Any) -> None:
    """Each place in the menus that a page names exists, and has the keys that stand before it."""
    places = dict(_places(shared_window.actions_by_id.bar()))
    named = [
        (path.relative_to(_BOOK), keys, " ".join(place.split()).removesuffix(" …"))
        for path in _BOOK.rglob("*.md")
        for keys, place in _PLACE.findall(path.read_text(encoding="utf-8"))
    ]
    assert [each for each in named if each[2] not in places] == []
    assert [each for each in named if each[1] not in ("", places[each[2]])] == []
    assert named, "the book must name menus as *File > Open*"
