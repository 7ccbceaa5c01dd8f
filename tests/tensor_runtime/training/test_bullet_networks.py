"""The networks of bullet's examples have the losses and gradients of numpy, and of torch where it is installed.

`make test` tries them with an eighth of their units, `make fuzz` at their published sizes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.fuzzing import FACTOR
from tests.tensor_ir.networks.simulation import Simulation
from tests.tensor_runtime.training.bullet_networks import EXAMPLES, Array, Example, examples_of
from warploom.engine.device.device import Device
from warploom.engine.tensor_ir.networks.builder import NetworkBuilder
from warploom.engine.tensor_ir.networks.network import build_network
from warploom.engine.tensor_runtime.training import GraphBuilder
from warploom.engine.types import f64
from warploom.tensors import AdamW

BATCH = 5

each = pytest.mark.parametrize("example", EXAMPLES, ids=[example.name for example in EXAMPLES])


def check(example: Example, weights: dict[str, Array], inputs: Any, loss: float, slopes: dict[str, Array]) -> None:
    """Compare the loss with numpy's, and gradients with its differences in random directions, or with torch's."""
    np.testing.assert_allclose(loss, example.loss(np, weights, inputs), rtol=1e-9)
    random = np.random.default_rng(1)
    step = 1e-6
    for name, first in weights.items():
        direction = random.normal(size=first.shape)
        ends = [float(example.loss(np, {**weights, name: first + sign * step * direction}, inputs)) for sign in (1, -1)]
        slope = (ends[0] - ends[1]) / (2 * step)
        np.testing.assert_allclose(np.sum(slopes[name] * direction), slope, rtol=1e-5, atol=1e-8, err_msg=name)


@each
def test_losses_and_gradients(example: Example) -> None:
    """The loss is numpy's, and each weight's gradient gives the slope of the loss in a random direction."""
    builder = NetworkBuilder(dtype=f64)
    example.build(builder, example.width)
    network = Simulation(build_network(builder, average=True))
    inputs = examples_of(builder, BATCH)
    for function in ("zero_gradients", "forward", "backward"):
        network.run(function, inputs, BATCH)
    weights = {name: np.asarray(network[name]) for name in builder.trained}
    slopes = {name: network[f"{name}.gradient"] for name in weights}
    check(example, weights, inputs, network["loss"].item(), slopes)


@pytest.mark.parametrize(
    "example",
    EXAMPLES if FACTOR > 1 else EXAMPLES[1:2],
    ids=lambda example: example.name,
)
def test_losses_and_gradients_on_a_device(device: Device, example: Example) -> None:
    """A device computes the same loss and gradients."""
    builder = GraphBuilder(dtype=f64)
    example.build(builder, example.width)
    inputs = examples_of(builder, BATCH)
    with builder.build(device, average=True) as graph:
        graph.forward(inputs)
        graph.backward()
        slopes = {name: graph.gradients(name) for name in builder.trained}
        check(example, graph.weights, inputs, graph.loss, slopes)


@each
def test_training_as_torch(example: Example) -> None:
    """In f64, losses of three steps of AdamW, and gradients, equal torch's."""
    torch = pytest.importorskip("torch")
    builder = NetworkBuilder(dtype=f64)
    example.build(builder, example.width)
    network = Simulation(build_network(builder, AdamW(0.01), average=True))
    inputs = examples_of(builder, BATCH)
    given = {
        name: torch.tensor(array.astype(np.int64) if array.dtype == np.int32 else array)
        for name, array in inputs.items()
    }
    weights = {name: torch.nn.Parameter(torch.tensor(np.array(network[name]))) for name in builder.trained}
    optimiser = torch.optim.AdamW(weights.values(), lr=0.01)
    for _ in range(3):
        optimiser.zero_grad()
        loss = example.loss(torch, weights, given)
        loss.backward()
        for function in ("zero_gradients", "forward", "backward"):
            network.run(function, inputs, BATCH)
        np.testing.assert_allclose(network["loss"].item(), loss.item(), rtol=1e-9)
        for name, weight in weights.items():
            slope = network[f"{name}.gradient"]
            np.testing.assert_allclose(slope, weight.grad.numpy(), rtol=1e-7, atol=1e-12, err_msg=name)
        network.run("step", inputs, BATCH)
        optimiser.step()
