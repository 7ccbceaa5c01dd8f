"""The boxes of numbers in one column, as wide as the longest number with its unit needs."""

from __future__ import annotations

from collections.abc import Iterable

from app.docks.parameter_editors import NumberEditor, ParameterEditor

_NARROWEST, _WIDEST = 104, 152  # in pixels


def align_numbers(editors: Iterable[ParameterEditor]) -> None:
    """Give all boxes beside sliders one width, so that the sliders above each other have one length."""
    boxes = [editor.box for editor in editors if isinstance(editor, NumberEditor) and editor.slider is not None]
    for box in boxes:
        box.ensurePolished()  # the style is part of what it needs
    needed = max((box.sizeHint().width() for box in boxes), default=_NARROWEST)
    for box in boxes:
        box.setFixedWidth(min(max(needed, _NARROWEST), _WIDEST))
