"""The catalogue: every block type that can be placed, found in packages and by search."""

from __future__ import annotations

import difflib
import importlib
import pkgutil
from functools import cache
from importlib.metadata import entry_points

from engine.blocktypes.block import Block, defined_blocks
from engine.diagnostics import PatchError, WarploomError

ENTRY_POINT_GROUP = "warploom.blocks"
#: The block library that ships with Warploom; it needs no installed metadata to be found.
LIBRARY = "blocks"


class Catalogue:
    """The block types by id. Types defined in Python after the catalogue was made are found as well."""

    def get(self, type_id: str) -> type[Block] | None:
        """Return a block type, or None when there is none of this id."""
        return defined_blocks.get(type_id)

    def require(self, type_id: str) -> type[Block]:
        """Return a block type; PatchError that suggests the nearest ids when there is none."""
        block_type = self.get(type_id)
        if block_type is None:
            near = difflib.get_close_matches(type_id, defined_blocks, n=3)
            hint = f"; did you mean {' or '.join(near)}?" if near else "; `warploom blocks` lists them"
            raise PatchError(f"block type must be in the catalogue, got {type_id!r}{hint}")
        return block_type

    def all(self) -> list[type[Block]]:
        """Return every block type, by category and title."""
        return sorted(defined_blocks.values(), key=lambda block: (block.category, block.title))

    def search(self, text: str) -> list[type[Block]]:
        """Return the block types that match every word of `text` in title, id, tags, category or help, best first."""
        words = text.lower().split()
        ranked = [(rank, block) for block in self.all() if (rank := _rank(block, words)) is not None]
        return [block for _, block in sorted(ranked, key=lambda item: item[0])]


def _rank(block: type[Block], words: list[str]) -> int | None:
    title, names = block.title.lower(), " ".join((block.id, *block.tags, block.category)).lower()
    help_text = (block.__doc__ or "").lower()
    rank = 0
    for word in words:
        if title.startswith(word):
            continue
        if word in title:
            rank += 1
        elif word in names:
            rank += 2
        elif word in help_text:
            rank += 4
        else:
            return None
    return rank


def load_package(name: str) -> None:
    """Import a package and every module in it, which defines its block types; WarploomError names what failed."""
    try:
        package = importlib.import_module(name)
        for module in pkgutil.walk_packages(getattr(package, "__path__", []), name + "."):
            importlib.import_module(module.name)
    except Exception as problem:  # a block file may fail in any way, and must not end the program
        raise WarploomError(f"block package {name} must import, got {type(problem).__name__}: {problem}") from problem


@cache
def default_catalogue() -> Catalogue:
    """Return the catalogue of the shipped library and of every installed package in the entry-point group."""
    load_package(LIBRARY)
    for entry in entry_points(group=ENTRY_POINT_GROUP):
        if entry.value != LIBRARY:
            load_package(entry.value)
    return Catalogue()
