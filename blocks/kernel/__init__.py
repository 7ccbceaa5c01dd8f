"""Kernels of your own: from files, from text, patched from ops, and from a formula."""
