"""`Composition`: what a composite block is made of, as plain data that the compiler puts in its place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from engine.blocktypes.description import BlockDescription


class ChildPort(NamedTuple):
    """A port or a parameter of a child."""

    child: str
    name: str


@dataclass(frozen=True)
class Child:
    """One block inside a composite: what it asks for, its scope among the children, and its parameter values."""

    name: str
    description: BlockDescription
    region: str = ""
    values: Mapping[str, Any] = field(default_factory=dict, compare=False)


@dataclass(frozen=True)
class Composition:
    """The children of a composite, what connects them, and what of them the composite shows.

    An exposed input may feed several children and an exposed parameter set several: they stand once for each. With
    `as_child_graph` the children become one child graph of the CUDA graph.
    """

    children: tuple[Child, ...]
    connections: tuple[tuple[ChildPort, ChildPort], ...] = ()
    inputs: tuple[tuple[str, ChildPort], ...] = ()
    outputs: tuple[tuple[str, ChildPort], ...] = ()
    parameters: tuple[tuple[str, ChildPort], ...] = ()
    as_child_graph: bool = False
