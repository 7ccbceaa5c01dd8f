"""Random numbers that follow from a seed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from engine.tensor_ir.errors import InvalidOperation
from engine.tensor_ir.graph import TensorNode, TensorOperation
from engine.tensor_ir.types import TensorType, require_floats
from engine.types import f64, u32

if TYPE_CHECKING:
    from engine.ops.graph import OpPort
    from engine.tensor_ir.lowering.elements import Element


#: The type of a seed.
SEED = TensorType((), u32)


@dataclass(frozen=True)
class Random(TensorOperation):
    """Numbers from 0 to below 1, multiples of 2**-24; each is a hash of its place and the seed, which is a u32."""

    type: TensorType

    @property
    def is_differentiable(self) -> bool:
        """Return False: it has no gradient."""
        return False

    def result(self, *inputs: TensorType) -> TensorType:
        """Return its type; InvalidOperation unless it has floats, and the input is a seed."""
        require_floats(self.type)
        (seed,) = inputs
        if seed != SEED:
            raise InvalidOperation(f"seed must be {SEED}, got {seed}")
        return self.type

    def evaluate(self, *inputs: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """Compute the numbers of one example with numpy."""
        places = np.arange(self.type.size, dtype=np.uint32)
        hashed = _mixed(np.full_like(places, (int(inputs[0].item()) - 0x61C88647) % (1 << 32)))
        for coordinate in (np.uint32(0), np.uint32(0), places):
            hashed = _mixed(hashed + coordinate)
        return ((hashed >> np.uint32(8)) * 2.0**-24).reshape(1, *self.type.shape)

    def is_elementwise(self, node: TensorNode) -> bool:
        """Return True."""
        return True

    def element(self, at: Element) -> OpPort:
        """Write the hash of the element's number."""
        made = at.op("random", x=at.place.number, seed=at.input(0))
        return at.op("convert", x=made, type="f64") if self.type.dtype == f64 else made

    def backward(self, node: TensorNode, gradient: TensorNode) -> Sequence[TensorNode | None]:
        """Return nothing for the seed."""
        return [None]


def _mixed(h: npt.NDArray[np.uint32]) -> npt.NDArray[np.uint32]:
    """Return words that depend on each bit of others: lowbias32 of Wellons' hash prospector."""
    h = (h ^ (h >> np.uint32(16))) * np.uint32(0x7FEB352D)
    h = (h ^ (h >> np.uint32(15))) * np.uint32(0x846CA68B)
    return h ^ (h >> np.uint32(16))
