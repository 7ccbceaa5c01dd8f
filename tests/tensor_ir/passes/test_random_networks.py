"""Random networks have the same values and gradients before and after all passes."""

from __future__ import annotations

import numpy as np
from hypothesis import HealthCheck, given, settings

from tests.fuzzing import many
from tests.tensor_ir.networks.random_networks import batch_of, networks
from warploom.engine.tensor_ir.evaluation import evaluate
from warploom.engine.tensor_ir.gradients import gradients
from warploom.engine.tensor_ir.graph import TensorGraph
from warploom.engine.tensor_ir.networks.builder import NetworkBuilder
from warploom.engine.tensor_ir.passes.pipeline import PASSES, optimise
from warploom.engine.tensor_ir.passes.rewriting import copied_nodes

BATCH = 3


@settings(max_examples=many(60), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(builder=networks())
def test_values_and_gradients_stay(builder: NetworkBuilder) -> None:
    """Values and gradients stay the same, also with passes both before and after differentiation."""
    root = builder.root
    loss = root.sum_batch() if root.type.batched else root
    values = {builder.trained[name]: first.draw() for name, first in builder.initial.items()}
    values[builder.inputs["x0"]] = batch_of(builder, BATCH)
    weights = list(builder.trained.values())
    found = gradients(loss, weights) if loss.requires_grad else {}
    expected = evaluate([loss, *found.values()], values, BATCH)

    (simple,) = optimise([loss], PASSES)
    again = gradients(simple, weights) if simple.requires_grad else {}
    wanted = [simple, *(again.get(weight, weight * 0.0) for weight in found)]
    for got, right in zip(evaluate(wanted, values, BATCH), expected, strict=True):
        np.testing.assert_allclose(got, right, rtol=1e-9, atol=1e-9)

    copies = copied_nodes(wanted, TensorGraph(), differentiable=False)
    final = optimise([copies[node] for node in wanted], PASSES)
    held = {copies[leaf]: value for leaf, value in values.items() if leaf in copies}
    for got, right in zip(evaluate(final, held, BATCH), expected, strict=True):
        np.testing.assert_allclose(got, right, rtol=1e-9, atol=1e-9)
