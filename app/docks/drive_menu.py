"""The menu at a parameter in the inspector: what may drive it, what does, and how to take that away."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QMenu

from app.canvas import driving
from app.canvas.offers import source_title, value_sources
from app.theme.icons import icon
from engine.blocktypes.block import Block
from engine.patch.changes import PortRef
from engine.patch.document import Patch


def fill_drive_menu(
    menu: QMenu,
    patch: Patch,
    targets: Sequence[PortRef],
    *,
    with_new: Callable[[type[Block]], None],
    with_source: Callable[[PortRef], None],
    release: Callable[[], None],
    follow: Callable[[], None],
) -> None:
    """Fill the menu for one parameter of one node, or of several of one type; it calls back what is chosen."""
    menu.clear()
    for inner in menu.findChildren(QMenu, options=Qt.FindChildOption.FindDirectChildrenOnly):
        inner.deleteLater()  # which clearing the menu does not do
    sources = {source for target in targets if (source := patch.source_of(target)) is not None}
    new = menu.addMenu(icon("add"), "Drive with a new")
    new.setToolTipsVisible(True)
    for block_type in driving.drivers(patch, targets[0]):
        action = new.addAction(_plain(block_type.title))
        action.setToolTip(block_type.summary)
        action.triggered.connect(lambda _=False, chosen=block_type: with_new(chosen))
    new.setEnabled(not new.isEmpty())
    present = menu.addMenu("Drive with")
    for source in value_sources(patch, targets[0]):
        action = present.addAction(f"{_plain(source_title(patch, source))}\t{source.node}")
        action.setCheckable(True)
        action.setChecked(sources == {source})
        action.triggered.connect(lambda _=False, chosen=source: with_source(chosen))
    present.setEnabled(not present.isEmpty())
    if sources:
        menu.addSeparator()
        if len(sources) == 1:
            menu.addAction(f"Go to {_plain(source_title(patch, min(sources, key=str)))}", follow)
        menu.addAction(icon("close"), "Disconnect", release)


def _plain(text: str) -> str:
    """Return a text for a menu, where "&" would mark a key."""
    return text.replace("&", "&&")
