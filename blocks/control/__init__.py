"""Regions, which run parts of a patch conditionally or repeatedly, and blocks that make or use their conditions."""
