"""Icons by what they stand for; the drawings are Material Design Icons, from qtawesome."""

from __future__ import annotations

import qtawesome
from PySide6.QtGui import QIcon

from app.theme import colours

ACTIONS = {
    "actual_pixels": "mdi6.numeric-1-box-outline",
    "add": "mdi6.plus",
    "clear": "mdi6.eraser",
    "close": "mdi6.close",
    "code": "mdi6.code-tags",
    "copy": "mdi6.content-copy",
    "delete": "mdi6.delete-outline",
    "drive": "mdi6.sine-wave",
    "duplicate": "mdi6.content-duplicate",
    "error": "mdi6.alert-circle",
    "fit": "mdi6.fit-to-page-outline",
    "folder": "mdi6.folder-outline",
    "help": "mdi6.help-circle-outline",
    "image": "mdi6.image-outline",
    "info": "mdi6.information-outline",
    "log": "mdi6.text-long",
    "new": "mdi6.file-plus-outline",
    "open": "mdi6.folder-open-outline",
    "paste": "mdi6.content-paste",
    "pause": "mdi6.pause",
    "pin": "mdi6.pin-outline",
    "play": "mdi6.play",
    "profiler": "mdi6.timer-outline",
    "redo": "mdi6.redo",
    "reset": "mdi6.restore",
    "restart": "mdi6.restart",
    "save": "mdi6.content-save-outline",
    "save_picture": "mdi6.image-move",
    "search": "mdi6.magnify",
    "settings": "mdi6.tune-variant",
    "snapshot": "mdi6.camera-outline",
    "step": "mdi6.skip-next",
    "stop": "mdi6.stop",
    "theme": "mdi6.theme-light-dark",
    "to_start": "mdi6.skip-backward",
    "undo": "mdi6.undo",
    "view": "mdi6.eye-outline",
    "warning": "mdi6.alert",
}

CATEGORIES = {
    "buffer": "mdi6.memory",
    "generate": "mdi6.shape-outline",
    "image": "mdi6.image-outline",
    "io": "mdi6.import",
    "math": "mdi6.function-variant",
    "particles": "mdi6.grain",
    "simulation": "mdi6.dots-hexagon",
    "tensor": "mdi6.matrix",
    "values": "mdi6.sine-wave",
}
_OTHER_CATEGORY = "mdi6.cube-outline"


def icon(name: str, colour: str | None = None) -> QIcon:
    """Return the icon of an action, in the text colour unless told otherwise; KeyError when there is none."""
    return _icon(ACTIONS[name], colour)


def category_icon(category: str, colour: str | None = None) -> QIcon:
    """Return the icon of a block category; categories that Warploom does not ship share one."""
    return _icon(CATEGORIES.get(category.lower(), _OTHER_CATEGORY), colour)


def _icon(drawing: str, colour: str | None) -> QIcon:
    theme = colours.current()
    drawn: QIcon = qtawesome.icon(drawing, color=colour or theme.text, color_disabled=theme.text_faint)
    return drawn
