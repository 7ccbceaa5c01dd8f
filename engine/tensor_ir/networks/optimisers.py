"""Optimisers: compute new weights from gradients, as nodes.

The formulas are those of PyTorch's classes of the same names. Weight decay is decoupled from the gradient in all but
SGD. Ranger is RAdam with the slow weights of Zhang et al., "Lookahead optimizer: k steps forward, 1 step back" (2019).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import reduce
from math import inf, log
from operator import add
from types import MappingProxyType

from warploom.engine.tensor_ir.errors import InvalidOperation
from warploom.engine.tensor_ir.graph import TensorNode, made_for
from warploom.engine.tensor_ir.networks.optimiser_options import (
    Limits,
    OptimiserState,
    StateStore,
    WeightOptions,
    checked_settings,
    limits_of,
)
from warploom.engine.tensor_ir.networks.schedules import CONSTANT, Schedule, require_schedule, require_steps
from warploom.engine.types import f64


@dataclass(frozen=True)
class Optimiser:
    """The settings that all optimisers have.

    `rate` is the learning rate, and `schedule` gives its factor. Gradients are clipped before use: first each element
    to `clip_value`, then all together so that their norm is at most `clip_norm`. After the update, weights are clipped
    to `weight_limit`. Both limits are (minimum, maximum), or one number for [-number, number].

    `decay` pulls weights towards 0. `frozen` weights don't change, nor does their state; the norm leaves out their
    gradients. `options` has settings for single weights, by name. The default of a setting that may be None is to do
    nothing.

    `rate`, `clip_norm`, `decay`, `frozen` and the limits of weights, `weight_minimum` and `weight_maximum`, are numbers
    that can be set between steps, unless they are None or infinite. A minimum above its maximum counts.
    """

    rate: float = 1e-3
    _: KW_ONLY
    schedule: Schedule = CONSTANT
    decay: float | None = None
    clip_value: Limits | None = None
    clip_norm: float | None = None
    weight_limit: Limits | None = None
    frozen: bool | None = None
    options: Mapping[str, WeightOptions] = field(default_factory=lambda: MappingProxyType({}))

    def __post_init__(self) -> None:
        checked_settings(self)
        require_schedule("schedule", self.schedule)
        if not isinstance(self.options, Mapping) or not all(
            isinstance(each, WeightOptions) for each in self.options.values()
        ):
            raise InvalidOperation(f"options must be WeightOptions by the names of weights, got {self.options!r}")

    def step(
        self, weights: Sequence[TensorNode], gradients: Sequence[TensorNode], store: StateStore
    ) -> list[TensorNode]:
        """Return the weights after a step, in the order of the arguments."""
        self._check_names([weight.label for weight in weights])
        rate = store.number("rate", self.rate) * self.schedule.factor(store.step)
        states = [OptimiserState(store, weight, self, self.options.get(weight.label)) for weight in weights]
        found = []
        for weight, gradient, state in zip(weights, self._clipped(gradients, states, store), states, strict=True):
            with made_for(weight.parts):
                updated = self.update(weight, gradient, rate, state)
                least, most = state.limits
                updated = updated if most is None else updated.minimum(like(most, updated))
                updated = updated if least is None else updated.maximum(like(least, updated))
                found.append(updated if state.frozen is None else state.frozen.where(weight, updated))
        return found

    def update(self, weights: TensorNode, gradient: TensorNode, rate: TensorNode, memory: OptimiserState) -> TensorNode:
        """Return one tensor of weights after a step at this rate, f64[]."""
        raise NotImplementedError

    def _check_names(self, trained: Sequence[str]) -> None:
        if unknown := [name for name in self.options if name not in trained]:
            known = ", ".join(trained) or "none"
            raise InvalidOperation(f"options must be for weights that are trained ({known}), got {', '.join(unknown)}")

    def _clipped(
        self, gradients: Sequence[TensorNode], states: Sequence[OptimiserState], store: StateStore
    ) -> Sequence[TensorNode]:
        if self.clip_value is not None:
            limits = limits_of("clip_value", self.clip_value)
            gradients = _each(gradients, lambda gradient: clamp(gradient, limits))
        if self.clip_norm is not None and gradients:
            squares = _each(gradients, lambda gradient: gradient.square().sum().cast(f64))
            counted = [
                square if state.frozen is None else state.frozen.where(0.0, square)
                for square, state in zip(squares, states, strict=True)
            ]
            norm = reduce(add, counted).sqrt()
            factor = (store.number("clip_norm", self.clip_norm) / (norm + 1e-6)).minimum(1.0)
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
        if memory.decay is not None:
            gradient = gradient + weights * like(memory.decay, weights)
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

    def _decayed(self, weights: TensorNode, rate: TensorNode, memory: OptimiserState) -> TensorNode:
        return weights if memory.decay is None else weights * like(1.0 - rate * memory.decay, weights)


@dataclass(frozen=True)
class AdamW(Adam):
    """Adam with decoupled weight decay: Loshchilov and Hutter (2019).

    The running means begin at 0, and are therefore too small in the first steps. Without `bias_correction` they are
    used as they are, as in bullet: with the default betas, the first 100 steps are 3 to 7 times as long.
    """

    decay: float | None = 0.01
    bias_correction: bool = True

    def update(self, weights: TensorNode, gradient: TensorNode, rate: TensorNode, memory: OptimiserState) -> TensorNode:
        """Return the weights after a step."""
        mean, square = self._means(weights, gradient, memory)
        decayed = self._decayed(weights, rate, memory)
        if not self.bias_correction:
            return decayed - like(rate, weights) * (mean / (square.sqrt() + self.epsilon))
        count = memory.updates + 1.0
        size = like(rate / _missing(self.beta1, count), weights)
        scale = like(_missing(self.beta2, count).sqrt(), weights)
        return decayed - size * (mean / (square.sqrt() / scale + self.epsilon))


@dataclass(frozen=True)
class RAdam(Adam):
    """Adam that ignores its square mean until the mean has settled: until its effective length is over `threshold`.

    Liu et al., "On the variance of the adaptive learning rate and beyond" (2020).
    """

    threshold: float = 5.0

    def update(self, weights: TensorNode, gradient: TensorNode, rate: TensorNode, memory: OptimiserState) -> TensorNode:
        """Return the weights after a step."""
        mean, square = self._means(weights, gradient, memory)
        count = memory.updates + 1.0
        longest = 2 / (1 - self.beta2) - 1
        missing = _missing(self.beta2, count)
        length = longest - count * 2.0 * (1.0 - missing) / missing
        has_settled = length.greater(self.threshold)
        variance = (length - 4.0) * (length - 2.0) * longest / (length * ((longest - 4) * (longest - 2)))
        factor = (variance.maximum(0.0) * missing).sqrt()
        scale = has_settled.where(like(factor, weights) / (square.sqrt() + self.epsilon), 1.0)
        return self._decayed(weights, rate, memory) - like(rate / _missing(self.beta1, count), weights) * mean * scale


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
        slow = memory.updates.equal(0.0).where(weights, kept)
        count = memory.updates + 1.0
        is_met = count.equal((count / self.every).elementwise("floor") * self.every)
        moved = slow + (fast - slow) * self.part
        memory.write(kept, is_met.where(moved, slow))
        return is_met.where(moved, fast)


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


def clamp(tensor: TensorNode, limits: tuple[float, float]) -> TensorNode:
    """Return the elements within (minimum, maximum); an infinite limit is none."""
    minimum, maximum = limits
    tensor = tensor if maximum == inf else tensor.minimum(maximum)
    return tensor if minimum == -inf else tensor.maximum(minimum)


def _missing(beta: float, count: TensorNode) -> TensorNode:
    """Return 1 - beta ** count, without cancellation: a running mean that began at 0 is too small by this factor."""
    return -(count * log(beta)).elementwise("expm1")
