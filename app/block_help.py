"""A block type's help, made from its docstring, ports and parameters."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable
from html import escape

from app.canvas.tooltips import port_facts
from app.kernel_files import kernel_files
from app.parameter_text import parameter_facts
from engine.blocktypes.block import Block

_CODE = re.compile(r"`([^`]+)`")
_Row = tuple[str, str, str]


def help_html(block_type: type[Block]) -> str:
    """Return the help of a block type as HTML."""
    paragraphs = inspect.cleandoc(block_type.__doc__ or "").split("\n\n")
    parts = [f"<h3>{escape(block_type.title)}</h3>", f"<p class=faint>{block_type.category} · {block_type.id}</p>"]
    parts += [f"<p>{_inline(paragraph)}</p>" for paragraph in paragraphs]
    for title, ports in (("Inputs", block_type.inputs()), ("Outputs", block_type.outputs())):
        parts.append(_section(title, ((spec.name, f"{spec.dtype}, {port_facts(spec)}", spec.doc) for spec in ports)))
    values = block_type.value_outputs()
    parts.append(_section("Values", ((spec.name, f"{spec.type} {spec.unit}".rstrip(), spec.doc) for spec in values)))
    parameters = block_type.parameters.values()
    parts.append(
        _section("Parameters", ((spec.name, ". ".join(parameter_facts(spec)), spec.doc) for spec in parameters))
    )
    parts.append(_section("Kernels", ((path.name, "", "") for path in kernel_files(block_type))))
    return "\n".join(part for part in parts if part)


def _section(title: str, rows: Iterable[_Row]) -> str:
    """Return a heading and a list of name, help and facts; nothing when there are no rows."""
    items = [
        f"<p><b>{escape(name)}</b>"
        + (f"<br>{_inline(doc)}" if doc else "")
        + (f"<br><span class=faint>{escape(facts)}</span>" if facts else "")
        + "</p>"
        for name, facts, doc in rows
    ]
    return f"<h4>{title}</h4>" + "".join(items) if items else ""


def _inline(text: str) -> str:
    return _CODE.sub(r"<code>\1</code>", escape(" ".join(text.split()), quote=False))
