"""Vectors as parameters: each component is a parameter of its own, and the kernel takes all of them as one argument.

So whatever holds for numbers holds for components: a value or keys can drive one, an OSC address sets it, a patch's
file and its history have it under its own name. The vector `light` has the components `light_x`, `light_y` and so on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from msgspec.structs import replace

from warploom.engine.blocktypes.parameters import ParameterSpec
from warploom.engine.descriptions.checks import shown
from warploom.engine.diagnostics import PatchError
from warploom.engine.types import DType, bf16

#: The names of a vector's components in CUDA C++.
LETTERS = "xyzw"


def is_vector(dtype: object) -> bool:
    """True for the type of a vector that can be a parameter: one of numbers that Python knows."""
    return isinstance(dtype, DType) and dtype.kind == "vector" and dtype.of is not bf16


def component_names(vector: str, dtype: DType) -> tuple[str, ...]:
    """Return the names of a vector's components as parameters."""
    return tuple(f"{vector}_{letter}" for letter in LETTERS[: dtype.components])


def component_letter(spec: ParameterSpec) -> str:
    """Return the letter of a component: x, y, z or w."""
    return spec.name.rpartition("_")[2]


def vector_components(spec: ParameterSpec, dtype: DType) -> list[ParameterSpec]:
    """Return the parameters that are the components of a vector.

    `spec` declares the vector; its default is a sequence of numbers. Raise PatchError if the default has other sizes.
    """
    assert dtype.of is not None
    values, count = spec.default, dtype.components
    if not _is_sequence(values) or len(values) != count:
        raise PatchError(f"parameter {spec.name} must be {count} numbers, got {shown(values)}")
    return [
        replace(
            spec,
            name=name,
            type="float" if dtype.of.kind == "float" else "int",
            default=value,
            doc=spec.doc and f"{spec.doc.rstrip('.')}: {letter}.",
            number=dtype.of.__name__,
            replaces=tuple(f"{old}_{letter}" for old in spec.replaces),
            vector=spec.name,
        )
        for name, letter, value in zip(component_names(spec.name, dtype), LETTERS, values, strict=False)
    ]


def components_of(parameters: Mapping[str, ParameterSpec], vector: str) -> list[ParameterSpec]:
    """Return the components of a vector among a block type's parameters; none if there is no such vector."""
    return [spec for spec in parameters.values() if spec.vector and spec.vector == vector]


def spread(parameters: Mapping[str, ParameterSpec], values: Mapping[str, Any]) -> dict[str, Any]:
    """Return values by parameter, with those of vectors by component. Raise PatchError for a wrong number of them."""
    found: dict[str, Any] = {}
    for name, value in values.items():
        parts = [] if name in parameters else components_of(parameters, name)
        if not parts:
            found[name] = value
        elif not _is_sequence(value) or len(value) != len(parts):
            raise PatchError(f"parameter {name} must be {len(parts)} numbers, got {shown(value)}")
        else:
            found |= {part.name: each for part, each in zip(parts, value, strict=True)}
    return found


def _is_sequence(value: Any) -> bool:
    if isinstance(value, np.ndarray):
        return value.ndim == 1
    return isinstance(value, Sequence) and not isinstance(value, str | bytes)
