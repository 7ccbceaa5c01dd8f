"""The options of an optimiser for each of a network's weights, and the state that it keeps for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from math import inf, isinf, isnan
from numbers import Real
from typing import Any, Protocol

from warploom.engine.descriptions.checks import shown
from warploom.engine.tensor_ir.errors import InvalidOperation
from warploom.engine.tensor_ir.graph import TensorNode
from warploom.engine.tensor_ir.types import TensorType, real_number
from warploom.engine.types import f64

#: (minimum, maximum), where an infinite limit is none, or one number for [-number, number].
Limits = float | tuple[float, float]
#: Names of variables: the number of updates since the optimiser's state was reset, and numbers that can be set.
UPDATES, DECAY, FROZEN = "updates", "decay", "frozen"
LIMITS = ("weight_minimum", "weight_maximum")


@dataclass(frozen=True)
class WeightOptions:
    """The settings of an optimiser for one tensor of weights. Those that are None are the optimiser's own.

    They can be set between steps, as the numbers NAME.decay, NAME.frozen, NAME.weight_minimum and NAME.weight_maximum.
    """

    decay: float | None = None
    weight_limit: Limits | None = None
    frozen: bool | None = None

    def __post_init__(self) -> None:
        checked_settings(self)


class StateStore(Protocol):
    """The variables of a network that belong to its optimiser."""

    #: f64[]: the number of steps before this one.
    step: TensorNode

    def number(self, name: str, value: float) -> TensorNode:
        """Return a number, f64[], that can be set between steps; the same one for the same name."""

    def state(self, name: str, type_: TensorType) -> TensorNode:
        """Return a state tensor, which starts with 0; the same one for the same name."""

    def write(self, target: TensorNode, value: TensorNode) -> None:
        """Set a state's contents at the next step."""


class OptimiserState:
    """What an optimiser knows and keeps, from step to step, about one tensor of weights.

    `step`, f64[], is the number of steps before this one. `decay`, f64[], and `frozen`, boolean[], are the weights'
    options, or None if they have none; so are `limits`, a minimum and a maximum, f64[].
    """

    def __init__(self, store: StateStore, weights: TensorNode, settings: Any, own: WeightOptions | None) -> None:
        self._store = store
        self._label = weights.label
        self.step = store.step
        self.decay = self._number(DECAY, settings, own)
        frozen = self._number(FROZEN, settings, own)
        self.frozen = None if frozen is None else frozen.not_equal(0.0)
        shared = self._limits("", settings.weight_limit)
        mine = None if own is None else own.weight_limit
        self.limits = shared if mine is None else self._limits(f"{self._label}.", mine)

    def number(self, name: str, value: float) -> TensorNode:
        """Return a number, f64[], that can be set between steps; the same one for the same name."""
        return self._store.number(name, value)

    def state(self, name: str, weights: TensorNode) -> TensorNode:
        """Return a state tensor of the weights' type, NAME.`name`; it starts with 0."""
        return self._store.state(f"{weights.label}.{name}", weights.type)

    def write(self, target: TensorNode, value: TensorNode) -> None:
        """Set a state's contents at the next step, unless the weights are frozen."""
        self._store.write(target, value if self.frozen is None else self.frozen.where(target, value))

    @cached_property
    def updates(self) -> TensorNode:
        """f64[]: the number of updates of the weights before this one, since the state was reset.

        Weights that can be frozen have a number of their own.
        """
        name = UPDATES if self.frozen is None else f"{self._label}.{UPDATES}"
        count = self._store.state(name, TensorType((), f64))
        self.write(count, count + 1.0)
        return count

    def _number(self, name: str, settings: Any, own: WeightOptions | None) -> TensorNode | None:
        """Return the number of an option: the weights' own, or the one for all weights; None if it isn't set.

        The one for all weights can be set even if all of them have their own.
        """
        value, mine = getattr(settings, name), None if own is None else getattr(own, name)
        shared = None if value is None else self.number(name, float(value))
        return shared if mine is None else self.number(f"{self._label}.{name}", float(mine))

    def _limits(self, prefix: str, limits: Limits | None) -> tuple[TensorNode | None, TensorNode | None]:
        """Return the numbers of a minimum and a maximum; None for an infinite one."""
        if limits is None:
            return None, None
        pairs = zip(LIMITS, limits_of("weight_limit", limits), strict=True)
        least, most = (None if isinf(value) else self.number(f"{prefix}{name}", value) for name, value in pairs)
        return least, most


def checked_settings(settings: Any) -> None:
    """Raise InvalidOperation, with the name, if a setting of an optimiser or of weights has a wrong type or value."""
    for item in fields(settings):
        value, kind = getattr(settings, item.name), item.type
        if value is None and str(kind).endswith("| None"):
            continue
        if kind in ("float", "float | None"):
            require_setting(item.name, value)
        elif kind == "Limits | None":
            limits_of(item.name, value)
        elif kind in ("bool", "bool | None") and not isinstance(value, bool):
            raise InvalidOperation(f"{item.name} must be True or False, got {shown(value)}")


def require_setting(name: str, value: object) -> float:
    """Return an optimiser's setting. Raise InvalidOperation, with its name, if it is no number or out of range."""
    number, kind = real_number(name, value), name.rpartition(".")[2]
    if kind in ("beta1", "beta2") and not 0 < number < 1:
        raise InvalidOperation(f"{name} must be above 0 and below 1, got {value}")
    if kind == "clip_norm" and number <= 0:
        raise InvalidOperation(f"{name} must be above 0, got {value}; None sets no limit")
    if kind in ("rate", DECAY, "momentum", "epsilon", "part") and number < 0:
        raise InvalidOperation(f"{name} must be 0 or more, got {value}")
    if kind in ("momentum", "part") and number > 1:
        raise InvalidOperation(f"{name} must be at most 1, got {value}")
    if kind == "threshold" and number < 4:
        raise InvalidOperation(f"{name} must be 4 or more, got {value}")
    if kind == FROZEN and number not in (0, 1):
        raise InvalidOperation(f"{name} must be True or False, got {value}")
    return number


def limits_of(name: str, value: object) -> tuple[float, float]:
    """Return (minimum, maximum). Raise InvalidOperation, with the setting's name, if the value has no such limits."""
    if isinstance(value, Sequence) and not isinstance(value, str):
        if len(value) != 2 or not all(isinstance(each, Real) and not isnan(each) for each in value):
            raise InvalidOperation(f"{name} must be one number, or a minimum and a maximum, got {shown(value)}")
        minimum, maximum = map(float, value)
        if not minimum < maximum or minimum == inf or maximum == -inf:
            raise InvalidOperation(f"minimum of {name} must be below its maximum, got {shown(value)}")
        return minimum, maximum
    number = real_number(name, value, finite=value != inf)
    if number <= 0:
        raise InvalidOperation(f"{name} must be above 0, got {value}; None sets no limit")
    return -number, number
