"""The layouts of outputs whose memory is there before anything runs: arrays from the host, and the user's own."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from engine.blocktypes.description import OutputRule
from engine.blocktypes.extents import ShapeRuleError
from engine.compiler.layout import ALLOCATION_ALIGNMENT, Layout, strided_layout
from engine.device.external import ExternalArray
from engine.types import DType, dtype_of


def content_layout(rule: OutputRule, array: np.ndarray[Any, Any]) -> Layout:
    """Return the layout of contents; ShapeRuleError when the array does not fit the port's element type."""
    try:
        dtype = dtype_of(array) if rule.dtype is None else rule.dtype
    except TypeError as problem:
        raise ShapeRuleError(str(problem)) from None
    return Layout(dtype, _shape("contents", dtype, array.dtype, array.shape))


def external_layout(rule: OutputRule, array: ExternalArray) -> Layout:
    """Return the layout of memory of the user's own; ShapeRuleError when it does not fit the port's element type."""
    if rule.dtype is None:
        try:
            dtype = dtype_of(np.empty(0, array.dtype))
        except TypeError as problem:
            raise ShapeRuleError(str(problem)) from None
    else:
        dtype = rule.dtype
    shape = _shape("array", dtype, array.dtype, array.shape)
    if 0 in shape:
        raise ShapeRuleError(f"array must have elements, got shape {list(array.shape)}")
    if array.read_only:
        raise ShapeRuleError("array must be writable, got a read-only one: give a copy of it")
    alignment = math.gcd(array.pointer, ALLOCATION_ALIGNMENT)
    if alignment % dtype.alignment:
        raise ShapeRuleError(
            f"array of {dtype} must lie at a multiple of {dtype.alignment} bytes, got address {array.pointer:#x}"
        )
    if array.strides is None:
        return Layout(dtype, shape, None, alignment)
    outer, inner = array.strides[: len(shape)], array.strides[len(shape) :]
    if any(stride < 0 or stride % dtype.size_bytes for stride in outer) or inner not in ((), (array.dtype.itemsize,)):
        raise ShapeRuleError(
            f"strides of the array must be whole elements of {dtype} and not negative, got {list(array.strides)} bytes"
        )
    return strided_layout(dtype, shape, tuple(stride // dtype.size_bytes for stride in outer), alignment)


def _shape(what: str, dtype: DType, found: np.dtype[Any], shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape in elements: those of a vector take the last axis of the array."""
    base, inner = (dtype.numpy.subdtype or (dtype.numpy, ())) if dtype.kind == "vector" else (dtype.numpy, ())
    rank = len(shape) - len(inner)
    if found != base or shape[max(rank, 0) :] != inner:
        raise ShapeRuleError(
            f"{what} must be {base} with elements of shape {list(inner)}, got {found} of shape {list(shape)}"
        )
    return shape[:rank]
