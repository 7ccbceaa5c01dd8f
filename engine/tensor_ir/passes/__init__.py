"""Passes that simplify a tensor graph. Each takes the wanted nodes, and returns nodes with the same values."""
