"""Functions of networks: the variables that they write, and the text of their instructions."""

from __future__ import annotations

import re

import numpy as np
import pytest

from tests.tensor_ir.networks.examples import seeds_example
from tests.tensor_ir.networks.simulation import Simulation
from warploom.engine.tensor_ir.errors import InvalidOperation, ShapeMismatch
from warploom.engine.tensor_ir.networks.builder import NetworkBuilder
from warploom.engine.tensor_ir.networks.functions import (
    Accumulate,
    NetworkFunction,
    NetworkInstruction,
    Role,
    Set,
    Write,
)
from warploom.engine.tensor_ir.networks.instructions import function_code
from warploom.engine.tensor_ir.networks.network import Network, build_network
from warploom.engine.tensor_ir.networks.optimisers import SGD, AdamW
from warploom.engine.tensor_ir.operations.leaves import Constant
from warploom.engine.tensor_ir.types import TensorType
from warploom.engine.types import f32, f64


def names(network: Network, function: str) -> list[str]:
    """Return the names of instructions; for Unary, with its operation."""
    lines = function_code(network.functions[function]).splitlines()
    return [
        re.sub(r" \{ (op: (\w+))?.*", r" \2", line).strip() if "Unary" in line else line.split()[0] for line in lines
    ]


def test_the_seeds_example_has_the_seeds_instructions() -> None:
    """The instructions have the order of the seed's description."""
    assert names(build_network(seeds_example()), "forward") == [
        "MaybeUpdateBatchSize",
        "SparseAffineActivate",
        "MaybeUpdateBatchSize",
        "Matmul",
        "LinearCombinationSplat",
        "MaybeUpdateBatchSize",
        "Unary Sigmoid",
        "MaybeUpdateBatchSize",
        "AbsPowerError",
        "ReduceAcrossBatch",
    ]


def test_instructions_say_what_they_take_and_where_it_goes() -> None:
    """The text of an instruction names its operands and results by their variables."""
    assert function_code(build_network(seeds_example()).functions["forward"]) == (
        "MaybeUpdateBatchSize { node: sparseaffineactivate1 }\n"
        "SparseAffineActivate { activation: relu, a: l0w, b: inputs, c: l0b, out: sparseaffineactivate1 }\n"
        "MaybeUpdateBatchSize { node: add1 }\n"
        "Matmul { a: l1w, b: sparseaffineactivate1, out: add1 }\n"
        "LinearCombinationSplat { op: Add, a: add1, b: l1b, out: add1 }\n"
        "MaybeUpdateBatchSize { node: sigmoid1 }\n"
        "Unary { op: Sigmoid, input: add1, out: sigmoid1 }\n"
        "MaybeUpdateBatchSize { node: abspowererror1 }\n"
        "AbsPowerError { numbers: [2.0], a: sigmoid1, b: targets, out: abspowererror1 }\n"
        "ReduceAcrossBatch { input: abspowererror1, out: loss }\n"
    )


def test_gradients_are_set_to_zero_by_set() -> None:
    """Only gradients that accumulate are set: those without a value per example."""
    lines = function_code(build_network(seeds_example()).functions["zero_gradients"]).splitlines()
    assert "Set { node: l0w.gradient, value: 0 }" in lines
    assert all(line.startswith("Set") for line in lines)


def test_the_gradient_of_a_line_is_a_copy() -> None:
    """The gradient of a x + b with respect to x is a copy of a."""
    builder = NetworkBuilder()
    a, x, b = builder.weights("a", (), frozen=True), builder.weights("x", ()), builder.weights("b", (), frozen=True)
    a * x + b
    network = build_network(builder)
    gradient = NetworkFunction("gradient", {network.leaf("x.gradient"): network.leaf("x.gradient") * 0.0})
    assert gradient.writes  # the variable exists
    alone = network.functions["zero_gradients"].then(network.functions["backward"], "both")
    code = function_code(alone.only([network.leaf("x.gradient")]).optimised())
    assert code == "Copy { from: a, to: x.gradient }\n"


def test_a_constant_network_has_no_instruction() -> None:
    """The values of a constant network are the initial contents of its variables."""
    builder = NetworkBuilder()
    builder.apply(Constant(2.0, TensorType((3, 1)))).exp().log().sum()
    network = build_network(builder)
    assert function_code(network.functions["forward"]).strip() == ""
    np.testing.assert_allclose(Simulation(network)["loss"], 6.0, rtol=1e-6)


def small(optimiser: SGD | AdamW | None = None) -> NetworkBuilder:
    """Return a network of two layers in f64."""
    builder = NetworkBuilder(dtype=f64, seed=1)
    x, y = builder.dense_input("x", (4, 1)), builder.dense_input("y", (2, 1))
    hidden = builder.keep("hidden", builder.affine("a", 4, 3).forward(x).tanh())
    (builder.affine("b", 3, 2).forward(hidden) - y).square().sum()
    return builder


def batch(count: int, seed: int = 0) -> dict[str, np.ndarray]:  # type: ignore[type-arg]
    """Return examples for that network."""
    random = np.random.default_rng(seed)
    return {"x": random.normal(size=(count, 4, 1)), "y": random.normal(size=(count, 2, 1))}


class TestGradients:
    def test_they_are_the_derivatives(self) -> None:
        """Gradients equal central differences of the loss."""
        network, examples = Simulation(build_network(small())), batch(5)
        network.run("zero_gradients")
        network.run("forward", examples)
        network.run("backward")
        for name in ("aw", "ab", "bw", "bb"):
            gradient, base = network[f"{name}.gradient"].copy(), network[name].copy()
            for index in np.ndindex(base.shape):
                losses = []
                for change in (1e-5, -1e-5):
                    moved = base.copy()
                    moved[index] += change
                    network.held[name] = moved
                    network.run("forward")
                    losses.append(network["loss"].item())
                np.testing.assert_allclose(gradient[index], (losses[0] - losses[1]) / 2e-5, rtol=1e-6, atol=1e-8)
            network.held[name] = base

    def test_they_accumulate(self) -> None:
        """Gradients add up until they are set to 0; those with a value per example are the last batch's."""
        network, examples = Simulation(build_network(small())), batch(5)
        network.run("zero_gradients")
        for count in (1, 2, 3):
            network.run("forward", examples)
            network.run("backward")
            if count == 1:
                first = {name: network[f"{name}.gradient"].copy() for name in ("aw", "bb", "hidden")}
        np.testing.assert_allclose(network["aw.gradient"], 3 * first["aw"])
        np.testing.assert_allclose(network["bb.gradient"], 3 * first["bb"])
        np.testing.assert_array_equal(network["hidden.gradient"], first["hidden"])
        network.run("zero_gradients")
        assert not network["aw.gradient"].any()


def test_a_step_is_all_functions_one_after_another() -> None:
    """One step equals the single functions in a row, also with optimiser state and over several batches."""
    whole, parts = (Simulation(build_network(small(), AdamW(0.1))) for _ in range(2))
    for number in range(4):
        examples = batch(3 + number, number)
        whole.run("step", examples)
        parts.held.update(examples)
        for function in ("zero_gradients", "forward", "backward", "update"):
            parts.run(function)
        for name in ("loss", "hidden", "aw", "ab", "bw", "bb", "step"):
            np.testing.assert_allclose(whole[name], parts[name], rtol=1e-10, atol=1e-12)


def test_a_step_writes_no_gradients() -> None:
    """A step writes only weights, the optimiser's state, the loss and kept nodes."""
    network = build_network(small(), AdamW())
    written = {leaf.name for leaf in network.functions["step"].writes}
    kept = {item.name for item in network.variables.values() if item.role in (Role.WEIGHTS, Role.STATE)}
    assert written == {*kept, "loss", "hidden"}


class TestOwnFunctions:
    def test_instructions_run_one_after_another(self) -> None:
        """Each instruction reads what the previous ones have written."""
        network = build_network(small())
        w, b = network.leaf("aw"), network.leaf("bw")
        function = NetworkFunction.of("own", [Set(w, 2.0), Accumulate(w, w * 3.0), Write(b, b + w.sum())])
        simulation = Simulation(network)
        before = simulation["bw"]
        simulation.run(function)
        np.testing.assert_array_equal(simulation["aw"], np.full((3, 4), 8.0))
        np.testing.assert_array_equal(simulation["bw"], before + 96.0)

    def test_an_instruction_of_your_own(self) -> None:
        """A user's instruction writes the variables that it declares, and a wrong type is refused."""

        class Swap(NetworkInstruction):
            def __init__(self, a: object, b: object) -> None:
                self.a, self.b = a, b

            def writes(self):  # type: ignore[no-untyped-def]
                return {self.a: self.b, self.b: self.a}

        network = build_network(small())
        a, b = network.leaf("ab"), network.leaf("x")
        with pytest.raises(ShapeMismatch, match=r"function 'swap' must write f64\[3, 1\] to 'ab', got x"):
            NetworkFunction.of("swap", [Swap(a, b)])
        simulation = Simulation(network)
        state = {name: simulation[name] for name in ("ab",)}
        simulation.run(NetworkFunction.of("swap", [Swap(a, network.leaf("ab.gradient"))]))
        np.testing.assert_array_equal(simulation["ab.gradient"], state["ab"])
        assert not simulation["ab"].any()

    def test_only_variables_are_written(self) -> None:
        """A function that writes to a computed node is refused."""
        network = build_network(small())
        w = network.leaf("aw")
        with pytest.raises(InvalidOperation, match="function 'own' must write variables, got Mul"):
            NetworkFunction.of("own", [Write(w * 2.0, w)])

    def test_an_unknown_variable(self) -> None:
        """An unknown variable is refused with a list of the existing ones."""
        with pytest.raises(InvalidOperation, match=r"variable must be one of x, y, aw, .*, got 'nothing'"):
            build_network(small()).leaf("nothing")

    def test_casts_between_types(self) -> None:
        """A function may compute with casts to another element type."""
        network = build_network(small())
        w = network.leaf("aw")
        simulation = Simulation(network)
        expected = simulation["aw"].astype(np.float32)
        simulation.run(NetworkFunction.of("round", [Write(w, w.cast(f32).cast(f64))]))
        np.testing.assert_array_equal(simulation["aw"], expected)
