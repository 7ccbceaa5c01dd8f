"""Phases 1 and 2: everything that is wrong with a patch at once, and the layout of every buffer."""
