"""Layers of neural networks, forward only."""
