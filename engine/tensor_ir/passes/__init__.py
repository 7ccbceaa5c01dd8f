"""Passes that make a tensor graph simpler: each takes the wanted nodes, and returns nodes that compute the same."""
