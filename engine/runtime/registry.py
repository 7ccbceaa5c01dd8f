"""The block registry: the engine's own blocks, one a node, with their descriptions.

Blocks are made and described here and nowhere else, on the engine's side; what a block's code raises becomes a
diagnostic on its node.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from engine.blocktypes.block import Block
from engine.blocktypes.builder import describe
from engine.blocktypes.catalogue import Catalogue
from engine.blocktypes.description import BlockDescription
from engine.diagnostics import Diagnostic, PatchError, WarploomError, error
from engine.patch.changes import Node


@dataclass
class PlacedBlock:
    """A node's block. `block` is None for an unknown type; `description` is None until described without error."""

    node: Node
    block: Block | None
    description: BlockDescription | None = None
    problems: list[Diagnostic] = field(default_factory=list)


class BlockRegistry:
    """The placed blocks by node id.

    `on_change` hears the id of a node that came or went; `folder` tells where relative media paths start.
    """

    def __init__(self, catalogue: Catalogue, on_change: Callable[[str], None], folder: Callable[[], Path]) -> None:
        self._catalogue = catalogue
        self._on_change = on_change
        self._folder = folder
        self.placed: dict[str, PlacedBlock] = {}

    def register(self, node: Node) -> None:
        """Make the block of a node."""
        self.placed[node.id] = self._place(node)
        self._on_change(node.id)

    def unregister(self, node_id: str) -> None:
        """Let a node's block go."""
        del self.placed[node_id]
        self._on_change(node_id)

    def set_region(self, node_id: str, region: str) -> None:
        """Put a node's block into another region."""
        placed = self.placed[node_id]
        placed.node = msgspec.structs.replace(placed.node, region=region)
        self._on_change(node_id)

    def is_live(self, node_id: str, parameter: str) -> bool:
        """True when a parameter reaches kernels as an argument and takes no part in the description."""
        block = self.placed[node_id].block
        return block is not None and parameter in block.parameters and not block.parameters[parameter].structural

    def set_parameter(self, node_id: str, parameter: str, value: object) -> None:
        """Give a block a parameter value; None stands for the default."""
        placed = self.placed[node_id]
        if placed.block is None or parameter not in placed.block.parameters:
            return  # a placeholder keeps its values in the patch
        spec = placed.block.parameters[parameter]
        placed.block.set(parameter, self._resolve(spec.files, spec.default if value is None else value))
        if spec.structural:
            placed.description = None

    def describe(self) -> None:
        """Describe every block that has no description yet; problems stay on the placed block."""
        for placed in self.placed.values():
            if placed.block is None or placed.description is not None:
                continue
            try:
                placed.description, placed.problems = describe(placed.block), []
            except WarploomError as problem:
                placed.problems = [error(str(problem), node=placed.node.id)]
            except Exception as problem:  # noqa: BLE001 - a block's code may raise anything
                text = f"describe of {placed.node.type} raised {type(problem).__name__}: {problem}"
                placed.problems = [error(text, node=placed.node.id, remedy="mend the block's code")]

    def _place(self, node: Node) -> PlacedBlock:
        block_type = self._catalogue.get(node.type)
        if block_type is None:
            text = f"block type must be in the catalogue, got {node.type}"
            remedy = "install the package it comes from, or delete the node"
            return PlacedBlock(node, None, problems=[error(text, node=node.id, remedy=remedy)])
        block = block_type(node.id)
        placed = PlacedBlock(node, block)
        try:
            for name, value in node.parameters.items():
                if name in block_type.parameters:
                    block.set(name, self._resolve(block_type.parameters[name].files, value))
        except PatchError as problem:  # set while the type was unknown, when nothing could check it
            remedy = "delete the node and place it again"
            return PlacedBlock(node, None, problems=[error(str(problem), node=node.id, remedy=remedy)])
        return placed

    def _resolve(self, files: str, value: object) -> object:
        if files.startswith("open") and isinstance(value, str) and value:
            return str(self._folder() / value)
        return value
