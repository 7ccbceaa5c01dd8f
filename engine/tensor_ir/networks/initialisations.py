"""The initial values of weights, by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod, sqrt
from typing import TYPE_CHECKING

import numpy as np

from warploom.engine.descriptions.checks import shown
from warploom.engine.tensor_ir.errors import InvalidOperation, ShapeMismatch
from warploom.engine.tensor_ir.types import real_number, whole_number
from warploom.engine.types import Array, Shape

if TYPE_CHECKING:  # every start of an engine would take the time to import it
    from numpy.random import Generator


@dataclass(frozen=True)
class Normal:
    """An initialisation by numbers of a normal distribution around 0 with this standard deviation."""

    deviation: float

    def __post_init__(self) -> None:
        if real_number("standard deviation", self.deviation) < 0:
            raise InvalidOperation(f"standard deviation must be 0 or more, got {self.deviation:g}")


#: The name of an initialisation, a distribution, one value for all elements, or the elements themselves.
Initialisation = str | Normal | float | Array | Sequence[float]


#: Draws weights of a shape for numbers of inputs and outputs.
Drawing = Callable[["Generator", Shape, int, int], Array]


def fans(shape: Shape) -> tuple[int, int]:
    """Return the numbers of inputs and outputs that weights [outputs, inputs] connect; a column has one input."""
    if len(shape) < 2:
        return prod(shape), prod(shape)
    return shape[-1], prod(shape[:-1])


def _uniform(bound: Callable[[int, int], float]) -> Drawing:
    def make(random: Generator, shape: Shape, inputs: int, outputs: int) -> Array:
        limit = bound(inputs, outputs)
        return random.uniform(-limit, limit, shape)

    return make


def _normal(deviation: Callable[[int, int], float]) -> Drawing:
    def make(random: Generator, shape: Shape, inputs: int, outputs: int) -> Array:
        return random.normal(0.0, deviation(inputs, outputs), shape)

    return make


def _orthogonal(random: Generator, shape: Shape, _inputs: int, _outputs: int) -> Array:
    columns = shape[-1] if len(shape) > 1 else 1
    rows = prod(shape) // columns
    q, r = np.linalg.qr(random.normal(size=(max(rows, columns), min(rows, columns))))
    q *= np.where(np.diag(r) < 0, -1.0, 1.0)  # makes all orthogonal matrices equally likely
    return np.reshape(q if rows >= columns else q.T, shape)


#: Initialisations by name. Glorot's and He's keep the magnitude of activations from layer to layer: Glorot and Bengio,
#: "Understanding the difficulty of training deep feedforward neural networks" (2010); He et al., "Delving deep into
#: rectifiers" (2015).
INITIALISATIONS: Mapping[str, Drawing] = {
    "zeros": lambda random, shape, inputs, outputs: np.zeros(shape),
    "ones": lambda random, shape, inputs, outputs: np.ones(shape),
    "uniform": _uniform(lambda inputs, outputs: 1 / sqrt(inputs)),
    "normal": _normal(lambda inputs, outputs: 1.0),
    "glorot_uniform": _uniform(lambda inputs, outputs: sqrt(6 / (inputs + outputs))),
    "glorot_normal": _normal(lambda inputs, outputs: sqrt(2 / (inputs + outputs))),
    "he_uniform": _uniform(lambda inputs, outputs: sqrt(6 / inputs)),
    "he_normal": _normal(lambda inputs, outputs: sqrt(2 / inputs)),
    "orthogonal": _orthogonal,
}


@dataclass(frozen=True, eq=False)
class FirstWeights:
    """The recipe for the initial values of weights; `draw` follows it.

    Drawn numbers depend only on the name, the shape and the seed, so they stay the same when other weights come or go.
    """

    name: str
    shape: Shape
    init: str | Normal | Array
    seed: int
    #: The number of inputs for which values are drawn; None for that of the shape.
    fan_in: int | None = None

    @staticmethod
    def of(name: str, shape: Shape, init: Initialisation, seed: int, fan_in: int | None = None) -> FirstWeights:
        """Return the recipe.

        Raise InvalidOperation for an unknown `init`, and ShapeMismatch for one of another shape.
        """
        if fan_in is not None:
            if not isinstance(init, str):
                raise InvalidOperation(
                    f"initialisation of {name!r} must be a name if fan_in is given, got {shown(init)}"
                )
            if whole_number(f"fan_in of {name!r}", fan_in) < 1:
                raise InvalidOperation(f"fan_in of {name!r} must be 1 or more, got {fan_in}")
        if isinstance(init, str):
            if init not in INITIALISATIONS:
                known = ", ".join(INITIALISATIONS)
                raise InvalidOperation(f"initialisation of {name!r} must be one of {known}, got {init!r}")
            return FirstWeights(name, shape, init, seed, fan_in)
        if isinstance(init, Normal):
            return FirstWeights(name, shape, init, seed)
        try:
            given = np.asarray(init)
        except ValueError:  # rows of different lengths
            given = np.asarray(None)
        if given.dtype.kind not in "biuf":
            rule = "a name, Normal, a number or an array"
            raise InvalidOperation(f"initialisation of {name!r} must be {rule}, got {shown(init)}")
        if given.shape not in ((), shape):
            found = list(given.shape)
            raise ShapeMismatch(f"initialisation of {name!r} must have the shape {list(shape)}, got {found}")
        if not np.isfinite(given).all():
            raise InvalidOperation(f"initialisation of {name!r} must have finite numbers, got {shown(init)}")
        return FirstWeights(name, shape, np.array(given, np.float64), seed)

    def draw(self) -> Array:
        """Return the numbers, f64[shape]."""
        if isinstance(self.init, str | Normal):
            random = np.random.default_rng((self.seed, *self.name.encode()))
            if isinstance(self.init, Normal):
                return random.normal(0.0, self.init.deviation, self.shape)
            inputs, outputs = fans(self.shape)
            drawn = INITIALISATIONS[self.init](random, self.shape, self.fan_in or inputs, outputs)
            return np.asarray(drawn, np.float64)
        return np.array(np.broadcast_to(self.init, self.shape))
