"""Networks on a device: built, run, trained, saved and loaded."""

from engine.tensor.training.builder import GraphBuilder
from engine.tensor.training.graph import Graph

__all__ = ["Graph", "GraphBuilder"]
