"""What shape rules and extents are evaluated in: the shapes and strides around one block."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from engine.types import Shape


class ShapeRuleError(ValueError):
    """A shape rule is malformed or cannot hold for the given shapes."""


def contiguous_strides(shape: Shape) -> tuple[int, ...]:
    """Return the strides, in elements, of a buffer in which the last axis lies densest and nothing is left out."""
    strides = []
    step = 1
    for size in reversed(shape):
        strides.append(step)
        step *= size
    return tuple(reversed(strides))


class ShapeContext(msgspec.Struct, frozen=True, gc=False):
    """What a rule may refer to: input shapes in port order, output shapes so far, structural integer parameters.

    An optional input that is not connected has the shape None. `strides`, in elements, names only buffers that are
    not contiguous.
    """

    inputs: Mapping[str, Shape | None]
    outputs: Mapping[str, Shape]
    parameters: Mapping[str, int]
    strides: Mapping[str, tuple[int, ...]] = {}

    def resolve(self, name: str) -> str:
        """Return the port that `name` means: itself, or the input of that index."""
        if not name.isdigit():
            return name
        if int(name) >= len(self.inputs):
            raise ShapeRuleError(f"input {name} must exist, got {len(self.inputs)} inputs")
        return list(self.inputs)[int(name)]

    def shape(self, name: str) -> Shape:
        """Shape of a port by name, or of an input by its index."""
        name = self.resolve(name)
        shape = self.inputs.get(name)
        if shape is None:
            shape = self.outputs.get(name)
        if shape is not None:
            return shape
        if name in self.inputs:
            raise ShapeRuleError(f"input {name} must be connected, since a shape follows from it")
        raise ShapeRuleError(
            f"{name!r} must be a port, got one of {', '.join([*self.inputs, *self.outputs]) or 'none'}"
        )

    def buffer_strides(self, name: str) -> tuple[int, ...]:
        """Strides of a port, in elements."""
        strides = self.strides.get(self.resolve(name))
        return contiguous_strides(self.shape(name)) if strides is None else strides

    def parameter(self, name: str) -> int:
        """Value of a structural whole-number parameter."""
        value = self.parameters.get(name)
        if value is None:
            known = ", ".join(self.parameters) or "none"
            raise ShapeRuleError(f"{name!r} must be a structural whole-number parameter, got one of {known}")
        return value
