"""Networks on a device: they are built, run, trained, saved and loaded here."""

from warploom.engine.tensor_runtime.training.graph import GraphBuilder, TrainingGraph

__all__ = ["GraphBuilder", "TrainingGraph"]
