"""Texts as Qt's tooltips show them."""

from app.theme.fonts import code_font
from app.widgets.marked_text import marked_html


def as_html(text: str) -> str:
    """Return a tooltip for Qt: the first line stands out, marked code has its font, and quoted code its columns."""
    first, *rest = marked_html(text).splitlines()
    code = f"<span style=\"font-family: '{code_font().family()}'\">{{}}</span>"
    lines = [f"<b>{first}</b>", *(code.format(line) if line.startswith(" ") else line for line in rest)]
    return "<p style='white-space: pre; margin: 0'>" + "<br>".join(lines) + "</p>"
