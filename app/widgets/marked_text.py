"""Texts from docstrings, in which backticks mark code, prepared for the editor."""

import re
from html import escape

_CODE = re.compile(r"`([^`]+)`")


def without_marks(text: str) -> str:
    """Return a text without marks, for places where code can't have a different font."""
    return text.replace("`", "")


def marked_html(text: str) -> str:
    """Return a text as HTML, with code in the code font. Line breaks are kept."""
    return _CODE.sub(_code, escape(text, quote=False))


def _code(marked: re.Match[str]) -> str:
    return "\n".join(f"<code>{line}</code>" for line in marked[1].split("\n"))
