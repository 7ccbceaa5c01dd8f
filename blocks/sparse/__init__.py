"""Matrices with mostly zeros, in CSR form."""
