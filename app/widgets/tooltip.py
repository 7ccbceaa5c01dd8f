"""Texts as Qt's tooltips show them."""

from html import escape

from app.theme.fonts import code_font


def as_html(text: str) -> str:
    """Return a tooltip for Qt: the first line stands out, and quoted code keeps its columns."""
    first, *rest = (escape(line, quote=False) for line in text.splitlines())
    code = f"<span style=\"font-family: '{code_font().family()}'\">{{}}</span>"
    lines = [f"<b>{first}</b>", *(code.format(line) if line.startswith(" ") else line for line in rest)]
    return "<p style='white-space: pre; margin: 0'>" + "<br>".join(lines) + "</p>"
