"""A block type's help as HTML, and the kernel files that it declares."""

import inspect
from collections.abc import Iterable
from html import escape
from pathlib import Path

from warploom.app.edits.nodes import parameter_label
from warploom.app.view_models.parameter_text import parameter_facts
from warploom.app.view_models.tooltips import port_facts
from warploom.app.widgets.marked_text import marked_html
from warploom.engine.blocktypes.block import Block
from warploom.engine.descriptions.entries import Kernel
from warploom.engine.kernel_sources.image import KERNELS_FOLDER

_Row = tuple[str, str, str]


def kernel_files(block_type: type[Block]) -> list[Path]:
    """Return the kernel files that a block type declares and that exist; files beside its own source come first."""
    folders = [folder for folder in (block_type.source_folder(), KERNELS_FOLDER) if folder is not None]
    launched = getattr(getattr(block_type, "content", None), "kernel", None)  # for a block made from a kernel
    sources = [value.source for value in (*vars(block_type).values(), launched) if isinstance(value, Kernel)]
    names = dict.fromkeys(name for s in sources if (name := s if isinstance(s, str) else s.file) is not None)
    found = (next((folder / name for folder in folders if (folder / name).is_file()), None) for name in names)
    return [path for path in found if path is not None]


def help_html(block_type: type[Block]) -> str:
    """Return the help of a block type as HTML."""
    paragraphs = inspect.cleandoc(block_type.__doc__ or "").split("\n\n")
    parts = [f"<h3>{escape(block_type.title)}</h3>", f"<p class=faint>{block_type.category} · {block_type.id}</p>"]
    parts += [f"<p>{_inline(paragraph)}</p>" for paragraph in paragraphs]
    for title, ports in (("Inputs", block_type.inputs()), ("Outputs", block_type.outputs())):
        parts.append(_section(title, ((spec.name, f"{spec.dtype}, {port_facts(spec)}", spec.doc) for spec in ports)))
    values = block_type.value_outputs()
    parts.append(_section("Values", ((spec.name, f"{spec.type} {spec.unit}".rstrip(), spec.doc) for spec in values)))
    facts = ((parameter_label(s.name), ". ".join(parameter_facts(s)), s.doc) for s in block_type.parameters.values())
    parts.append(_section("Parameters", facts))
    parts.append(_section("Kernels", ((path.name, "", "") for path in kernel_files(block_type))))
    return "\n".join(part for part in parts if part)


def _section(title: str, rows: Iterable[_Row]) -> str:
    """Return a heading and a list of name, help and facts; an empty text when there are no rows."""
    items = [
        f"<p><b>{escape(name)}</b>"
        + (f"<br>{_inline(doc)}" if doc else "")
        + (f"<br><span class=faint>{escape(facts)}</span>" if facts else "")
        + "</p>"
        for name, facts, doc in rows
    ]
    return f"<h4>{title}</h4>" + "".join(items) if items else ""


def _inline(text: str) -> str:
    return marked_html(" ".join(text.split()))
