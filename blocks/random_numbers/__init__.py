"""Buffers of random numbers, the same on every device."""
