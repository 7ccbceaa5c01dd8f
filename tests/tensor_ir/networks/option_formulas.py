"""Optimisers with options for each weight, step by step in float64: written from their papers, not from the code."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import inf, sqrt
from typing import Any

import numpy as np

from warploom.engine.types import Array


@dataclass
class Settings:
    """The settings of a run, with the names of the optimisers' arguments; `of` has those of single weights."""

    kind: str
    rate: float
    schedule: Callable[[int], float] = lambda step: 1.0
    decay: float | None = None
    clip_value: tuple[float, float] = (-inf, inf)
    clip_norm: float = inf
    weight_limit: tuple[float, float] = (-inf, inf)
    frozen: bool = False
    of: dict[str, dict[str, Any]] = field(default_factory=dict)
    momentum: float = 0.0
    nesterov: bool = False
    betas: tuple[float, float] = (0.9, 0.999)
    epsilon: float = 1e-8
    bias_correction: bool = True
    threshold: float = 5.0
    every: int = 6
    part: float = 0.5

    def option(self, name: str, weight: str) -> Any:
        """Return a weight's own setting, or that of all weights."""
        return self.of.get(weight, {}).get(name, getattr(self, name))


class Reference:
    """Weights and the state of their optimiser, after any number of steps."""

    def __init__(self, settings: Settings, weights: Mapping[str, Array]) -> None:
        self.settings = settings
        self.weights = dict(weights)
        self.steps = 0
        self.reset()

    def reset(self) -> None:
        """Forget all but the weights and the number of steps."""
        zeros = {name: np.zeros_like(w) for name, w in self.weights.items()}
        self.first, self.second, self.slow = dict(zeros), dict(zeros), dict(self.weights)
        self.updates = dict.fromkeys(self.weights, 0)

    def step(self, gradients: Mapping[str, Array]) -> None:
        """Make one step."""
        s = self.settings
        rate = s.rate * s.schedule(self.steps)
        self.steps += 1
        clipped = {name: np.clip(g, *s.clip_value) for name, g in gradients.items()}
        norm = sqrt(sum(float(np.sum(g**2)) for name, g in clipped.items() if not s.option("frozen", name)))
        shorter = min(1.0, s.clip_norm / (norm + 1e-6))
        for name, g in clipped.items():
            if not s.option("frozen", name):
                self.weights[name] = np.clip(self._updated(name, g * shorter, rate), *s.option("weight_limit", name))

    def _updated(self, name: str, g: Array, rate: float) -> Array:
        s, w, decay = self.settings, self.weights[name], self.settings.option("decay", name) or 0.0
        self.updates[name] += 1
        t = self.updates[name]
        if s.kind == "SGD":
            g = g + decay * w
            self.first[name] = s.momentum * self.first[name] + g
            total = self.first[name]
            return w - rate * (g + s.momentum * total if s.nesterov else total)
        beta1, beta2 = s.betas
        w = w * (1 - rate * decay)
        m = self.first[name] = beta1 * self.first[name] + (1 - beta1) * g
        v = self.second[name] = beta2 * self.second[name] + (1 - beta2) * g**2
        if s.kind == "AdamW":
            if s.bias_correction:
                m, v = m / (1 - beta1**t), v / (1 - beta2**t)
            return w - rate * m / (np.sqrt(v) + s.epsilon)
        longest = 2 / (1 - beta2) - 1
        length = longest - 2 * t * beta2**t / (1 - beta2**t)
        change = m / (1 - beta1**t)
        if length > s.threshold:
            rectified = (length - 4) * (length - 2) * longest / ((longest - 4) * (longest - 2) * length)
            change = change * sqrt(rectified * (1 - beta2**t)) / (np.sqrt(v) + s.epsilon)
        w = w - rate * change
        if s.kind == "Ranger" and t % s.every == 0:
            w = self.slow[name] = self.slow[name] + s.part * (w - self.slow[name])
        return w
