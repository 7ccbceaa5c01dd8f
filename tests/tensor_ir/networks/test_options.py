"""Optimisers with options for single weights equal a formula in f64, step by step, also when options change."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fuzzing import many
from tests.tensor_ir.networks.examples import Builder
from tests.tensor_ir.networks.option_formulas import Array, Reference, Settings
from tests.tensor_ir.networks.simulation import Simulation
from warploom.engine.tensor_ir.errors import InvalidOperation
from warploom.engine.tensor_ir.networks import schedules
from warploom.engine.tensor_ir.networks.builder import NetworkBuilder
from warploom.engine.tensor_ir.networks.network import build_network
from warploom.engine.tensor_ir.networks.optimiser_options import LIMITS, WeightOptions
from warploom.engine.tensor_ir.networks.optimisers import SGD, AdamW, Optimiser, RAdam, Ranger
from warploom.engine.types import f64

KINDS: Mapping[str, type[Optimiser]] = {"SGD": SGD, "AdamW": AdamW, "RAdam": RAdam, "Ranger": Ranger}
SHAPES = [(), (1,), (3,), (2, 1), (1, 33), (4, 3)]
SCHEDULES = [
    (schedules.CONSTANT, lambda t: 1.0),
    (schedules.Warmup(4, first=None), lambda t: min((t + 1) / 4, 1)),
    (schedules.Warmup(3, schedules.Drop(2, 0.3)), lambda t: t / 3 if t < 3 else (1 if t < 5 else 0.3)),
    (schedules.Linear(5, 0.2), lambda t: 1 - 0.8 * min(t / 5, 1)),
    (schedules.Drop(3), lambda t: 1 if t < 3 else 0.1),
    (schedules.Sequence(schedules.Linear(3, 0.5), 3, schedules.Exponential(0.9)), lambda t: (
        1 - t / 6 if t < 3 else 0.9 ** (t - 3)
    )),
]  # fmt: skip


def linear(weights: Mapping[str, Array], builder: type[Builder]) -> Builder:
    """Return the builder's network whose loss is the sum of weights times inputs: gradients are the inputs."""
    made = builder(dtype=f64)
    parts = []
    for name, first in weights.items():
        x = made.dense_input(f"x_{name}", first.shape, batched=False)
        parts.append((made.weights(name, first.shape, first) * x).sum())
    made.root = sum(parts[1:], parts[0]) * 1.0
    return made


def _pair(draw: st.DrawFn, low: float, high: float) -> tuple[float, float]:
    return draw(st.floats(-high, -low)), draw(st.floats(low, high))


@st.composite
def runs(draw: st.DrawFn) -> tuple[Optimiser, Settings, dict[str, Array], list[dict[str, Any]]]:
    """Draw an optimiser, the same settings for the formula, weights, and what changes before each step."""
    random = np.random.default_rng(draw(st.integers(0, 999)))
    names = ["a", "b", "c"][: draw(st.integers(1, 3))]
    weights = {name: random.normal(size=draw(st.sampled_from(SHAPES))) for name in names}
    kind = draw(st.sampled_from(sorted(KINDS)))
    schedule, formula = draw(st.sampled_from(SCHEDULES))
    mine: dict[str, Any] = {"rate": draw(st.floats(0.001, 0.1))}
    if draw(st.booleans()):
        mine["decay"] = draw(st.floats(0, 0.5))
    elif kind == "AdamW":
        mine["decay"] = None
    if draw(st.booleans()):
        mine["clip_value"] = _pair(draw, 0.2, 2)
    if draw(st.booleans()):
        mine["clip_norm"] = draw(st.floats(0.1, 3))
    if draw(st.booleans()):
        mine["weight_limit"] = _pair(draw, 0.3, 1.5)
    if draw(st.booleans()):
        mine["frozen"] = draw(st.booleans())
    own: dict[str, dict[str, Any]] = {}
    for name in names:
        if draw(st.booleans()):
            one = own[name] = {}
            if draw(st.booleans()):
                one["decay"] = draw(st.floats(0, 0.5))
            if draw(st.booleans()):
                one["weight_limit"] = (-inf, draw(st.floats(0.1, 1)))
            if draw(st.booleans()):
                one["frozen"] = draw(st.booleans())
    special: dict[str, Any] = {}
    if kind == "SGD":
        special = {"momentum": 0.9, "nesterov": draw(st.booleans())}
    elif kind == "AdamW":
        special = {"bias_correction": draw(st.booleans())}
    else:
        special = {"threshold": draw(st.sampled_from([4.0, 5.0, 5.5]))}
        special |= {"every": draw(st.integers(1, 4)), "part": 0.4} if kind == "Ranger" else {}
    optimiser = KINDS[kind](
        schedule=schedule, options={name: WeightOptions(**one) for name, one in own.items()}, **mine, **special
    )
    reference = Settings(kind, schedule=formula, of=own, **mine, **special)
    live = [("rate", 0.05), ("reset", None)]
    live += [("decay", 0.3)] * (mine.get("decay") is not None) + [("frozen", True), ("frozen", False)] * (
        "frozen" in mine
    )
    live += [("weight_minimum", -0.2), ("weight_maximum", 0.25)] * ("weight_limit" in mine)
    for name, one in own.items():
        live += [(f"{name}.weight_maximum", 0.15)] * ("weight_limit" in one)
        live += [(f"{name}.decay", 0.4)] * ("decay" in one)
        live += [(f"{name}.frozen", True), (f"{name}.frozen", False)] * ("frozen" in one)
    changes = [dict([draw(st.sampled_from(live))] if draw(st.booleans()) else []) for _ in range(9)]
    return optimiser, reference, weights, changes


def change(reference: Reference, changes: Mapping[str, Any]) -> None:
    """Change the formula's settings, by the names of the network's numbers."""
    for name, value in changes.items():
        weight, _, option = name.rpartition(".")
        if name == "reset":
            reference.reset()
        elif option in LIMITS:
            limits = reference.settings.of[weight] if weight else vars(reference.settings)
            least, most = limits["weight_limit"]
            limits["weight_limit"] = (value, most) if option == LIMITS[0] else (least, value)
        elif weight:
            reference.settings.of[weight][option] = value
        else:
            setattr(reference.settings, name, value)


@settings(max_examples=many(25), deadline=None)
@given(runs())
def test_steps_follow_the_formula(run: tuple[Optimiser, Settings, dict[str, Array], list[dict[str, Any]]]) -> None:
    """For random shapes, options, schedules and changes, weights after each step equal the formula's."""
    optimiser, reference_settings, weights, changes = run
    network = Simulation(build_network(linear(weights, NetworkBuilder), optimiser))
    reference = Reference(reference_settings, weights)
    random = np.random.default_rng(len(weights))
    for step in changes:
        change(reference, step)
        for name, value in step.items():
            if name == "reset":
                state = [item for item in network.network.variables.values() if item.role.value == "state"]
                network.held |= {item.name: np.zeros(item.leaf.type.shape) for item in state if item.name != "step"}
            else:
                assert network.network.variables[name].role.value == "number"
                network.held[name] = np.asarray(float(value))
        gradients = {name: random.normal(size=w.shape) * 2 for name, w in weights.items()}
        network.run("step", {f"x_{name}": g for name, g in gradients.items()})
        reference.step(gradients)
        for name, expected in reference.weights.items():
            np.testing.assert_allclose(network[name], expected, rtol=1e-9, atol=1e-11, err_msg=f"{name} {optimiser}")


def test_options_that_are_not_given_cost_nothing() -> None:
    """Without options, the network has no number besides the rate, and no count besides the shared one."""
    network = build_network(linear({"a": np.ones(3), "b": np.ones(3)}, NetworkBuilder), AdamW(decay=None))
    numbers = [name for name, item in network.variables.items() if item.role.value == "number"]
    counts = [name for name in network.variables if name.endswith("updates")]
    assert (numbers, counts) == (["rate"], ["updates"])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: WeightOptions(decay=-1), "decay must be 0 or more, got -1"),
        (lambda: WeightOptions(frozen=1), "frozen must be True or False, got 1"),  # type: ignore[arg-type]
        (
            lambda: WeightOptions(weight_limit=(1, 1)),
            r"minimum of weight_limit must be below its maximum, got \(1, 1\)",
        ),
        (lambda: SGD(weight_limit=(1, 2, 3)), "weight_limit must be one number, or a minimum and a maximum, got"),  # type: ignore[arg-type]
        (lambda: SGD(clip_value=("a", 2)), "clip_value must be one number, or a minimum and a maximum, got"),  # type: ignore[arg-type]
        (lambda: SGD(clip_value=(float("nan"), 2)), "clip_value must be one number, or a minimum and a maximum, got"),
        (lambda: RAdam(threshold=3.9), "threshold must be 4 or more, got 3.9"),
        (lambda: AdamW(bias_correction=None), "bias_correction must be True or False, got None"),  # type: ignore[arg-type]
        (lambda: SGD(options={"a": 0.1}), "options must be WeightOptions by the names of weights, got"),  # type: ignore[dict-item]
        (
            lambda: build_network(linear({"a": np.ones(3)}, NetworkBuilder), SGD(options={"b": WeightOptions()})),
            r"options must be for weights that are trained \(a\), got b",
        ),
        (lambda: schedules.Linear(0), "steps must be 1 or more, got 0"),
        (lambda: schedules.Drop(3, -1), "to must be 0 or more, got -1"),
        (lambda: schedules.Sequence(schedules.CONSTANT, 3, 0.5), "then must be a schedule such as Cosine"),  # type: ignore[arg-type]
    ],
)
def test_wrong_options(make: Any, message: str) -> None:
    """A wrong option is refused with its name and the rule."""
    with pytest.raises(InvalidOperation, match=message):
        make()
