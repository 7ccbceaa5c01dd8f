"""Write the pages of the book that the code can tell: each block, the examples, the command line.

`conf.py` calls `write_pages`. A page whose text has not changed is left alone, so that Sphinx reads only the others.
"""

import json
import re
from collections.abc import Iterable
from itertools import groupby
from pathlib import Path

import click

from warploom.app.cli.command_line import cli
from warploom.app.documents.gallery import Example, examples_by_type, find_examples
from warploom.app.edits.example_patch import example_patch
from warploom.app.view_models.block_help import HelpItem, help_sections, paragraphs
from warploom.engine.blocktypes.block import Block
from warploom.engine.catalogue.catalogue import default_catalogue
from warploom.engine.export.python_script import python_script
from warploom.engine.runtime.check.check_patch import check_patch
from warploom.engine.types import scalars, vectors

ROOT = Path(__file__).parents[1]
#: Nothing else is in these, so a page of a block that is gone is deleted.
BLOCKS, COMMANDS = (ROOT / "book" / "reference" / name for name in ("blocks", "command_line"))
GALLERY = ROOT / "book" / "reference" / "examples.md"
#: A table that `types.md` includes.
TYPES = ROOT / "book" / "reference" / "element_types.inc"

_CODE = re.compile(r"(`[^`]+`)")
_SPECIAL = re.compile(r"([\\*_\[\]<>|~^$#{}])")


def write_pages(make_examples: bool = True) -> None:
    """Write all pages; `make_examples` says whether blocks get a patch in which they run, which takes a minute."""
    blocks = [block for block in default_catalogue().all() if block.__module__.startswith("warploom.blocks.")]
    examples = {example.path: example for example in find_examples()}
    shipped = {type_id: examples[path] for type_id, (path, _) in examples_by_type().items()}
    pages = {BLOCKS / f"{block.id}.md": block_page(block, shipped.get(block.id), make_examples) for block in blocks}
    pages[BLOCKS / "index.md"] = blocks_page(blocks)
    pages[GALLERY] = gallery_page(examples.values())
    pages[TYPES] = types_table()
    pages |= {COMMANDS / f"{name}.md": command_page(name, command) for name, command in cli.commands.items()}
    pages[COMMANDS / "index.md"] = commands_page()
    for path, text in pages.items():
        path.parent.mkdir(exist_ok=True)
        if not path.exists() or path.read_text("utf-8") != text:
            path.write_text(text, "utf-8")
    for path in [*BLOCKS.glob("*.md"), *COMMANDS.glob("*.md")]:
        if path not in pages:
            path.unlink()


def block_page(block: type[Block], example: Example | None, make_example: bool) -> str:
    """Return the page of a block type; `example` is a shipped one that has such a block."""
    parts = [
        f"# {marked(block.title)}",
        f"`{block.id}`, {block.category}",
        *map(marked, paragraphs(block.__doc__ or "")),
    ]
    for title, items in help_sections(block).items():
        parts += [f"## {title}", _table(title, items)]
    parts += _shipped(example) if example is not None else []
    if make_example:
        parts += ["## A patch that runs", f"```{{code-block}} python\n{example_script(block)}\n```"]
    return _page(parts)


def example_script(block: type[Block]) -> str:
    """Return a script that builds and runs the patch of Shift+F1, as `warploom export` writes it, without options."""
    patch, _ = example_patch(block, default_catalogue(), check_patch)
    script = python_script(patch, ROOT / "example.py").replace(f"{ROOT}/", "")
    head, build = script[: script.index("def main()")].rstrip().split("def build()")
    imports = [
        line
        for line in head.splitlines()
        if line.startswith(("import numpy", "from warploom")) and not line.endswith("Frozen")
    ]
    run = "with Engine(build()) as engine:\n    engine.step()"
    return "\n".join([*imports, "", "", f"def build(){build}", "", "", run])


def _table(title: str, items: Iterable[HelpItem]) -> str:
    if title == "Kernels":
        return "\n".join(f"- `{item.name}`" for item in items)
    return table(
        ("name", "what", "takes"), [(f"`{item.name}`", marked(item.doc), marked(item.facts)) for item in items]
    )


def _shipped(example: Example) -> list[str]:
    """Return a link to the example that Shift+F1 opens, with its film."""
    link = f"[{marked(example.title)}](../examples.md#{example.path.stem})"
    return ["## Example", f"{link}, {_command(example)}", *_film(example, 3)]


def blocks_page(blocks: Iterable[type[Block]]) -> str:
    """Return the list of all blocks by category."""
    parts = [
        "# Blocks",
        "Each block of the library, by category. `warploom blocks` prints the same, and **F1** shows it.",
    ]
    for category, members in groupby(sorted(blocks, key=lambda b: (b.category, b.title)), key=lambda b: b.category):
        found = list(members)
        rows = [(f"[{marked(block.title)}]({block.id}.md)", marked(block.summary)) for block in found]
        parts += [f"## {category}", table(("block", "what it does"), rows)]
        parts.append("\n".join(["```{toctree}", ":hidden:", "", *(block.id for block in found), "```"]))
    return _page(parts)


def gallery_page(examples: Iterable[Example]) -> str:
    """Return the page of the examples, by theme, with their films."""
    parts = ["# Examples", "The patches of the gallery. Each opens by its name, as in `warploom particles`."]
    for theme, members in groupby(examples, key=lambda example: example.theme):
        parts.append(f"## {theme or 'Others'}")
        for each in members:
            parts += [
                f"({each.path.stem})=\n### {marked(each.title)}",
                f"{_command(each)}. {marked(each.description)}",
                _links(each),
                *_film(each, 2),
            ]
    return _page(parts)


def _links(example: Example) -> str:
    """Return links to the blocks of an example, by title."""
    nodes = json.loads(example.path.read_bytes())["nodes"]
    found = [default_catalogue().get(name) for name in sorted({node["type"] for node in nodes})]
    blocks = sorted((block.title, block.id) for block in found if block is not None)
    return "Blocks: " + ", ".join(f"[{marked(title)}](blocks/{name}.md)" for title, name in blocks)


def _command(example: Example) -> str:
    return f"`warploom {example.path.stem}`"


def _film(example: Example, up: int) -> list[str]:
    return [f"![{marked(example.title)}]({'../' * up}{example.film.relative_to(ROOT)})"] if example.film else []


def types_table() -> str:
    """Return the table of the element types: their bytes, and their names in numpy and in CUDA C++."""
    types = [getattr(module, name) for module in (scalars, vectors) for name in module.__all__]
    types.sort(key=lambda each: (each.components if each.kind == "vector" else 0, each.kind))
    rows = [
        (
            f"`{each}`",
            str(each.size_bytes),
            f"`{each.numpy.base}`",
            f"`{each.cuda_name}`",
            marked(each.__doc__ or f"{each.components} of `{each.of}`"),
        )
        for each in types
    ]
    return table(("type", "bytes", "numpy", "CUDA C++", "what"), rows) + "\n"


def commands_page() -> str:
    """Return the list of all commands."""
    rows = [
        (f"[`{name}`]({name}.md)", marked(command.get_short_help_str(200))) for name, command in cli.commands.items()
    ]
    parts = ["# Command line", marked(cli.help or ""), table(("command", "what it does"), rows)]
    return _page([*parts, "\n".join(["```{toctree}", ":hidden:", "", *cli.commands, "```"])])


def command_page(name: str, command: click.Command) -> str:
    """Return the page of a command: what it does, and its arguments and options."""
    context = click.Context(command, info_name=f"warploom {name}", parent=None, **cli.context_settings)
    usage = " ".join([f"warploom {name}", *command.collect_usage_pieces(context)])
    records = [record for each in command.get_params(context) if (record := each.get_help_record(context)) is not None]
    rows = [(marked(f"`{declaration}`"), marked(text)) for declaration, text in records]
    return _page(
        [
            f"# {name}",
            f"```{{code-block}} text\n{usage}\n```",
            marked(command.help or ""),
            table(("option", "what"), rows),
        ]
    )


def table(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Return a table in Markdown."""
    heads = tuple(heads)
    lines = [heads, ("-",) * len(heads), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def marked(text: str) -> str:
    """Return a text of the code, in which only backticks have a meaning, as one line of Markdown."""
    parts = _CODE.split(" ".join(text.split()))
    return "".join(part.replace("|", r"\|") if part.startswith("`") else _SPECIAL.sub(r"\\\1", part) for part in parts)


def _page(parts: Iterable[str]) -> str:
    return "\n\n".join(part for part in parts if part) + "\n"


if __name__ == "__main__":
    write_pages()
