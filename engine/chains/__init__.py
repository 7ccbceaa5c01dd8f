"""Chains: library calls that a person wires, as one captured node."""
