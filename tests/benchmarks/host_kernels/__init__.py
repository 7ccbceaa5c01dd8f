"""Kernels as practitioners write them, the same work in C, and data for both."""
