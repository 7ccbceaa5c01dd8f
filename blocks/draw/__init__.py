"""Blocks that draw linear RGBA images: patterns, text, plots."""
