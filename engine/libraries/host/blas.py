"""BLAS by numpy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from engine.libraries.blas import Gemm

Arrays = Mapping[str, np.ndarray[Any, Any]]
Numbers = Mapping[str, Any]


def gemm(call: Gemm, arrays: Arrays, numbers: Numbers) -> None:
    """out = alpha a b + beta c; f16 is multiplied and summed as f32."""
    out = arrays["out"]
    wide = np.float32 if out.dtype == np.float16 else out.dtype
    a, b = (arrays[slot].astype(wide, copy=False) for slot in ("a", "b"))
    if call.transpose_a:
        a = a.swapaxes(-1, -2)
    if call.transpose_b:
        b = b.swapaxes(-1, -2)
    product = np.matmul(a, b)
    if numbers["alpha"] != 1:
        product *= np.asarray(numbers["alpha"], wide)
    if "c" in arrays and numbers["beta"] != 0:  # BLAS does not read c for a beta of 0
        product += np.asarray(numbers["beta"], wide) * arrays["c"].astype(wide, copy=False)
    out[...] = product


FUNCTIONS = {Gemm: gemm}
