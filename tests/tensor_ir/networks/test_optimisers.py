"""Optimisers follow independent formulas, and PyTorch where it is installed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.tensor_ir.networks import formulas
from tests.tensor_ir.networks.simulation import Simulation
from warploom.engine.tensor_ir.errors import InvalidOperation
from warploom.engine.tensor_ir.networks import schedules
from warploom.engine.tensor_ir.networks.builder import NetworkBuilder
from warploom.engine.tensor_ir.networks.network import build_network
from warploom.engine.tensor_ir.networks.optimisers import SGD, AdamW, Optimiser, RAdam, Ranger
from warploom.engine.types import DType, f32, f64

STEPS = 100
ROWS = 7
RANDOM = np.random.default_rng(3)
WEIGHTS = RANDOM.normal(size=(ROWS, 1))
#: The gradient of sum(w * x) is x.
GRADIENTS = [RANDOM.normal(size=(ROWS, 1)) * RANDOM.choice([1e-4, 1, 30]) for _ in range(STEPS)]


def linear(optimiser: Optimiser, dtype: DType = f32) -> Simulation:
    """Return a network whose gradient is its input."""
    builder = NetworkBuilder(dtype=dtype)
    x = builder.dense_input("x", (ROWS, 1))
    (builder.weights("w", (ROWS, 1), WEIGHTS) * x).sum()
    return Simulation(build_network(builder, optimiser))


def trained(optimiser: Optimiser, dtype: DType = f32, gradients: list[Any] = GRADIENTS) -> np.ndarray[Any, Any]:
    """Return the weights after one step per gradient."""
    network = linear(optimiser, dtype)
    for gradient in gradients:
        network.run("step", {"x": gradient[np.newaxis]})
    return network["w"]


CASES: list[tuple[Optimiser, Callable[[], np.ndarray[Any, Any]]]] = [
    (SGD(0.01), lambda: formulas.sgd(WEIGHTS, GRADIENTS, 0.01, 0.0, 0.0, False)),
    (SGD(0.01, momentum=0.9, decay=0.1), lambda: formulas.sgd(WEIGHTS, GRADIENTS, 0.01, 0.9, 0.1, False)),
    (SGD(0.01, momentum=0.9, nesterov=True), lambda: formulas.sgd(WEIGHTS, GRADIENTS, 0.01, 0.9, 0.0, True)),
    (SGD(0.02, clip_value=0.5), lambda: formulas.sgd(WEIGHTS, np.clip(GRADIENTS, -0.5, 0.5), 0.02, 0.0, 0.0, False)),
    (AdamW(), lambda: formulas.adamw(WEIGHTS, GRADIENTS, 1e-3, 0.9, 0.999, 1e-8, 0.01)),
    (
        AdamW(0.02, beta1=0.8, beta2=0.95, epsilon=1e-3, decay=0.3),
        lambda: formulas.adamw(WEIGHTS, GRADIENTS, 0.02, 0.8, 0.95, 1e-3, 0.3),
    ),
    (RAdam(0.01), lambda: formulas.ranger(WEIGHTS, GRADIENTS, 0.01, 0.9, 0.999, 1e-8, 0.0, None, 0.5)),
    (RAdam(0.01, decay=0.2), lambda: formulas.ranger(WEIGHTS, GRADIENTS, 0.01, 0.9, 0.999, 1e-8, 0.2, None, 0.5)),
    (Ranger(0.01), lambda: formulas.ranger(WEIGHTS, GRADIENTS, 0.01, 0.9, 0.999, 1e-8, 0.0, 6, 0.5)),
    (
        Ranger(0.03, every=5, part=0.8, decay=0.1),
        lambda: formulas.ranger(WEIGHTS, GRADIENTS, 0.03, 0.9, 0.999, 1e-8, 0.1, 5, 0.8),
    ),
]


@pytest.mark.parametrize(("optimiser", "formula"), CASES, ids=[repr(optimiser) for optimiser, _ in CASES])
def test_a_hundred_steps_follow_the_formula(optimiser: Optimiser, formula: Callable[[], np.ndarray[Any, Any]]) -> None:
    """After a hundred steps, weights equal the formula's up to rounding in f64, and within 1e-5 in f32."""
    np.testing.assert_allclose(trained(optimiser, f64), formula(), rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(trained(optimiser), formula(), rtol=1e-5, atol=1e-5)


def test_a_wrong_formula_is_found() -> None:
    """Without bias correction, the weights differ by far more than the tolerance."""
    wrong = formulas.adamw(WEIGHTS, GRADIENTS, 1e-3, 0.9, 0.998, 1e-8, 0.01)
    assert np.max(np.abs(trained(AdamW(), f64) - wrong)) > 1e-5


@pytest.mark.parametrize(
    ("optimiser", "name", "settings"),
    [
        (SGD(0.01, momentum=0.9, decay=0.1), "SGD", {"lr": 0.01, "momentum": 0.9, "weight_decay": 0.1}),
        (SGD(0.01, momentum=0.9, nesterov=True), "SGD", {"lr": 0.01, "momentum": 0.9, "nesterov": True}),
        (AdamW(0.02, decay=0.3), "AdamW", {"lr": 0.02, "weight_decay": 0.3}),
        (RAdam(0.01), "RAdam", {"lr": 0.01}),
        (
            RAdam(0.01, decay=0.2),
            "RAdam",
            {"lr": 0.01, "weight_decay": 0.2, "decoupled_weight_decay": True},
        ),
        (AdamW(0.02, clip_norm=0.5), "AdamW", {"lr": 0.02, "clip_norm": 0.5}),
        (SGD(0.02, clip_value=0.5), "SGD", {"lr": 0.02, "clip_value": 0.5}),
        (SGD(0.1, schedule=schedules.Steps(7, 0.5)), "SGD", {"lr": 0.1, "scheduler": ("StepLR", 7, 0.5)}),
        (
            AdamW(0.1, schedule=schedules.Cosine(STEPS)),
            "AdamW",
            {"lr": 0.1, "scheduler": ("CosineAnnealingLR", STEPS)},
        ),
    ],
)
def test_a_hundred_steps_follow_torch(optimiser: Optimiser, name: str, settings: dict[str, Any]) -> None:
    """After a hundred steps in f32, weights are within 1e-5 of torch's, with torch's clipping and schedules."""
    torch = pytest.importorskip("torch")
    clip_norm, clip_value = settings.pop("clip_norm", None), settings.pop("clip_value", None)
    scheduler = settings.pop("scheduler", None)
    weights = torch.nn.Parameter(torch.tensor(WEIGHTS.astype(np.float32)))
    theirs = getattr(torch.optim, name)([weights], **settings)
    schedule = getattr(torch.optim.lr_scheduler, scheduler[0])(theirs, *scheduler[1:]) if scheduler else None
    for gradient in GRADIENTS:
        weights.grad = torch.tensor(gradient.astype(np.float32))
        if clip_norm:
            torch.nn.utils.clip_grad_norm_([weights], clip_norm)
        if clip_value:
            torch.nn.utils.clip_grad_value_([weights], clip_value)
        theirs.step()
        if schedule:
            schedule.step()
    np.testing.assert_allclose(trained(optimiser), weights.detach().numpy(), rtol=1e-5, atol=1e-5)


def test_the_norm_that_is_clipped_is_that_of_all_gradients() -> None:
    """Gradients 3 and 4 of two weights are clipped by their common norm, which is 5."""
    builder = NetworkBuilder(dtype=f64)
    a, b = builder.weights("a", (1, 1), "zeros"), builder.weights("b", (1, 1), "zeros")
    x = builder.dense_input("x", (1, 1))
    a * x * 3.0 + b * x * 4.0
    network = Simulation(build_network(builder, SGD(1.0, clip_norm=1.0)))
    network.run("step", {"x": np.ones((1, 1, 1))})
    np.testing.assert_allclose([network["a"].item(), network["b"].item()], [-0.6, -0.8], rtol=1e-6)


def test_weights_stay_within_their_limit() -> None:
    """Weights stay within their limit for gradients of any size."""
    assert np.max(np.abs(trained(SGD(10.0, weight_limit=1.25)))) == 1.25


def test_the_rate_can_be_set_between_steps() -> None:
    """A new rate applies to the next step."""
    network = linear(SGD(0.0), f64)
    network.run("step", {"x": np.ones((1, ROWS, 1))})
    np.testing.assert_array_equal(network["w"], WEIGHTS)
    network.held["rate"] = np.asarray(0.5)
    network.run("step", {"x": np.ones((1, ROWS, 1))})
    np.testing.assert_allclose(network["w"], WEIGHTS - 0.5)


def test_slow_weights_begin_where_training_does() -> None:
    """Slow weights start from the loaded weights, not from the initial ones."""
    network = linear(Ranger(0.01, every=2), f64)
    network.held["w"] = WEIGHTS + 5
    for gradient in GRADIENTS[:4]:
        network.run("step", {"x": gradient[np.newaxis]})
    expected = formulas.ranger(WEIGHTS + 5, GRADIENTS[:4], 0.01, 0.9, 0.999, 1e-8, 0.0, 2, 0.5)
    np.testing.assert_allclose(network["w"], expected, rtol=1e-12)


def test_frozen_weights_stay() -> None:
    """Frozen weights don't change, and have neither gradients nor state."""
    builder = NetworkBuilder()
    x = builder.dense_input("x", (3, 1))
    layer = builder.affine("fixed", 3, 2, frozen=True)
    (builder.weights("w", (1, 2)) @ layer.forward(x)).abs_pow(2)
    network = Simulation(build_network(builder, AdamW()))
    before = {name: network[name].copy() for name in ("fixedw", "fixedb", "w")}
    network.run("step", {"x": np.ones((5, 3, 1))})
    np.testing.assert_array_equal(network["fixedw"], before["fixedw"])
    np.testing.assert_array_equal(network["fixedb"], before["fixedb"])
    assert np.all(network["w"] != before["w"])
    assert [name for name in network.network.variables if name.startswith("fixed")] == ["fixedw", "fixedb"]


@pytest.mark.parametrize(
    ("schedule", "expected"),
    [
        (schedules.Schedule(), lambda t: 1.0),
        (schedules.Steps(4, 0.5), lambda t: 0.5 ** (t // 4)),
        (schedules.Exponential(0.9), lambda t: 0.9**t),
        (schedules.Cosine(10, 0.1), lambda t: 0.1 + 0.45 * (1 + np.cos(np.pi * min(t, 10) / 10))),
        (schedules.Warmup(5), lambda t: min(t / 5, 1)),
        (schedules.Warmup(4, schedules.Steps(3), 0.2), lambda t: 0.2 + 0.2 * t if t < 4 else 0.1 ** ((t - 4) // 3)),
    ],
    ids=["constant", "steps", "exponential", "cosine", "warmup", "warmup then steps"],
)
def test_schedules(schedule: schedules.Schedule, expected: Callable[[int], float]) -> None:
    """A step of size 1 changes the weight by the rate's factor, which equals the formula's."""
    network = linear(SGD(1.0, schedule=schedule), f64)
    found = []
    for _ in range(15):
        before = network["w"]
        network.run("step", {"x": np.ones((1, ROWS, 1))})
        found.append((before - network["w"])[0, 0])
    np.testing.assert_allclose(found, [expected(t) for t in range(15)], atol=1e-12)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: AdamW(beta1=1.0), "beta1 must be above 0 and below 1, got 1.0"),
        (lambda: RAdam(beta2=0.0), "beta2 must be above 0 and below 1, got 0.0"),
        (lambda: AdamW(beta2=float("nan")), "beta2 must be a finite number, got nan"),
        (lambda: Ranger(beta1=-0.5), "beta1 must be above 0 and below 1, got -0.5"),
        (lambda: Ranger(every=0), "every must be 1 or more, got 0"),
        (lambda: schedules.Steps(0), "every must be 1 or more, got 0"),
        (lambda: schedules.Cosine(2.5), "steps must be a whole number, got 2.5"),
        (lambda: schedules.Warmup(0), "steps must be 1 or more, got 0"),
    ],
)
def test_settings_that_would_train_to_nan(make: Callable[[], object], message: str) -> None:
    """Settings that would train to NaN are refused when they are made."""
    with pytest.raises(InvalidOperation, match=message):
        make()
