"""Blocks that change the colours of linear RGBA images."""
