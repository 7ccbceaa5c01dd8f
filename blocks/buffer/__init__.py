"""Blocks that copy and fill buffers of any type."""
