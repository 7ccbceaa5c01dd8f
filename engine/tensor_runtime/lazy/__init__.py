"""Lazy tensors: computed when they are needed, on any device."""

from engine.tensor_runtime.lazy.tensor import Tensor, execute

__all__ = ["Tensor", "execute"]
