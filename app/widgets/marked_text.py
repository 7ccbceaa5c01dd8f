"""Texts of docstrings, in which backticks mark code, as the editor shows them."""

import re
from html import escape

_CODE = re.compile(r"`([^`]+)`")


def without_marks(text: str) -> str:
    """Return a text for places where code can't have a different font."""
    return text.replace("`", "")


def marked_html(text: str) -> str:
    """Return a text as HTML with code in code's font. Lines stay lines."""
    return _CODE.sub(_code, escape(text, quote=False))


def _code(marked: re.Match[str]) -> str:
    return "\n".join(f"<code>{line}</code>" for line in marked[1].split("\n"))
