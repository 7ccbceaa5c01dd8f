"""Biases and activations that follow a product."""

from __future__ import annotations

from collections.abc import Mapping

from engine.descriptions.handles import BufferHandle
from engine.tensor_ir.lowering.step import LoweringStep
from engine.tensor_ir.operations.rules import RULES
from engine.tensor_ir.operations.rules.rule import GraphValue
from engine.tensor_ir.types import TensorType

#: The activations that kernels apply themselves, by their names in the table, as `tensor_activations.cuh` calls them.
IN_KERNELS: Mapping[str | None, str] = {
    None: "identity",
    **{name: name for name in ("relu", "crelu", "screlu", "sqr_relu", "sigmoid")},
}


def write_activation(
    step: LoweringStep, product: BufferHandle, given: TensorType, bias: int | None, activation: str | None
) -> None:
    """Write a step's output: a product of a type with a bias, which is an input's number, and an activation."""
    type_ = step.node.type
    kernel = step.kernel(type_)
    value = GraphValue(kernel.graph, kernel.read_buffer(product, given, kernel.own))
    if bias is not None:
        added = kernel.read_buffer(step.input(bias), step.node.inputs[bias].type, kernel.own)
        value = value + GraphValue(kernel.graph, added)
    if activation is not None:
        value = RULES[activation].emit(value)
    kernel.write_value(value.port, step.out, type_.dtype)
    step.build.compute(kernel.made(), over=step.out, buffers=kernel.buffers)
