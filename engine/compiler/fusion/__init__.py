"""Fusion: neighbouring kernels that compute element by element become one, and buffers between them aren't stored."""
