"""Networks on a device: built, run, trained, saved and loaded."""

from engine.tensor_runtime.training.graph import GraphBuilder, TrainingGraph

__all__ = ["GraphBuilder", "TrainingGraph"]
