"""The colour ramps that a person can choose."""

from __future__ import annotations

#: `kernels/palette.cuh` knows them by their places.
PALETTES = ("ember", "aurora", "ice")
