"""Kernels written in Python, compiled by Triton or numba: start at `load.load_python`."""
