"""The ops of the table, a file for each category; importing this enters them all."""

from engine.ops.library import arithmetic, interface

__all__ = ["arithmetic", "interface"]
