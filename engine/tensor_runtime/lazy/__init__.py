"""Lazy tensors, which are computed on any device when they are needed."""

from warploom.engine.tensor_runtime.lazy.tensor import Tensor, execute

__all__ = ["Tensor", "execute"]
