"""`Step`: what an operation gets to write what computes one node."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from engine.descriptions.builder import BlockBuilder
from engine.descriptions.handles import BufferHandle
from engine.types import DType

if TYPE_CHECKING:
    from engine.tensor_graphs.graph import Node


@dataclass(frozen=True)
class Step:
    """One node of a program that is being written.

    Buffers of batched nodes have the batch as their first axis, and after it the type's `stored_shape`. `batch` is the
    number of examples as an expression of shape rules, "1" where nothing is batched.
    """

    build: BlockBuilder
    node: Node
    out: BufferHandle
    batch: str
    _handle_of: Callable[[Node], BufferHandle]

    def input(self, index: int) -> BufferHandle:
        """Return the buffer of an input of the node."""
        return self._handle_of(self.node.inputs[index])

    def temporary(self, name: str, dtype: DType, shape: str) -> BufferHandle:
        """Return a buffer for this step alone; `shape` is a shape rule."""
        return self.build.buffer(f"{name}{self.node.number}", dtype, shape)
