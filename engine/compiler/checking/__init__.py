"""Phases 1 and 2: finds all errors of a patch at once, and the layout of every buffer."""
