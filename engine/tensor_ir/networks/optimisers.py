"""Optimisers: compute new weights from gradients, as nodes.

The formulas are those of PyTorch's classes of the same names. Weight decay is decoupled from the gradient in all but
SGD. Ranger is RAdam with the slow weights of Zhang et al., "Lookahead optimizer: k steps forward, 1 step back" (2019).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, fields
from functools import reduce
from math import log
from operator import add
from typing import Protocol

from warploom.engine.descriptions.checks import shown
from warploom.engine.tensor_ir.errors import InvalidOperation
from warploom.engine.tensor_ir.graph import TensorNode, made_for
from warploom.engine.tensor_ir.networks.schedules import CONSTANT, Schedule, require_schedule, require_steps
from warploom.engine.tensor_ir.types import real_number
from warploom.engine.types import f64


class OptimiserState(Protocol):
    """The state that an optimiser keeps from step to step."""

    #: f64[]: the number of steps before this one.
    step: TensorNode

    def number(self, name: str, value: float) -> TensorNode:
        """Return a number, f64[], that can be set between steps."""

    def state(self, name: str, weights: TensorNode) -> TensorNode:
        """Return a state tensor of the weights' type; it starts with 0."""

    def write(self, target: TensorNode, value: TensorNode) -> None:
        """Set a state's contents at the next step."""


@dataclass(frozen=True)
class Optimiser:
    """The settings that all optimisers have.

    `rate` is the learning rate, which can be set between steps, and `schedule` gives its factor. Gradients are clipped
    before use: first each element to [-clip_value, clip_value], then all together so that their norm is at most
    `clip_norm`, which can be set between steps. After the update, weights are clipped to [-weight_limit, weight_limit].
    """

    rate: float = 1e-3
    _: KW_ONLY
    schedule: Schedule = CONSTANT
    decay: float = 0.0
    clip_value: float | None = None
    clip_norm: float | None = None
    weight_limit: float | None = None

    def __post_init__(self) -> None:
        for item in fields(self):
            value = getattr(self, item.name)
            if item.type == "float" or (item.type == "float | None" and value is not None):
                require_setting(item.name, value)
            elif item.type == "bool" and not isinstance(value, bool):
                raise InvalidOperation(f"{item.name} must be True or False, got {shown(value)}")
        require_schedule("schedule", self.schedule)

    def step(
        self, weights: Sequence[TensorNode], gradients: Sequence[TensorNode], memory: OptimiserState
    ) -> list[TensorNode]:
        """Return the weights after a step, in the order of the arguments."""
        rate = memory.number("rate", self.rate) * self.schedule.factor(memory.step)
        gradients = self._clipped(gradients, memory)
        found = []
        for weight, gradient in zip(weights, gradients, strict=True):
            with made_for(weight.parts):
                updated = self.update(weight, gradient, rate, memory)
                found.append(updated if self.weight_limit is None else clamp(updated, self.weight_limit))
        return found

    def update(self, weights: TensorNode, gradient: TensorNode, rate: TensorNode, memory: OptimiserState) -> TensorNode:
        """Return one tensor of weights after a step at this rate, f64[]."""
        raise NotImplementedError

    def _clipped(self, gradients: Sequence[TensorNode], memory: OptimiserState) -> Sequence[TensorNode]:
        if self.clip_value is not None:
            limit = self.clip_value
            gradients = _each(gradients, lambda gradient: clamp(gradient, limit))
        if self.clip_norm is not None and gradients:
            norm = reduce(add, _each(gradients, lambda gradient: gradient.square().sum().cast(f64))).sqrt()
            factor = (memory.number("clip_norm", self.clip_norm) / (norm + 1e-6)).minimum(1.0)
            gradients = _each(gradients, lambda gradient: gradient * like(factor, gradient))
        return gradients


@dataclass(frozen=True)
class SGD(Optimiser):
    """Steepest descent. With `momentum`, the step follows a sum of all gradients, in which older ones weigh less."""

    momentum: float = 0.0
    nesterov: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.nesterov and not self.momentum:
            raise InvalidOperation("momentum must be above 0 with nesterov, got 0")

    def update(self, weights: TensorNode, gradient: TensorNode, rate: TensorNode, memory: OptimiserState) -> TensorNode:
        """Return the weights after a step."""
        if self.decay:
            gradient = gradient + weights * self.decay
        if self.momentum:
            last = memory.state("momentum", weights)
            total = last * self.momentum + gradient
            memory.write(last, total)
            gradient = gradient + total * self.momentum if self.nesterov else total
        return weights - gradient * like(rate, weights)


@dataclass(frozen=True)
class Adam(Optimiser):
    """The common part of Adam's variants: running means of the gradient and of its square."""

    beta1: float = 0.9
    beta2: float = 0.999
    epsilon: float = 1e-8

    def _means(
        self, weights: TensorNode, gradient: TensorNode, memory: OptimiserState
    ) -> tuple[TensorNode, TensorNode]:
        first, second = memory.state("first_moment", weights), memory.state("second_moment", weights)
        mean = first * self.beta1 + gradient * (1 - self.beta1)
        square = second * self.beta2 + gradient.square() * (1 - self.beta2)
        memory.write(first, mean)
        memory.write(second, square)
        return mean, square

    def _decayed(self, weights: TensorNode, rate: TensorNode) -> TensorNode:
        return weights * like(1.0 - rate * self.decay, weights) if self.decay else weights


@dataclass(frozen=True)
class AdamW(Adam):
    """Adam with decoupled weight decay: Loshchilov and Hutter (2019)."""

    decay: float = 0.01

    def update(self, weights: TensorNode, gradient: TensorNode, rate: TensorNode, memory: OptimiserState) -> TensorNode:
        """Return the weights after a step."""
        mean, square = self._means(weights, gradient, memory)
        count = memory.step + 1.0
        size = like(rate / _missing(self.beta1, count), weights)
        scale = like(_missing(self.beta2, count).sqrt(), weights)
        return self._decayed(weights, rate) - size * (mean / (square.sqrt() / scale + self.epsilon))


@dataclass(frozen=True)
class RAdam(Adam):
    """Adam that ignores its square mean until the mean has settled.

    Liu et al., "On the variance of the adaptive learning rate and beyond" (2020).
    """

    def update(self, weights: TensorNode, gradient: TensorNode, rate: TensorNode, memory: OptimiserState) -> TensorNode:
        """Return the weights after a step."""
        mean, square = self._means(weights, gradient, memory)
        count = memory.step + 1.0
        longest = 2 / (1 - self.beta2) - 1
        missing = _missing(self.beta2, count)
        length = longest - count * 2.0 * (1.0 - missing) / missing
        has_settled = length.greater(5.0)
        variance = (length - 4.0) * (length - 2.0) * longest / (length * ((longest - 4) * (longest - 2)))
        factor = (variance.maximum(0.0) * missing).sqrt()
        scale = has_settled.where(like(factor, weights) / (square.sqrt() + self.epsilon), 1.0)
        return self._decayed(weights, rate) - like(rate / _missing(self.beta1, count), weights) * mean * scale


@dataclass(frozen=True)
class Ranger(RAdam):
    """RAdam with slow weights. Every few steps they move part of the way to the weights, which then restart there."""

    every: int = 6
    part: float = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        require_steps("every", self.every)

    def update(self, weights: TensorNode, gradient: TensorNode, rate: TensorNode, memory: OptimiserState) -> TensorNode:
        """Return the weights after a step."""
        fast = super().update(weights, gradient, rate, memory)
        kept = memory.state("slow", weights)
        slow = memory.step.equal(0.0).where(weights, kept)
        count = memory.step + 1.0
        is_met = count.equal((count / self.every).elementwise("floor") * self.every)
        moved = slow + (fast - slow) * self.part
        memory.write(kept, is_met.where(moved, slow))
        return is_met.where(moved, fast)


def require_setting(name: str, value: object) -> float:
    """Return an optimiser's setting. Raise InvalidOperation, with its name, if it is no number or out of range."""
    number = real_number(name, value)
    if name in ("beta1", "beta2") and not 0 < number < 1:
        raise InvalidOperation(f"{name} must be above 0 and below 1, got {value}")
    if name in ("clip_value", "clip_norm", "weight_limit") and number <= 0:
        raise InvalidOperation(f"{name} must be above 0, got {value}; None sets no limit")
    if name in ("rate", "decay", "momentum", "epsilon", "part") and number < 0:
        raise InvalidOperation(f"{name} must be 0 or more, got {value}")
    if name in ("momentum", "part") and number > 1:
        raise InvalidOperation(f"{name} must be at most 1, got {value}")
    return number


def like(number: TensorNode, tensor: TensorNode) -> TensorNode:
    """Return a number in an element type that suits a tensor's arithmetic."""
    return number.cast(tensor.type.dtype)


def _each(nodes: Sequence[TensorNode], change: Callable[[TensorNode], TensorNode]) -> list[TensorNode]:
    """Return the result of a change for each node, which counts for the node's parts."""
    made = []
    for node in nodes:
        with made_for(node.parts):
            made.append(change(node))
    return made


def clamp(tensor: TensorNode, limit: float) -> TensorNode:
    """Return the elements within [-limit, limit]."""
    return tensor.minimum(limit).maximum(-limit)


def _missing(beta: float, count: TensorNode) -> TensorNode:
    """Return 1 - beta ** count, without cancellation: a running mean that began at 0 is too small by this factor."""
    return -(count * log(beta)).elementwise("expm1")
