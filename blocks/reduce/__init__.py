"""Reductions: one number from many."""
