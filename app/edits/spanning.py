"""What to set on a new value block so that it goes over the range of the parameter that it is to drive."""

from __future__ import annotations

from typing import Any

from engine.blocktypes.block import Block
from engine.blocktypes.parameters import ParameterSpec
from engine.blocktypes.value_blocks import ValueBlock


def spanning(block_type: type[Block], parameter: ParameterSpec, value: float) -> dict[str, Any]:
    """Return what to set on a new value block that is to drive a parameter, so that it goes over the parameter's range.

    A parameter without bounds is taken to go from 0 to twice its value, or one to either side of 0.
    """
    if not issubclass(block_type, ValueBlock):
        return {}
    reach = abs(value) or 1.0
    low = float(value) - reach if parameter.minimum is None else parameter.minimum
    high = float(value) + reach if parameter.maximum is None else parameter.maximum
    if parameter.type == "bool":
        low, high = 0.0, 1.0
    found = block_type.spanning(low, high, float(value))
    return {name: _within(block_type.parameter(name), number) for name, number in found.items()}


def _within(spec: ParameterSpec, number: float) -> float:
    number = number if spec.minimum is None else max(number, spec.minimum)
    return number if spec.maximum is None else min(number, spec.maximum)
