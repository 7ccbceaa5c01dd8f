"""Kernels for tests, compiled by numba-cuda where it is installed."""

import math

from numba import cuda, float32


@cuda.jit
def wave(x: "float32[:]", out: "float64[:]"):  # noqa: F821 - types of numba
    """Write sin(x) + 1."""
    i = cuda.grid(1)
    if i < out.size:
        out[i] = math.sin(x[i]) + 1


@cuda.jit("void(float32[:,:], float32[:,:], float32)")
def mirror(x, out, factor):
    """Mirror rows of 32 in shared memory."""
    column, row = cuda.grid(2)
    tile = cuda.shared.array((4, 32), float32)
    if row < x.shape[0]:
        tile[cuda.threadIdx.y, cuda.threadIdx.x] = x[row, column]
    cuda.syncthreads()
    if row < out.shape[0]:
        out[row, column] = tile[cuda.threadIdx.y, 31 - cuda.threadIdx.x] * factor


@cuda.jit
def count(x: "int32[:]", out: "int32[:]", bins: "int32"):  # noqa: F821
    """Count elements by their remainder."""
    i = cuda.grid(1)
    if i < x.size:
        cuda.atomic.add(out, x[i] % bins, 1)


@cuda.jit
def broken(x: "float32[:]"):
    """Read an undefined attribute."""
    x[0] = x.nothing


@cuda.jit
def untyped(x):
    """Declare no types."""
    x[0] = 1


@cuda.jit
def waves(x: "float32[:]", out: "float32[:]"):
    """Double elements, and add the next one's double when all thread blocks have theirs."""
    grid, i = cuda.cg.this_grid(), cuda.grid(1)
    if i < x.size:
        out[i] = x[i] * 2
    grid.sync()
    following = out[(i + 1) % x.size]
    grid.sync()
    if i < x.size:
        out[i] += following


@cuda.jit
def reshaped(x: "float32[:,:,:]", out: "float32[:,:]"):
    """Copy an array by an element's place in another shape."""
    i, j = cuda.grid(2)
    other = x.reshape((out.shape[0], out.shape[1]))
    if i < out.shape[0] and j < out.shape[1]:
        out[i, j] = other[i, j]
