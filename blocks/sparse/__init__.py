"""Matrices of which most entries are 0, in CSR form."""
