"""The block registry: the engine's own blocks, one a node, with their descriptions.

Blocks are made and described here and nowhere else, on the engine's side; what a block's code raises becomes a
diagnostic on its node.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from pathlib import Path

import msgspec

from engine.blocktypes.block import describe
from engine.catalogue.catalogue import Catalogue
from engine.diagnostics import Diagnostic, Severity, WarploomError, error
from engine.patch.changes import Node
from engine.runtime.model.block_creation import PlacedBlock, block_failure, place


class BlockRegistry:
    """The placed blocks by node id.

    `on_change` hears the id of a node that came or went; `folder` tells where relative media paths start.
    """

    def __init__(self, catalogue: Catalogue, on_change: Callable[[str], None], folder: Callable[[], Path]) -> None:
        self._catalogue = catalogue
        self._on_change = on_change
        self._folder = folder
        self.placed: dict[str, PlacedBlock] = {}
        self._succeeded: dict[str, dict[str, object]] = {}

    def register(self, node: Node) -> None:
        """Make the block of a node."""
        self.placed[node.id] = self._place(node, node.parameters)
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
        placed = self.placed[node_id]
        block = placed.block
        if block is None or placed.successor is not None or parameter in placed.misfits:
            return False
        return parameter in block.parameters and not block.parameters[parameter].structural

    def set_parameter(self, node_id: str, parameter: str, value: object) -> None:
        """Give a block a parameter value; None stands for the default."""
        placed = self.placed[node_id]
        (placed.given.discard if value is None else placed.given.add)(parameter)
        before = placed.misfits.get(parameter)
        for block in (placed, placed.successor):
            if block is not None:
                self._set(block, parameter, value)
        if placed.misfits.get(parameter) != before:
            self._on_change(node_id)

    def redefine(
        self, types: Collection[str], said: Callable[[str], Mapping[str, object]]
    ) -> tuple[list[str], list[str]]:
        """Follow that block types are others: return the nodes whose block is another now, and those to be described.

        `said` gives the values of a node's parameters where the patch says something else than the block holds. A
        block that runs is succeeded only when its newer version has been described without error.
        """
        replaced, pending = [], []
        for node_id, placed in self.placed.items():
            if placed.node.type not in types or self._is_newest(placed):
                continue
            values = self._values(placed, said(node_id))
            placed.node = msgspec.structs.replace(placed.node, parameters=values)
            newest = self._place(placed.node, values)
            runs_on = placed.block is not None and not placed.block.is_value
            if type(newest.block) is type(placed.block) and newest.declared is placed.declared:
                placed.stale, placed.problems = newest.stale, newest.problems or placed.problems
                pending.append(node_id)
            elif runs_on and newest.block is not None and not newest.block.is_value:
                placed.successor, placed.given, placed.stale = newest, newest.given, newest.stale
                pending.append(node_id)
            elif placed.block is not None and newest.declared is not None and newest.block is None:
                placed.stale = newest.problems  # it can't be made: the version before runs on
                placed.declared = newest.declared
                pending.append(node_id)
            else:
                self.placed[node_id] = newest
                replaced.append(node_id)
        return replaced, pending

    def take_succeeded(self) -> dict[str, dict[str, object]]:
        """Return the nodes whose block was succeeded since the last call, with live parameters of another value."""
        taken, self._succeeded = self._succeeded, {}
        return taken

    def notices(self) -> list[Diagnostic]:
        """Return what is wrong with nodes although a block of theirs runs, and with block files that no node needs."""
        found = [notice for placed in self.placed.values() for notice in placed.notices()]
        failed = self._catalogue.problems()
        if failed:
            needed = {placed.node.type for placed in self.placed.values()}
            told = {problem for type_id in needed if (problem := self._catalogue.problem(type_id)) is not None}
            others = (problem for problem in failed if problem not in told)
            found += [msgspec.structs.replace(problem, severity=Severity.WARNING) for problem in others]
        return found

    def describe(self) -> None:
        """Describe every block that has no description yet; problems stay on the placed block."""
        for placed in self.placed.values():
            successor = placed.successor
            if successor is not None:
                _describe(successor)
                if successor.description is not None or placed.description is None:
                    self._succeeded[placed.node.id] = placed.follow(successor)
                else:
                    placed.stale, placed.successor = successor.problems, None
                    placed.declared = successor.declared
            if placed.block is not None and not placed.block.is_value and placed.description is None:
                _describe(placed)  # values are no business of the compiler

    def _is_newest(self, placed: PlacedBlock) -> bool:
        block_type, problem = self._catalogue.get(placed.node.type), self._catalogue.problem(placed.node.type)
        latest = placed.successor or placed
        told = [(item.message, item.line) for item in placed.stale]
        if block_type is None:
            return False  # it may be gone, or come; what is to be said of it may be something else
        if problem is not None and (problem.message, problem.line) not in told:
            return False
        return latest.declared is block_type.ports and (problem is not None or not placed.stale)

    def _place(self, node: Node, values: Mapping[str, object]) -> PlacedBlock:
        return place(node, self._catalogue, values, self._resolve, self._folder)

    @staticmethod
    def _values(placed: PlacedBlock, said: Mapping[str, object]) -> dict[str, object]:
        """Return the values that the patch says: most of them are where the block keeps its own."""
        held = placed.block.values if placed.block is not None else {}
        first = placed.node.parameters
        found = {}
        for name in placed.given:
            for values in (first,) if name in placed.misfits else (said, held, first):
                if name in values:
                    found[name] = values[name]
                    break
        return found

    def _set(self, placed: PlacedBlock, parameter: str, value: object) -> None:
        block = placed.block
        spec = block.parameters.get(parameter) if block is not None else None
        if spec is not None:
            placed.take(spec, self._resolve(spec.files, spec.default if value is None else value))
            if spec.structural:
                placed.description = None
        if spec is None or parameter in placed.misfits:  # for a version of the type that takes it
            parameters = {**placed.node.parameters, parameter: value}
            placed.node = msgspec.structs.replace(placed.node, parameters=parameters)

    def _resolve(self, files: str, value: object) -> object:
        if files.startswith("open") and isinstance(value, str) and value:
            return str(self._folder() / value)
        return value


def _describe(placed: PlacedBlock) -> None:
    assert placed.block is not None
    try:
        placed.description, placed.problems = describe(placed.block), []
    except WarploomError as problem:
        placed.problems = [error(str(problem), node=placed.node.id)]
    except (Exception, SystemExit) as problem:  # noqa: BLE001 - a block's code may raise anything
        placed.problems = [block_failure(problem, "describe", placed.node, type(placed.block))]
