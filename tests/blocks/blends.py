"""The blends of two images, by the formulas of "Compositing and Blending Level 1": Cb is a, Cs is b."""

from typing import Any

import numpy as np


def _soft_light(a: Any, b: Any) -> Any:
    bend = np.where(a <= 0.25, ((16 * a - 12) * a + 4) * a, np.sqrt(a))
    return np.where(b <= 0.5, a - (1 - 2 * b) * a * (1 - a), a + (2 * b - 1) * (bend - a))


def _hard_light(a: Any, b: Any) -> Any:
    return np.where(b <= 0.5, a * 2 * b, a + (2 * b - 1) - a * (2 * b - 1))


BLENDS = {
    "normal": lambda a, b: b,
    "add": lambda a, b: a + b,
    "subtract": lambda a, b: a - b,
    "multiply": lambda a, b: a * b,
    "divide": lambda a, b: a / np.maximum(b, 1e-6),
    "screen": lambda a, b: 1 - (1 - a) * (1 - b),
    "difference": lambda a, b: np.abs(a - b),
    "darken": np.minimum,
    "lighten": np.maximum,
    "exclusion": lambda a, b: a + b - 2 * a * b,
    "overlay": lambda a, b: _hard_light(b, a),
    "hard light": _hard_light,
    "soft light": _soft_light,
    "color dodge": lambda a, b: np.where(a <= 0, 0, np.where(b >= 1, 1, np.minimum(1, a / np.maximum(1 - b, 1e-6)))),
    "color burn": lambda a, b: np.where(
        a >= 1, 1, np.where(b <= 0, 0, 1 - np.minimum(1, (1 - a) / np.maximum(b, 1e-6)))
    ),
}
