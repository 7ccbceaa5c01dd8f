"""Runs functions of a network with numpy, as an oracle for devices and formulas."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from warploom.engine.tensor_ir.evaluation import evaluate
from warploom.engine.tensor_ir.networks.functions import NetworkFunction
from warploom.engine.tensor_ir.networks.network import Network
from warploom.engine.types import Array


class Simulation:
    """The variables of a network as numpy arrays."""

    def __init__(self, network: Network) -> None:
        self.network = network
        self.held: dict[str, Array] = {}
        for name, variable in network.variables.items():
            first = variable.first()
            if first is not None and not variable.leaf.type.batched:
                self.held[name] = np.broadcast_to(first, variable.leaf.type.shape)

    def run(
        self, function: str | NetworkFunction, inputs: Mapping[str, Any] | None = None, batch: int | None = None
    ) -> None:
        """Run a function on the variables; inputs have a leading batch axis."""
        self.held.update(inputs or {})
        if isinstance(function, str):
            function = self.network.functions[function]
        values = {node: self.held[node.name] for node in function.reads}
        results = evaluate(list(function.writes.values()), values, batch)
        self.held.update({leaf.name: result for leaf, result in zip(function.writes, results, strict=True)})

    def __getitem__(self, name: str) -> Array:
        return self.held[name]
