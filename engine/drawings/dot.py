"""Boxes and arrows in the language of Graphviz."""


def box(name: str, *lines: str, style: str = "") -> str:
    """Return the statement of a box with these lines of text; `style` has more attributes, as in "style=dashed"."""
    more = f", {style}" if style else ""
    return f'{name} [label="{text(*lines)}"{more}];'


def text(*lines: str) -> str:
    """Return lines as the inside of a quoted string."""
    return "\\n".join(line.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") for line in lines)
