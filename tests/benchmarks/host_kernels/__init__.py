"""Kernels in the style of practitioners, equivalent C code, and data for both."""
