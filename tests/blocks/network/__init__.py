"""Blocks that exchange pictures and levels with other programs."""
