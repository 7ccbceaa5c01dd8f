"""Kernels as practitioners write them, equivalent C code, and data for both."""
