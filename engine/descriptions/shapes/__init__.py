"""Integers and shapes that depend on other shapes: a small language, and the rules of a description in it."""
