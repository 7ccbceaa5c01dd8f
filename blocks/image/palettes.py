"""The colour ramps that a person can choose."""

#: `kernels/palette.cuh` knows them by their places.
PALETTES = ("ember", "aurora", "ice")
