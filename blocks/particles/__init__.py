"""Particles: emission, forces, motion, selection and rendering."""
