"""Blocks that make and change linear RGBA images."""
