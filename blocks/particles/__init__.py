"""Particles: birth, forces, motion and rendering."""
