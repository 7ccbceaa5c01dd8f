"""Blocks that bring data in, save it and show it."""
