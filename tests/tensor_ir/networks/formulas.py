"""Optimisers in float64, written independently from their papers and PyTorch's documentation."""

from __future__ import annotations

from math import sqrt

import numpy as np

from warploom.engine.types import Array


def sgd(w: Array, gradients: list[Array], rate: float, momentum: float, decay: float, nesterov: bool) -> Array:
    """Return the weights after one step per gradient."""
    buffer = np.zeros_like(w)
    for g in gradients:
        g = g + decay * w
        buffer = momentum * buffer + g
        w = w - rate * (g + momentum * buffer if nesterov else buffer)
    return w


def adamw(w: Array, gradients: list[Array], rate: float, beta1: float, beta2: float, eps: float, decay: float) -> Array:
    """Return the weights after one step per gradient."""
    m, v = np.zeros_like(w), np.zeros_like(w)
    for t, g in enumerate(gradients, 1):
        w = w - rate * decay * w
        m = beta1 * m + (1 - beta1) * g
        v = beta2 * v + (1 - beta2) * g**2
        w = w - rate * (m / (1 - beta1**t)) / (np.sqrt(v / (1 - beta2**t)) + eps)
    return w


def radam_step(w: Array, m: Array, v: Array, t: int, rate: float, beta1: float, beta2: float, eps: float) -> Array:
    """Return the weights after step `t`, which counts from 1, with running means m and v."""
    rho = 2 / (1 - beta2) - 1
    length = rho - 2 * t * beta2**t / (1 - beta2**t)
    mean = m / (1 - beta1**t)
    if length <= 5:
        return w - rate * mean
    factor = sqrt((length - 4) * (length - 2) * rho / ((rho - 4) * (rho - 2) * length))
    return w - rate * mean * factor * sqrt(1 - beta2**t) / (np.sqrt(v) + eps)


def ranger(
    w: Array,
    gradients: list[Array],
    rate: float,
    beta1: float,
    beta2: float,
    eps: float,
    decay: float,
    every: int | None,
    part: float,
) -> Array:
    """Return the weights after one step per gradient; with `every` None, these are RAdam's."""
    m, v, slow = np.zeros_like(w), np.zeros_like(w), w
    for t, g in enumerate(gradients, 1):
        w = w * (1 - rate * decay)
        m = beta1 * m + (1 - beta1) * g
        v = beta2 * v + (1 - beta2) * g**2
        w = radam_step(w, m, v, t, rate, beta1, beta2, eps)
        if every and t % every == 0:
            slow = slow + part * (w - slow)
            w = slow
    return w
