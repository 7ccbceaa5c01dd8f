"""Rewrites of PTX before translation; importing this package fills the table of instructions to lower."""

from warploom.engine.host_compiler.passes import asynchronous_copies, matrix_accesses, small_rewrites

__all__ = ["asynchronous_copies", "matrix_accesses", "small_rewrites"]
