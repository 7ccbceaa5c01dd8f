"""Options of an optimiser on a device: they follow the formula, change live, and are saved and resumed bit for bit."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.tensor_ir.networks.option_formulas import Array, Reference, Settings
from tests.tensor_ir.networks.test_options import change, linear
from warploom.engine.device.device import Device
from warploom.engine.tensor_ir.errors import InvalidOperation
from warploom.engine.tensor_runtime.training import GraphBuilder, TrainingGraph
from warploom.engine.types import f64
from warploom.tensors import SGD, AdamW, Ranger, WeightOptions, schedules

RANDOM = np.random.default_rng(5)
WEIGHTS: dict[str, Array] = {"a": RANDOM.normal(size=(3, 33)), "b": RANDOM.normal(size=(31, 1))}
OPTIONS = {"a": {"decay": 0.3, "frozen": False}, "b": {"weight_limit": (-0.4, 0.9)}}
COMMON: dict[str, Any] = {"rate": 0.05, "decay": 0.1, "clip_norm": 4.0, "weight_limit": (-1.5, 2.0)}
BUILT = COMMON | {
    "schedule": schedules.Warmup(3, schedules.Linear(6, 0.5), None),
    "options": {name: WeightOptions(**one) for name, one in OPTIONS.items()},
}


def scheduled(step: int) -> float:
    return (step + 1) / 3 if step < 3 else 1 - 0.5 * min((step - 3) / 6, 1)


CASES = [
    (
        Ranger(**BUILT, every=3, threshold=4.5, beta2=0.9),
        Settings("Ranger", schedule=scheduled, of=OPTIONS, every=3, threshold=4.5, betas=(0.9, 0.9), **COMMON),
    ),
    (
        AdamW(**BUILT, bias_correction=False),
        Settings("AdamW", schedule=scheduled, of=OPTIONS, bias_correction=False, **COMMON),
    ),
]
#: What is set before a step.
CHANGES: dict[int, dict[str, Any]] = {
    3: {"a.frozen": True},
    5: {"a.decay": 0.0, "decay": 0.6, "b.weight_minimum": -0.2, "weight_maximum": 0.5},
    6: {"a.frozen": False, "rate": 0.02},
    8: {"reset": None},
}


def step(graph: TrainingGraph, number: int) -> dict[str, Array]:
    """Make a step, after the changes before it. Return its gradients."""
    for name, value in CHANGES.get(number, {}).items():
        if name == "reset":
            graph.reset_optimiser()
        else:
            graph.set(name, value)
    random = np.random.default_rng(number)
    gradients = {name: random.normal(size=w.shape) for name, w in WEIGHTS.items()}
    graph.step({f"x_{name}": g for name, g in gradients.items()})
    return gradients


@pytest.mark.parametrize(("optimiser", "settings"), CASES, ids=["ranger", "adamw"])
def test_options_on_a_device(device: Device, optimiser: Any, settings: Settings, tmp_path: Path) -> None:
    """Weights follow the formula; a second graph that loads them at any step continues with the same bits."""
    settings = replace(settings, of={name: dict(one) for name, one in OPTIONS.items()})
    reference = Reference(settings, WEIGHTS)
    path = tmp_path / "state.safetensors"
    with (
        linear(WEIGHTS, GraphBuilder).build(device, optimiser) as graph,
        linear(WEIGHTS, GraphBuilder).build(device, optimiser) as other,
    ):
        for number in range(12):
            graph.save(path, state=True)
            other.load(path)
            step(other, number)
            gradients = step(graph, number)
            change(reference, CHANGES.get(number, {}))
            reference.step(gradients)
            for name, expected in reference.weights.items():
                np.testing.assert_allclose(graph.weights[name], expected, rtol=1e-9, atol=1e-11, err_msg=name)
                np.testing.assert_array_equal(other.weights[name], graph.weights[name])
        limits = {name: float(graph.values(name)) for name in ("weight_maximum", "b.weight_minimum")}
        for name, value, message in [
            ("a.frozen", 0.5, "a.frozen must be True or False, got 0.5"),
            ("decay", -0.5, "decay must be 0 or more, got -0.5"),
            ("weight_minimum", 9.0, "weight_minimum must be below weight_maximum, which is 0.5, got 9"),
            ("b.weight_maximum", -0.2, "b.weight_maximum must be above b.weight_minimum, which is -0.2, got -0.2"),
            ("b.weight_maximum", float("nan"), "b.weight_maximum"),
        ]:
            with pytest.raises(InvalidOperation, match=message):
                graph.set(name, value)
        assert limits == {name: float(graph.values(name)) for name in limits}


def test_a_number_follows_its_schedule_within_a_launch(device: Device, tmp_path: Path) -> None:
    """A blend of two targets follows its schedule in one launch of many steps, can be set, and is saved."""
    builder = GraphBuilder(dtype=f64)
    score, result = builder.dense_input("score", (1, 1)), builder.dense_input("result", (1, 1))
    blend = builder.number("blend", 0.8, schedules.Linear(4, final=1.0, first=0.0))
    builder.root = (builder.weights("w", (1, 1), 0.0) - (score + blend * (result - score))).square()
    given = {"score": np.full((2, 1, 1), 1.0), "result": np.full((2, 1, 1), 3.0)}
    path = tmp_path / "w.npz"
    with builder.build(device, SGD(0.1), average=True) as graph:
        w, part = 0.0, 0.8
        for launch in range(2):
            for number in range(6 * launch, 6 * launch + 6):
                target = 1 + 2 * part * min(number / 4, 1)
                loss, w = (w - target) ** 2, w - 0.2 * (w - target)
            graph.steps(6, given)
            np.testing.assert_allclose([graph.loss, graph.weights["w"].item()], [loss, w], rtol=1e-12)
            part = 0.25
            graph.set("blend", part)
        graph.save(path, state=True)
        with builder.build(device, SGD(0.1), average=True) as other:
            other.load(path)
            assert (other.values("blend"), other.values("step")) == (0.25, 12)
    with builder.build(device) as untrained:
        untrained.load(path)
        untrained.forward({name: array[:1] for name, array in given.items()})
        np.testing.assert_allclose(untrained.loss, (w - 1.5) ** 2, rtol=1e-12)


def test_a_state_goes_on_with_other_options(device: Device, tmp_path: Path) -> None:
    """Weights that can be frozen go on from the state of weights that could not, and the other way round."""
    path = tmp_path / "state.npz"
    with (
        linear(WEIGHTS, GraphBuilder).build(device, AdamW(0.1)) as plain,
        linear(WEIGHTS, GraphBuilder).build(device, AdamW(0.1, frozen=False)) as frozen,
    ):
        for number, (first, second) in enumerate(((plain, frozen), (frozen, plain))):
            step(first, number)
            first.reset_optimiser()
            step(first, number)
            first.save(path, state=True)
            second.load(path)
            for graph in (first, second):
                step(graph, 2)
            for name, expected in first.weights.items():
                np.testing.assert_allclose(second.weights[name], expected, rtol=1e-12)
    with linear(WEIGHTS, GraphBuilder).build(device) as untrained, pytest.raises(InvalidOperation, match="optimiser"):
        untrained.reset_optimiser()


def test_limits_go_on_with_a_state(device: Device, tmp_path: Path) -> None:
    """A graph goes on with a maximum alone, and with limits that both lie beyond its own."""
    path, first = tmp_path / "state.npz", {"a": (-np.inf, 0.2), "b": (1.0, 2.0)}
    second = {"a": (-np.inf, 0.1), "b": (-0.4, 0.9)}
    optimisers = [
        AdamW(0.1, options={name: WeightOptions(weight_limit=limits) for name, limits in each.items()})
        for each in (first, second)
    ]
    graphs = [linear(WEIGHTS, GraphBuilder).build(device, optimiser) for optimiser in optimisers]
    with graphs[0] as graph, graphs[1] as other:
        step(graph, 0)
        graph.save(path, state=True)
        other.load(path)
        for each in graphs:
            each.set("a.weight_maximum", 0.15)
            step(each, 1)
        for name, (least, most) in {"a": (-np.inf, 0.15), "b": (1.0, 2.0)}.items():
            np.testing.assert_array_equal(graph.weights[name], other.weights[name])
            assert np.all((least <= other.weights[name]) & (other.weights[name] <= most))
