"""Networks on a device: built, run, trained, saved and loaded."""

from engine.tensor_runtime.training.builder import GraphBuilder
from engine.tensor_runtime.training.graph import TrainingGraph

__all__ = ["GraphBuilder", "TrainingGraph"]
