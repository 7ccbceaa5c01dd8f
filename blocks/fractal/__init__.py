"""Fractals, some iterations at a time."""
