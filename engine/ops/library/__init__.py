"""The ops of the table, a file for each category; importing this enters them all, in the order of a palette."""

from engine.ops.library import interface, indices, arithmetic, shaping, logic, bits, conversions, vectors, buffers  # isort: skip

__all__ = ["arithmetic", "bits", "buffers", "conversions", "indices", "interface", "logic", "shaping", "vectors"]
