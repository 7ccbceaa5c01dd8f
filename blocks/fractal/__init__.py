"""Fractals, computed a few iterations at a time."""
