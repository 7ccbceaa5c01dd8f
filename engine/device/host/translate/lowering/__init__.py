"""Instructions that are rewritten as simpler ones before translation: matrix loads, asynchronous copies, spin loops."""

from engine.device.host.translate.lowering import barriers, conditions, copies, matrices, outside, refusals, stack
from engine.device.host.translate.lowering.functions import lowered

__all__ = ["barriers", "conditions", "copies", "lowered", "matrices", "outside", "refusals", "stack"]
