"""Blocks on buffers of any type: copies, constants, state, views and conversions."""
