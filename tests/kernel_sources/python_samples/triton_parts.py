"""A module that kernels import."""

import triton
import triton.language as tl  # noqa: F401 - Triton's interpreter asks for it


@triton.jit
def twice(value):
    """Return 2 x."""
    return value * 2
