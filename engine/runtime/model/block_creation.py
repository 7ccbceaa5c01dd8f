"""Placing: from a node and its block type to a block with the node's parameter values, or what keeps it from one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from engine.blocktypes.block import Block
from engine.blocktypes.description import BlockDescription
from engine.blocktypes.parameters import ParameterSpec
from engine.catalogue.block_errors import code_diagnostic
from engine.catalogue.block_files import find_definition
from engine.catalogue.catalogue import Catalogue, folder_beside
from engine.diagnostics import Diagnostic, PatchError, error
from engine.patch.changes import Node

#: Gives a parameter's value as the block takes it, from its `files` and the value that the patch says.
Resolve = Callable[[str, object], object]


@dataclass
class PlacedBlock:
    """A node's block. `block` is None for an unknown type; `description` is None until described without error.

    `problems` keep the block from running, `stale` keeps only its newest version from running: the last good one runs
    on. `misfits` are values that the type does not take, by parameter: its default stands in for each.
    """

    node: Node
    block: Block | None
    description: BlockDescription | None = None
    problems: list[Diagnostic] = field(default_factory=list)
    stale: list[Diagnostic] = field(default_factory=list)
    misfits: dict[str, Diagnostic] = field(default_factory=dict)
    #: Names of the parameters that the patch says a value of.
    given: set[str] = field(default_factory=set)
    #: The block of a newer version of the type, until it has been described.
    successor: PlacedBlock | None = None
    #: The ports of the type when the block was made: a type that is declared again has others, if only alike.
    declared: object = None

    def take(self, spec: ParameterSpec, value: object) -> None:
        """Give the block a parameter's value; its default where the type refuses that, which is then told."""
        assert self.block is not None
        self.misfits.pop(spec.name, None)
        try:
            self.block.set(spec.name, value)
        except PatchError as problem:
            self.block.set(spec.name, spec.default)
            text = f"{problem}; its default {spec.default!r} stands in"
            self.misfits[spec.name] = error(text, node=self.node.id, remedy=f"set {spec.name} again")

    def follow(self, successor: PlacedBlock) -> dict[str, object]:
        """Become the block of the newer version; return the live parameters that have other values now."""
        assert self.block is not None and successor.block is not None
        before, block = self.block.values, successor.block
        changed = {
            name: block.values[name]
            for name, spec in block.parameters.items()
            if not spec.structural and (name not in before or before[name] != block.values[name])
        }
        parameters = {**self.node.parameters, **successor.node.parameters}  # also what only one of the two takes
        self.node = msgspec.structs.replace(self.node, parameters=parameters)
        self.block, self.description, self.problems = successor.block, successor.description, successor.problems
        self.misfits, self.declared, self.successor = successor.misfits, successor.declared, None
        return changed

    def notices(self) -> list[Diagnostic]:
        """Return what is wrong with the node although a block of it runs."""
        return [*self.stale, *self.misfits.values()]


def place(
    node: Node, catalogue: Catalogue, values: Mapping[str, object], resolve: Resolve, folder: Callable[[], Path]
) -> PlacedBlock:
    """Return a node's block with the `values` that the patch says; `folder` tells where the patch lies."""
    block_type = catalogue.get(node.type)
    newest = catalogue.problem(node.type)
    if block_type is None:
        problem = _at(node, newest) if newest is not None else _unknown(node, folder())
        return PlacedBlock(node, None, problems=[problem], given=set(values))
    placed = PlacedBlock(node, None, given=set(values), declared=block_type.ports)
    try:
        placed.block = block_type(node.id)
    except (Exception, SystemExit) as problem:  # noqa: BLE001 - a block's code may raise anything
        placed.problems = [block_failure(problem, "construction", node, block_type)]
        return placed
    for name, value in values.items():
        spec = block_type.parameters.get(name)
        if spec is None:
            continue  # the patch keeps what another version of the type had
        placed.take(spec, resolve(spec.files, value))
    if newest is not None:
        placed.stale = [_at(node, newest)]
    return placed


def block_failure(problem: BaseException, what: str, node: Node, block_type: type[Block]) -> Diagnostic:
    """Return what a block's own code raised, as an error on its node with the line."""
    return code_diagnostic(problem, f"{what} of {node.type}", block_type.source_file(), node.id)


def _at(node: Node, problem: Diagnostic) -> Diagnostic:
    return msgspec.structs.replace(problem, node=node.id)


def _unknown(node: Node, patch_folder: Path) -> Diagnostic:
    beside = folder_beside(patch_folder)
    file = find_definition(node.type, beside) if beside is not None else None
    if file is not None:
        text = f"block type {node.type} must come from files that are trusted, got {file}, which nobody has trusted"
        remedy = "read it, then trust it: File > Trust blocks, `--trust`, or `trust_blocks` from Python"
        return error(text, node=node.id, file=str(file), remedy=remedy)
    text = f"block type must be in the catalogue, got {node.type}"
    return error(text, node=node.id, remedy="install the package it comes from, or delete the node")
