"""Schedules: factors of the learning rate, or of a number in a network, that depend on the number of the step.

Steps are counted from 0. Settings may be nodes, f64[], which can be set between steps.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import pi

from warploom.engine.descriptions.checks import shown
from warploom.engine.tensor_ir.errors import InvalidOperation
from warploom.engine.tensor_ir.graph import TensorNode
from warploom.engine.tensor_ir.operations.leaves import Constant
from warploom.engine.tensor_ir.types import real_number, whole_number


@dataclass(frozen=True)
class Schedule:
    """A constant rate."""

    def factor(self, step: TensorNode) -> TensorNode | float:
        """Return the factor of a step; `step`, f64[], is its number, starting at 0."""
        return 1.0


@dataclass(frozen=True)
class Steps(Schedule):
    """The rate is multiplied by `factor_of_each` each time a number of steps has passed."""

    every: int | TensorNode
    factor_of_each: float | TensorNode = 0.1

    def __post_init__(self) -> None:
        require_steps("every", self.every)
        _require_number("factor_of_each", self.factor_of_each)

    def factor(self, step: TensorNode) -> TensorNode | float:
        """Return the factor of a step."""
        return self.factor_of_each ** (step / self.every).elementwise("floor")


@dataclass(frozen=True)
class Exponential(Schedule):
    """The rate is multiplied by `factor_of_each` after every step."""

    factor_of_each: float | TensorNode

    def __post_init__(self) -> None:
        _require_number("factor_of_each", self.factor_of_each)

    def factor(self, step: TensorNode) -> TensorNode | float:
        """Return the factor of a step."""
        return self.factor_of_each**step


@dataclass(frozen=True)
class Cosine(Schedule):
    """The rate falls along half a period of the cosine, from 1 to `final` within a number of steps, and stays there."""

    steps: int | TensorNode
    final: float | TensorNode = 0.0

    def __post_init__(self) -> None:
        require_steps("steps", self.steps)
        _require_number("final", self.final)

    def factor(self, step: TensorNode) -> TensorNode | float:
        """Return the factor of a step."""
        done = (step / self.steps).minimum(1.0) * pi
        return (done.cos() + 1.0) * ((1.0 - self.final) / 2) + self.final


@dataclass(frozen=True)
class Linear(Schedule):
    """The rate goes in a straight line from `first` to `final` within a number of steps, and stays there."""

    steps: int | TensorNode
    final: float | TensorNode = 0.0
    first: float | TensorNode = 1.0

    def __post_init__(self) -> None:
        require_steps("steps", self.steps)
        _require_number("final", self.final)
        _require_number("first", self.first)

    def factor(self, step: TensorNode) -> TensorNode | float:
        """Return the factor of a step."""
        return (step / self.steps).minimum(1.0) * (self.final - self.first) + self.first


@dataclass(frozen=True)
class Drop(Schedule):
    """The rate is multiplied by `to` once, after a number of steps."""

    steps: int | TensorNode
    to: float | TensorNode = 0.1

    def __post_init__(self) -> None:
        require_steps("steps", self.steps)
        _require_number("to", self.to)

    def factor(self, step: TensorNode) -> TensorNode | float:
        """Return the factor of a step."""
        return step.less(self.steps).where(_node(1.0, step), self.to)


@dataclass(frozen=True)
class Sequence(Schedule):
    """A schedule for a number of steps; then another one, which counts its steps from there."""

    first: Schedule
    steps: int | TensorNode
    then: Schedule

    def __post_init__(self) -> None:
        require_schedule("first", self.first)
        require_steps("steps", self.steps)
        require_schedule("then", self.then)

    def factor(self, step: TensorNode) -> TensorNode | float:
        """Return the factor of a step."""
        after = self.then.factor((step - self.steps).maximum(0.0))
        return step.less(self.steps).where(_node(self.first.factor(step), step), after)


@dataclass(frozen=True)
class Warmup(Schedule):
    """The rate rises linearly from `first` to 1 within a number of steps; then another schedule begins.

    If that one begins at another factor than 1, the rise ends there: both are multiplied.

    The first of n steps has the factor `first`, so the first one at the full rate is step n. If `first` is None, step t
    has the factor (t + 1) / n: 1 / n at first, and the full rate from step n - 1 on.
    """

    steps: int | TensorNode
    then: Schedule = Schedule()
    first: float | TensorNode | None = 0.0

    def __post_init__(self) -> None:
        require_steps("steps", self.steps)
        require_schedule("then", self.then)
        if self.first is not None:
            _require_number("first", self.first)

    def factor(self, step: TensorNode) -> TensorNode | float:
        """Return the factor of a step."""
        if self.first is None:
            rising = (step + 1.0) / self.steps
        else:
            rising = step * ((1.0 - self.first) / self.steps) + self.first
        after = self.then.factor((step - self.steps).maximum(0.0))
        return rising.minimum(1.0) * after


def require_steps(name: str, count: int | TensorNode) -> None:
    """Raise InvalidOperation, with the setting's name, unless it is a node or a whole number, 1 or more."""
    if not isinstance(count, TensorNode) and whole_number(name, count) < 1:
        raise InvalidOperation(f"{name} must be 1 or more, got {count}")


def require_schedule(name: str, schedule: object) -> None:
    """Raise InvalidOperation, with the setting's name, unless it is a schedule."""
    if not isinstance(schedule, Schedule):
        raise InvalidOperation(f"{name} must be a schedule such as Cosine(1000), got {shown(schedule)}")


def _node(number: TensorNode | float, step: TensorNode) -> TensorNode:
    """Return a number as a node beside that of the step."""
    return number if isinstance(number, TensorNode) else step._apply(Constant(number, step.type))


def _require_number(name: str, value: object) -> None:
    if not isinstance(value, TensorNode) and real_number(name, value) < 0:
        raise InvalidOperation(f"{name} must be 0 or more, got {value}")


#: The constant learning rate.
CONSTANT = Schedule()
