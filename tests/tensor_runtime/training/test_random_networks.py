"""Random networks on a device equal numpy, which runs the network as it was written, without passes."""

from __future__ import annotations

import numpy as np
from hypothesis import HealthCheck, given, settings

from tests.fuzzing import many
from tests.tensor_ir.networks.random_networks import batch_of, networks
from warploom.engine.device.device import Device
from warploom.engine.tensor_ir.evaluation import evaluate
from warploom.engine.tensor_ir.gradients import gradients
from warploom.engine.tensor_ir.networks.optimisers import SGD
from warploom.engine.tensor_runtime.training import GraphBuilder


@settings(max_examples=many(6), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(builder=networks(most=8, builder=GraphBuilder))
def test_losses_gradients_and_steps(device: Device, builder: GraphBuilder) -> None:
    """Losses, gradients and steps of random networks equal numpy's, for batches that grow and shrink."""
    root = builder.root
    loss = root.sum_batch() if root.type.batched else root
    values = {builder.trained[name]: first.draw() for name, first in builder.initial.items()}
    weights = list(builder.trained.values())
    found = gradients(loss, weights) if loss.requires_grad else {}
    with builder.build(device, SGD(0.5)) as graph:
        for count in (2, 5, 3):
            examples = batch_of(builder, count)
            values[builder.inputs["x0"]] = examples
            total, *slopes = evaluate([loss, *found.values()], values, count)
            graph.set_weights({name: first.draw() for name, first in builder.initial.items()})
            graph.zero_gradients()
            graph.forward({"x0": examples})
            graph.backward()
            np.testing.assert_allclose(graph.loss, total.item(), rtol=1e-8, atol=1e-9)
            for weight, slope in zip(found, slopes, strict=True):
                if f"{weight.name}.gradient" in graph.network.variables:
                    np.testing.assert_allclose(graph.gradients(weight.name), slope, rtol=1e-7, atol=1e-8)
                else:
                    assert not slope.any()
            graph.step()
            for weight, slope in zip(found, slopes, strict=True):
                expected = builder.initial[weight.name].draw() - 0.5 * slope
                np.testing.assert_allclose(graph.weights[weight.name], expected, rtol=1e-7, atol=1e-8)
