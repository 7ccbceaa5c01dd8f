"""`NetworkFunction`: one step of a network, which computes new contents for some of its variables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from types import MappingProxyType
from typing import Any

import numpy as np

from warploom.engine.descriptions.checks import shown
from warploom.engine.tensor_ir.errors import InvalidOperation, ShapeMismatch
from warploom.engine.tensor_ir.graph import TensorNode, reachable_nodes
from warploom.engine.tensor_ir.networks.initialisations import FirstWeights
from warploom.engine.tensor_ir.operations.leaves import Constant, Leaf
from warploom.engine.tensor_ir.passes.pipeline import PASSES, optimise
from warploom.engine.tensor_ir.passes.rewriting import substitute

#: A variable's initial contents: a recipe to draw them, or one value for all elements.
Initial = FirstWeights | float | None


class Role(Enum):
    """The purpose of a variable."""

    INPUT = "input"
    DATA = "data"
    WEIGHTS = "weights"
    CONSTANT = "constant"
    VALUES = "values"
    GRADIENTS = "gradients"
    STATE = "state"
    NUMBER = "number"


@dataclass(frozen=True, eq=False)
class NetworkVariable:
    """A tensor that keeps its contents between functions: a buffer on a device.

    `leaf` stands for the contents at the start of a function. `initial` has the initial contents, None if they are set
    before use. `trained` is true for weights that an optimiser may change.
    """

    name: str
    leaf: TensorNode
    role: Role
    initial: Initial = 0.0
    trained: bool = False

    def first(self) -> np.ndarray[Any, Any] | None:
        """Return the initial contents, in the variable's shape or as one number for all elements.

        The result is None if they are set before use.
        """
        if isinstance(self.initial, FirstWeights):
            return self.initial.draw()
        return None if self.initial is None else np.asarray(self.initial)


class NetworkInstruction:
    """One step of a function. Your own instruction has this method, and may use operations of your own."""

    def writes(self) -> Mapping[TensorNode, TensorNode]:
        """Return the new contents of variables, by their leaves, computed from leaves."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class Write(NetworkInstruction):
    """Sets a variable to a node's value."""

    target: TensorNode
    value: TensorNode

    def writes(self) -> Mapping[TensorNode, TensorNode]:
        """Return the new contents."""
        return {self.target: self.value}


@dataclass(frozen=True, eq=False)
class Accumulate(NetworkInstruction):
    """Adds a node's value to a variable."""

    target: TensorNode
    value: TensorNode

    def writes(self) -> Mapping[TensorNode, TensorNode]:
        """Return the new contents."""
        return {self.target: self.target + self.value}


@dataclass(frozen=True, eq=False)
class Set(NetworkInstruction):
    """Sets all elements of a variable to a number."""

    target: TensorNode
    value: float

    def writes(self) -> Mapping[TensorNode, TensorNode]:
        """Return the new contents."""
        return {self.target: self.target.graph.add(Constant(self.value, self.target.type))}


@dataclass(frozen=True)
class NetworkFunction:
    """New contents of variables, by their leaves; all are computed from the contents at the start."""

    name: str
    writes: Mapping[TensorNode, TensorNode] = field(default_factory=lambda: MappingProxyType({}))

    def __post_init__(self) -> None:
        for target, value in self.writes.items():
            if not isinstance(target.operation, Leaf):
                raise InvalidOperation(f"function {self.name!r} must write variables, got {target!r}")
            if value.type != target.type:
                text = f"function {self.name!r} must write {target.type} to {target.label!r}, got {value!r}"
                raise ShapeMismatch(text)

    @staticmethod
    def of(name: str, instructions: Iterable[NetworkInstruction]) -> NetworkFunction:
        """Return the function that runs these instructions one after another."""
        if not isinstance(name, str) or not name.isidentifier():
            raise InvalidOperation(f"name of a function must be an identifier, got {shown(name)}")
        if not isinstance(instructions, Iterable):
            raise InvalidOperation(f"function {name!r} must have a list of instructions, got {shown(instructions)}")
        made = NetworkFunction(name)
        for instruction in instructions:
            if not isinstance(instruction, NetworkInstruction):
                rule = "instructions such as Write(target, value)"
                raise InvalidOperation(f"function {name!r} must have {rule}, got {shown(instruction)}")
            made = made.then(NetworkFunction(name, instruction.writes()), name)
        return made

    def then(self, other: NetworkFunction, name: str) -> NetworkFunction:
        """Return the function that runs this one and then the other, which reads the contents that this one wrote."""
        later = substitute(list(other.writes.values()), self.writes)
        return NetworkFunction(name, {**self.writes, **dict(zip(other.writes, later, strict=True))})

    def only(self, targets: Iterable[TensorNode]) -> NetworkFunction:
        """Return the function without writes to variables other than these."""
        wanted = set(targets)
        return NetworkFunction(self.name, {leaf: node for leaf, node in self.writes.items() if leaf in wanted})

    def optimised(self) -> NetworkFunction:
        """Return the function after all passes, without writes that don't change a variable."""
        values = optimise(list(self.writes.values()), PASSES)
        kept = {leaf: node for leaf, node in zip(self.writes, values, strict=True) if node is not leaf}
        return NetworkFunction(self.name, kept)

    @property
    def reads(self) -> Sequence[TensorNode]:
        """The leaves whose contents the function reads."""
        return [node for node in reachable_nodes(self.writes.values()) if isinstance(node.operation, Leaf)]
