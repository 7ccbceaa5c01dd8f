"""`GraphBuilder` with `build`, which puts the network on a device."""

from __future__ import annotations

from engine.device.device import Device
from engine.tensor_ir.networks.builder import NetworkBuilder
from engine.tensor_ir.networks.network import build_network
from engine.tensor_ir.networks.optimisers import Optimiser
from engine.tensor_runtime.training.graph import TrainingGraph


class GraphBuilder(NetworkBuilder):
    """Collects a network; see `engine.tensor_ir.networks.NetworkBuilder`."""

    def build(
        self, device: Device | str = "auto", optimiser: Optimiser | None = None, *, average: bool = False
    ) -> TrainingGraph:
        """Verify the network, simplify it, write its functions, and put it on a device; TensorError when it is wrong.

        The loss is the sum over the batch, or with `average` the mean. With an optimiser, it can be trained.
        """
        return TrainingGraph(build_network(self, optimiser, average=average), device)
