"""Filters over a window around each pixel: means, weighted sums, smallest and largest values."""
