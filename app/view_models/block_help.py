"""A block type's help as sections and as HTML, and the kernel files that it declares."""

import inspect
from collections.abc import Iterable
from dataclasses import dataclass
from html import escape
from pathlib import Path

from warploom.app.edits.nodes import parameter_label
from warploom.app.view_models.parameter_text import parameter_facts
from warploom.app.view_models.tooltips import port_facts
from warploom.app.widgets.marked_text import marked_html
from warploom.engine.blocktypes.block import Block
from warploom.engine.descriptions.entries import Kernel
from warploom.engine.descriptions.ports import PortSpec
from warploom.engine.kernel_sources.image import KERNELS_FOLDER
from warploom.engine.types.dtype import any_type


@dataclass(frozen=True)
class HelpItem:
    """A port, value, parameter or kernel: its name in files and scripts, and in the editor; what it takes; its help."""

    name: str
    label: str
    facts: str = ""
    doc: str = ""


def kernel_files(block_type: type[Block]) -> list[Path]:
    """Return the kernel files that a block type declares and that exist; files beside its own source come first."""
    folders = [folder for folder in (block_type.source_folder(), KERNELS_FOLDER) if folder is not None]
    launched = getattr(getattr(block_type, "content", None), "kernel", None)  # for a block made from a kernel
    sources = [value.source for value in (*vars(block_type).values(), launched) if isinstance(value, Kernel)]
    names = dict.fromkeys(name for s in sources if (name := s if isinstance(s, str) else s.file) is not None)
    found = (next((folder / name for folder in folders if (folder / name).is_file()), None) for name in names)
    return [path for path in found if path is not None]


def help_sections(block_type: type[Block]) -> dict[str, list[HelpItem]]:
    """Return the ports, values, parameters and kernels of a block type by heading, without empty sections."""

    def ports(specs: Iterable[PortSpec]) -> list[HelpItem]:
        return [HelpItem(spec.name, spec.name, f"{_type(spec)}, {port_facts(spec)}", spec.doc) for spec in specs]

    sections = {
        "Inputs": ports(block_type.inputs()),
        "Outputs": ports(block_type.outputs()),
        "Values": [
            HelpItem(spec.name, spec.name, f"{spec.type} {spec.unit}".rstrip(), spec.doc)
            for spec in block_type.value_outputs()
        ],
        "Parameters": [
            HelpItem(spec.name, parameter_label(spec.name), ". ".join(parameter_facts(spec)), spec.doc)
            for spec in block_type.parameters.values()
        ],
        "Kernels": [HelpItem(path.name, path.name) for path in kernel_files(block_type)],
    }
    return {title: items for title, items in sections.items() if items}


def help_html(block_type: type[Block]) -> str:
    """Return the help of a block type as HTML."""
    parts = [f"<h3>{escape(block_type.title)}</h3>", f"<p class=faint>{block_type.category} · {block_type.id}</p>"]
    parts += [f"<p>{_inline(paragraph)}</p>" for paragraph in paragraphs(block_type.__doc__ or "")]
    for title, items in help_sections(block_type).items():
        parts.append(f"<h4>{title}</h4>" + "".join(map(_item, items)))
    return "\n".join(parts)


def paragraphs(docstring: str) -> list[str]:
    """Return the paragraphs of a block type's help, each on one line."""
    return [" ".join(text.split()) for text in inspect.cleandoc(docstring).split("\n\n")]


def _type(spec: PortSpec) -> str:
    return "any type" if spec.dtype is any_type else str(spec.dtype)


def _item(item: HelpItem) -> str:
    doc = f"<br>{_inline(item.doc)}" if item.doc else ""
    facts = f"<br><span class=faint>{escape(item.facts)}</span>" if item.facts else ""
    return f"<p><b>{escape(item.label)}</b>{doc}{facts}</p>"


def _inline(text: str) -> str:
    return marked_html(" ".join(text.split()))
