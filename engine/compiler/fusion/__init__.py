"""Fusion: joins neighbouring element-wise kernels, so that the buffers between them need not be stored."""
