"""Blocks that move the pixels of images."""
