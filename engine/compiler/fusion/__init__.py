"""Fusion: neighbouring kernels that compute element by element become one, and what lies between them isn't stored."""
