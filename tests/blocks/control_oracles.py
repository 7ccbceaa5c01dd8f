"""Numpy's results for the blocks of the loop examples, in f32 unless noted, with each operation rounded."""

import numpy as np

from warploom.engine.types import Array


def jacobi_step(u: Array) -> tuple[Array, float]:
    """Return the field in which each inner point is the mean of its neighbours, and the largest change."""
    out = u.copy()
    if min(u.shape) < 3:
        return out, 0.0
    across, along = u[1:-1, :-2] + u[1:-1, 2:], u[:-2, 1:-1] + u[2:, 1:-1]
    out[1:-1, 1:-1] = np.float32(0.25) * (across + along)
    return out, float(np.abs(out - u).max())


def solve_jacobi(u: Array, tolerance: float) -> tuple[Array, int]:
    """Return the field after steps until the largest change is at most the tolerance, and the number of steps."""
    turns, change = 0, np.inf
    while change > np.float32(tolerance):
        u, change = jacobi_step(u)
        turns += 1
    return u, turns


def solve_laplace(top: float, bottom: float, left: float, right: float, shape: tuple[int, int]) -> Array:
    """Return the solution of the discrete Laplace equation with these edges, in f64; at the corners, rows win."""
    height, width = shape
    inside = [(y, x) for y in range(1, height - 1) for x in range(1, width - 1)]
    number = {place: i for i, place in enumerate(inside)}
    out = np.zeros(shape)
    out[:, 0], out[:, -1] = left, right
    out[0], out[-1] = top, bottom
    matrix, right_side = 4 * np.eye(len(inside)), np.zeros(len(inside))
    for (y, x), i in number.items():
        for place in ((y, x - 1), (y, x + 1), (y - 1, x), (y + 1, x)):
            if place in number:
                matrix[i, number[place]] = -1
            else:
                right_side[i] += out[place]
    for place, value in zip(inside, np.linalg.solve(matrix, right_side), strict=True):
        out[place] = value
    return out


def wave_step(heights: Array, velocities: Array, speed: float, damping: float) -> tuple[Array, Array]:
    """Return heights and velocities one step later, in f64."""
    wide = np.pad(heights.astype(np.float64), 1, mode="edge")
    around = wide[1:-1, :-2] + wide[1:-1, 2:] + wide[:-2, 1:-1] + wide[2:, 1:-1]
    later = (velocities + speed * (around - 4 * heights)) * (1 - damping)
    return heights + later, later


def mandelbrot(c: Array, most: int) -> tuple[Array, Array, Array]:
    """Return z (two f32), its number of iterations up to `most`, and which points c have not escaped."""
    x, y = np.zeros_like(c[..., 0]), np.zeros_like(c[..., 0])
    counts = np.zeros(x.shape, np.uint32)
    for _ in range(most):
        going = x * x + y * y <= np.float32(4)
        xy = x * y
        x, y = np.where(going, x * x - y * y + c[..., 0], x), np.where(going, xy + xy + c[..., 1], y)
        counts += going
    return np.stack([x, y], -1), counts, x * x + y * y <= np.float32(4)


def mandelbrot_turns(c: Array, steps: int, most: int) -> int:
    """Return the number of steps of several iterations until each point has escaped or reached the limit."""
    turns = 0
    while True:
        turns += 1
        done = min(turns * steps, most)
        if done == most or not mandelbrot(c, done)[2].any():
            return turns


def _hash(key: int) -> int:
    """Return PCG's output permutation on 32 bits (Jarzynski and Olano, 2020)."""
    state = (key * 747796405 + 2891336453) % 2**32
    word = ((state >> ((state >> 28) + 4)) ^ state) * 277803737 % 2**32
    return word >> 22 ^ word


def drop(field: Array, number: int, strength: float, radius: float, seed: int) -> Array:
    """Return the field after drop `number`, in f64; the frame's own seed is 0."""
    height, width = field.shape
    state, center = _hash(_hash(number) ^ _hash(seed)), []
    for size in (width, height):
        state = _hash(state)
        center.append((state >> 8) / 2**24 * size)
    y, x = np.mgrid[:height, :width] + 0.5
    soft = 1 - ((x - center[0]) ** 2 + (y - center[1]) ** 2) / radius**2
    return field - np.where(soft > 0, strength * soft * soft, 0)


def rain(shape: tuple[int, int], turns: int, period: int, *, radius: float) -> tuple[Array, int]:
    """Return the heights of the water in the rain example after some iterations, and the number of drops."""
    heights, velocities, drops = np.zeros(shape), np.zeros(shape), 0
    for turn in range(turns):
        if turn % period == 0:
            heights = drop(heights, drops, 1.0, radius, 1)
            drops += 1
        heights, velocities = wave_step(heights, velocities, 0.25, 0.002)
    return heights, drops
