"""Training gives the same results as numpy for a network that is written out by hand, and keeps its weights."""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.inner_patches.networks import Array, data, placed, small
from tests.tensor_ir.networks.simulation import Simulation
from warploom import Engine, Patch, UpdateLevel
from warploom.engine.catalogue.catalogue import default_catalogue
from warploom.engine.device.device import Device
from warploom.engine.inner_patches import training
from warploom.engine.inner_patches.training import OPTIMISERS, SCHEDULES, NetworkPatch
from warploom.engine.tensor_ir.networks.builder import NetworkBuilder
from warploom.engine.tensor_ir.networks.initialisations import FirstWeights
from warploom.engine.tensor_ir.networks.losses import squared_error
from warploom.engine.tensor_ir.networks.network import build_network

RATE = 0.01
WEIGHTS = ("hiddenw", "hiddenb", "lastw", "lastb")


def reference(optimiser: str, decay: float, seed: int = 3, clip_norm: float | None = None) -> Simulation:
    """Return the small network, written out by hand."""
    builder = NetworkBuilder(seed=seed)
    x, y = builder.dense_input("x", (64, 1)), builder.dense_input("y", (1, 1))
    hidden = builder.affine("hidden", 64, 64).forward(x).relu()
    result = builder.keep("result", builder.affine("last", 64, 1).forward(hidden))
    builder.root = squared_error(result, y)
    chosen = OPTIMISERS[optimiser]
    kind = replace(chosen, decay=decay, clip_norm=clip_norm)
    return Simulation(build_network(builder, kind, average=True))


def given() -> dict[str, Array]:
    return {"x": data(1, 5, 64), "y": data(2, 5, 1)}


def as_columns(inputs: dict[str, Array]) -> dict[str, Any]:
    return {name: array[..., None].astype(np.float64) for name, array in inputs.items()}


def test_each_choice_has_its_optimiser_or_schedule() -> None:
    """What a person can choose is what a network can be trained with."""
    parameters = default_catalogue().require("tensor.train").parameters
    assert parameters["optimiser"].choices == tuple(OPTIMISERS)
    assert parameters["schedule"].choices == tuple(SCHEDULES)


@pytest.mark.parametrize("optimiser", sorted(OPTIMISERS))
def test_steps_are_those_of_the_network_by_hand(optimiser: str, device: Device) -> None:
    """Results and losses of seven steps equal numpy's; Ranger moves its slow weights in one of the steps."""
    inputs, decay, steps = given(), 0.01, 7
    patch, node = placed(small(), inputs, optimiser=optimiser, weight_decay=decay, learning_rate=RATE, seed=3)
    simulation, losses = reference(optimiser, decay), []
    with Engine(patch, device=device) as engine:
        for _ in range(steps):
            assert not engine.step().diagnostics
            simulation.run("step", {**as_columns(inputs), "rate": np.float64(RATE)}, batch=5)
            losses.append(float(np.ravel(simulation["loss"])[0]))
            np.testing.assert_allclose(engine.read(node["result"])[:, 0], np.ravel(simulation["result"]), atol=2e-4)
        history = engine.read(node["losses"])
        assert np.isnan(history[:-steps]).all()
        np.testing.assert_allclose(history[-steps:], losses, rtol=1e-3, atol=1e-5)
        assert engine.read(node["loss"])[0] == history[-1]
        for name in WEIGHTS:
            found = engine.read(node[name])
            np.testing.assert_allclose(found.ravel(), np.ravel(simulation[name]), rtol=1e-3, atol=1e-4, err_msg=name)


def sparse_network() -> NetworkPatch:
    network = NetworkPatch()
    for type_id, node_id, settings in (
        ("net.sparse_input", "x", {"size": 20, "ones": 3}),
        ("net.dense", "hidden", {"units": 4, "activation": "sigmoid", "weights": "normal"}),
        ("net.target", "y", {"shape": "4"}),
        ("net.squared_error", "error", {}),
    ):
        network.add(type_id, node_id=node_id, **settings)
    network.connect(network["x"]["out"], network["hidden"]["x"])
    network.connect(network["hidden"]["out"], network["error"]["x"])
    network.connect(network["y"]["out"], network["error"]["targets"])
    return network


def test_a_sparse_input_is_a_dense_one_of_zeros_and_ones() -> None:
    """A step with a sparse input equals gradient descent on the dense input; a row of indices ends at -1."""
    places = np.array([[0, 19, 5], [7, -1, 5], [-1, -1, -1]], np.int32)
    dense = np.zeros((3, 20))
    for row, column in [(0, 0), (0, 19), (0, 5), (1, 7)]:
        dense[row, column] = 1
    targets = data(3, 3, 4)
    patch, node = placed(sparse_network(), {"x": places, "y": targets}, optimiser="SGD", learning_rate=0.5)
    block_type = patch.block_type("train")
    assert block_type is not None
    with Engine(patch, device="host") as engine:
        patch.set(node, train=False)
        assert not engine.step().diagnostics
        weights, bias = (engine.read(node[name]).astype(np.float64) for name in ("hiddenw", "hiddenb"))
        patch.set(node, train=True)
        assert not engine.step().diagnostics
        found = engine.read(node["hiddenw"]), engine.read(node["hiddenb"]), engine.read(node["loss"])[0]
    scores = 1 / (1 + np.exp(-(dense @ weights.T + bias)))
    slopes = 2 * (scores - targets) / scores.size * scores * (1 - scores)
    np.testing.assert_allclose(found[2], np.square(scores - targets).mean(), rtol=1e-5)
    np.testing.assert_allclose(found[0], weights - 0.5 * slopes.T @ dense, atol=1e-6)
    np.testing.assert_allclose(found[1].ravel(), bias.ravel() - 0.5 * slopes.sum(0), atol=1e-6)


def forward(engine: Engine, node: Any, x: Array) -> Array:
    """Return the small network's results with the current weights."""
    hidden, bias, last, end = (engine.read(node[name]).astype(np.float64) for name in WEIGHTS)
    found: Array = np.maximum(x @ hidden.T + bias, 0) @ last.T + end
    return found


def test_ports_are_known_before_anything_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """The ports of a block are found without computing weights or gradients, so edits of the network don't wait."""
    monkeypatch.setattr(FirstWeights, "draw", lambda first: pytest.fail(f"{first.name} was drawn"))
    monkeypatch.setattr(training, "build_network", lambda *_, **__: pytest.fail("the network was differentiated"))
    network = small()
    network.set("hidden", units=5, activation="sin")
    patch = Patch()
    patch.add("tensor.train", node_id="train", graph=network.json(), seed=77)
    block_type = patch.block_type("train")
    assert block_type is not None and not network.problems
    assert {"x", "y", "result", "loss", "losses", *WEIGHTS} == block_type.ports.keys()


def test_an_output_may_be_called_output() -> None:
    """The name that a new Output gets can be that of a port."""
    network = small()
    network.add("net.output", node_id="output")
    network.connect(network["hidden"]["out"], network["output"]["x"])
    assert not network.problems


def test_a_query_is_answered_with_the_weights_of_the_same_frame() -> None:
    """A query has its own number of rows, which may change, and its result comes from this frame's weights."""
    inputs = {**given(), "query_x": data(4, 3, 64)}
    patch, node = placed(small(), inputs, query=True, learning_rate=RATE)
    with Engine(patch, device="host") as engine:
        for query in (inputs["query_x"], data(5, 8, 64)):
            patch.set("query_x_data", data=query)
            assert not engine.step().diagnostics
            np.testing.assert_allclose(engine.read(node["result"]), forward(engine, node, query), atol=1e-4)


def test_a_query_may_be_sparse() -> None:
    """A query is sparse if its input is."""
    network = sparse_network()
    network.add("net.output", node_id="result")
    network.connect(network["hidden"]["out"], network["result"]["x"])
    places, asked = np.zeros((2, 3), np.int32), np.array([[19, 4, -1]], np.int32)
    patch, node = placed(network, {"x": places, "y": data(3, 2, 4), "query_x": asked}, query=True)
    with Engine(patch, device="host") as engine:
        assert not engine.step().diagnostics
        weights, bias, found = (engine.read(node[name]) for name in ("hiddenw", "hiddenb", "result"))
    scores = weights[:, 19] + weights[:, 4] + bias
    np.testing.assert_allclose(found, 1 / (1 + np.exp(-scores))[None], rtol=1e-5)


def test_a_block_without_a_network_does_nothing() -> None:
    """A block with an empty network has no ports and no diagnostics."""
    patch = Patch()
    patch.add("tensor.train", node_id="train", graph={})
    block_type = patch.block_type("train")
    assert block_type is not None and not block_type.ports
    with Engine(patch, device="host") as engine:
        assert not engine.step().diagnostics


def test_without_training_weights_stay() -> None:
    """With `train` off, weights stay unchanged, and the loss is still computed for other data."""
    patch, node = placed(small(), given(), learning_rate=RATE)
    with Engine(patch, device="host") as engine:
        engine.step()
        patch.set(node, train=False)
        before = [engine.read(node[name]) for name in WEIGHTS]
        patch.set("x_data", data=data(6, 5, 64))
        assert not engine.step().diagnostics
        for name, array in zip(WEIGHTS, before, strict=True):
            np.testing.assert_array_equal(engine.read(node[name]), array)
        expected = np.square(forward(engine, node, data(6, 5, 64)) - given()["y"]).mean()
        np.testing.assert_allclose(engine.read(node["loss"])[0], expected, rtol=1e-4)


def test_the_learning_rate_is_live() -> None:
    """A new rate is a HOT update, and with a rate of 0 the weights stay unchanged."""
    patch, node = placed(small(), given(), learning_rate=RATE)
    with Engine(patch, device="host") as engine:
        engine.step()
        patch.set(node, learning_rate=0.0)
        before = engine.read(node["hiddenw"])
        assert engine.step().update_level is UpdateLevel.HOT
        np.testing.assert_array_equal(engine.read(node["hiddenw"]), before)
        patch.set(node, learning_rate=RATE)
        assert engine.step().update_level is UpdateLevel.HOT
        assert np.abs(engine.read(node["hiddenw"]) - before).max() > 0


def rates(schedule: str, steps: int, factor: float, warmup: int) -> Callable[[int], float]:
    """Return a function from the number of a step to the factor of the rate."""
    falling: dict[str, Callable[[int], float]] = {
        "warm-up": lambda step: 1.0,
        "steps": lambda step: factor ** (step // steps),
        "exponential": lambda step: factor ** (step / steps),
        "linear": lambda step: 1 + (factor - 1) * min(step / steps, 1),
        "drop once": lambda step: 1.0 if step < steps else factor,
        "cosine": lambda step: factor + (1 - factor) * (1 + math.cos(math.pi * min(step / steps, 1))) / 2,
    }
    return lambda step: (
        min((step + 1 + step * (warmup == 0)) / (warmup + 1), 1) * falling[schedule](max(step - warmup, 0))
    )


@pytest.mark.parametrize("warmup", [0, 2])
@pytest.mark.parametrize("schedule", ["warm-up", "steps", "exponential", "linear", "drop once", "cosine"])
def test_the_rate_follows_a_schedule(schedule: str, warmup: int, device: Device) -> None:
    """The rate follows the number of the step, and its numbers are live; a warm-up of n steps begins at 1 / (n + 1)."""
    inputs = given()
    options = {"schedule": schedule, "schedule_steps": 3, "schedule_factor": 0.25, "warmup_steps": warmup}
    patch, node = placed(small(), inputs, optimiser="SGD", learning_rate=RATE, seed=3, **options)
    simulation = reference("SGD", 0.0)
    with Engine(patch, device=device) as engine:
        for step in range(9):
            if step == 5:
                options |= {"schedule_steps": 2, "schedule_factor": 0.5, "warmup_steps": 2 * warmup}
                patch.set(node, **options)
            report = engine.step()
            assert not report.diagnostics and (step != 5 or report.update_level is UpdateLevel.HOT)
            factor = rates(*options.values())(step)  # type: ignore[arg-type]
            simulation.run("step", {**as_columns(inputs), "rate": np.float64(RATE * factor)}, batch=5)
        for name in WEIGHTS:
            found = engine.read(node[name])
            np.testing.assert_allclose(found.ravel(), np.ravel(simulation[name]), rtol=1e-4, atol=1e-6, err_msg=name)


def test_gradients_are_clipped_by_their_norm(device: Device) -> None:
    """Steps with a limit on the norm of all gradients equal those by hand; the limit and the decay are live."""
    inputs = given()
    patch, node = placed(small(), inputs, optimiser="SGD", learning_rate=0.1, seed=3, clip_gradients=True)
    simulation = reference("SGD", 0.0, clip_norm=1.0)
    with Engine(patch, device=device) as engine:
        for number, (clip_norm, decay) in enumerate(((1e6, 0.0), (0.5, 0.25), (0.01, 0.125), (0.01, 0.125))):
            patch.set(node, clip_norm=clip_norm, weight_decay=decay)
            assert (engine.step().update_level is UpdateLevel.HOT) is (number in (1, 2))
            numbers = {"rate": np.float64(np.float32(0.1)), "clip_norm": np.float64(clip_norm)}
            numbers["decay"] = np.float64(decay)
            simulation.run("step", {**as_columns(inputs), **numbers}, batch=5)
            for name in WEIGHTS:
                found = engine.read(node[name])
                np.testing.assert_allclose(found.ravel(), np.ravel(simulation[name]), rtol=1e-4, atol=1e-6)


def test_what_was_learned_survives_edits() -> None:
    """Learned weights are kept through edits elsewhere, other batch sizes or layers, and a longer history of losses.

    A new seed draws others.
    """
    patch, node = placed(small(), given(), learning_rate=0.0)
    with Engine(patch, device="host") as engine:
        engine.step()
        first = engine.read(node["hiddenw"])
        patch.set(node, learning_rate=RATE)
        engine.step()
        patch.set(node, learning_rate=0.0)
        engine.step()
        learned = engine.read(node["hiddenw"])
        assert np.abs(learned - first).max() > 0
        patch.add("math.scale_offset", node_id="else")
        patch.connect(node["result"], patch["else"]["x"])
        assert not engine.step().diagnostics
        np.testing.assert_array_equal(engine.read(node["hiddenw"]), learned)
        patch.set("x_data", data=data(7, 9, 64))
        patch.set("y_data", data=data(8, 9, 1))
        report = engine.step()
        assert not report.diagnostics and report.update_level < UpdateLevel.COLD
        np.testing.assert_array_equal(engine.read(node["hiddenw"]), learned)
        network = small()
        network.set("last", weights="glorot_normal")
        patch.set(node, graph=network.json())
        assert not engine.step().diagnostics
        np.testing.assert_array_equal(engine.read(node["hiddenw"]), learned)
        patch.set(node, history=7)
        assert not engine.step().diagnostics
        np.testing.assert_array_equal(engine.read(node["hiddenw"]), learned)
        patch.set(node, seed=1)
        assert not engine.step().diagnostics
        again = engine.read(node["hiddenw"])
        assert np.abs(again - learned).max() > 0.01
        patch.set(node, seed=0)
        engine.step()
        np.testing.assert_array_equal(engine.read(node["hiddenw"]), first)


@pytest.mark.parametrize(
    ("name", "shape", "wanted"),
    [("y", (3, 1), "[5, 1]"), ("y", (7, 1), "[5, 1]"), ("y", (5, 2), "[5, 1]"), ("x", (5, 63), "[5, 64]")],
)
def test_inputs_must_have_the_shapes_of_the_network(name: str, shape: tuple[int, int], wanted: str) -> None:
    """One diagnostic at the port names the expected shape, with the number of rows of the other inputs."""
    patch, _ = placed(small(), {**given(), name: data(9, *shape)})
    with Engine(patch, device="host") as engine:
        problems = engine.step().diagnostics
    assert [(p.node, p.port) for p in problems] == [("train", name)], problems
    assert f"must be of shape {wanted}" in problems[0].message and str(list(shape)) in problems[0].message


def test_an_optimiser_begins_anew_with_the_weights() -> None:
    """With another optimiser, layer or seed, the optimiser's state is reset: at a rate of 0, Ranger moves no weight."""
    network, edited = small(), small()
    edited.set("last", weights="glorot_normal")
    patch, node = placed(network, given(), learning_rate=RATE)
    with Engine(patch, device="host") as engine:
        for change in ({}, {"optimiser": "Ranger"}, {"graph": edited.json()}, {"seed": 1}):
            patch.set(node, learning_rate=0.0, **change)
            engine.step()
            before = [engine.read(node[name]) for name in WEIGHTS]
            for _ in range(6):
                assert not engine.step().diagnostics
            for name, array in zip(WEIGHTS, before, strict=True):
                np.testing.assert_array_equal(engine.read(node[name]), array, err_msg=f"{name} after {change}")
            patch.set(node, learning_rate=RATE)
            for _ in range(3):
                engine.step()
