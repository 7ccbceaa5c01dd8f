"""The arguments of a builder, the nodes that it makes, and the arguments that it refuses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.tensor_ir.networks.simulation import Simulation
from warploom.engine.tensor_ir.errors import InvalidOperation, ShapeMismatch
from warploom.engine.tensor_ir.evaluation import evaluate
from warploom.engine.tensor_ir.networks.builder import NetworkBuilder
from warploom.engine.tensor_ir.networks.initialisations import INITIALISATIONS, FirstWeights, Normal
from warploom.engine.tensor_ir.networks.instructions import function_code
from warploom.engine.tensor_ir.networks.network import build_network
from warploom.engine.tensor_ir.networks.optimisers import SGD
from warploom.engine.tensor_ir.operations.leaves import Constant
from warploom.engine.tensor_ir.types import TensorType
from warploom.engine.types import f32, f64, s32


def test_attributes_of_nodes() -> None:
    """Inputs are batched and need no gradient, weights are the opposite, and the rest follows from operands."""
    builder = NetworkBuilder()
    inputs = builder.sparse_input("inputs", (768, 1), nnz=32)
    dense = builder.dense_input("dense", (3, 2))
    layer = builder.affine("l0", 768, 256)
    out = layer.forward(inputs)
    assert (inputs.type, inputs.requires_grad) == (TensorType((768, 1), f32, True, 32), False)
    assert (dense.type, dense.requires_grad) == (TensorType((3, 2), f32, True), False)
    assert (layer.weights.name, layer.weights.type) == ("l0w", TensorType((256, 768)))
    assert (layer.bias.name, layer.bias.type, layer.bias.requires_grad) == ("l0b", TensorType((256, 1)), True)
    assert (out.type, out.requires_grad) == (TensorType((256, 1), f32, True), True)


@pytest.mark.parametrize("settings", [{"dtype": s32}, {"dtype": None}, {"seed": -1}, {"seed": 1.5}])
def test_settings_that_there_are_not(settings: dict[str, Any]) -> None:
    """An unknown element type or seed is refused."""
    with pytest.raises(InvalidOperation, match=r"element type must be one of|seed must be"):
        NetworkBuilder(**settings)


@pytest.mark.parametrize("nnz", [1.5, float("nan"), None])
def test_numbers_of_ones_that_are_not_whole(nnz: Any) -> None:
    """A number of ones with a fraction is refused rather than rounded."""
    with pytest.raises(InvalidOperation, match="nnz of sparse input 'x' must be a whole number, got"):
        NetworkBuilder().sparse_input("x", (3, 1), nnz)


class TestRoot:
    def test_it_is_the_node_made_last(self) -> None:
        """The root is the last node, unless another one is named."""
        builder = NetworkBuilder()
        x = builder.dense_input("x", (1, 1))
        loss = x.square()
        assert builder.root is loss
        metric = loss.sqrt()
        assert builder.root is metric
        builder.root = loss
        assert builder.root is loss

    def test_the_sum_over_the_batch_is_inserted(self) -> None:
        """The sum over the batch, or the mean, is inserted; a root that isn't batched stays as it is."""
        builder = NetworkBuilder(dtype=f64)
        builder.dense_input("x", (1, 1)).square()
        for average, expected in ((False, 14.0), (True, 14 / 3)):
            network = Simulation(build_network(builder, average=average))
            network.run("forward", {"x": np.array([1.0, 2.0, 3.0]).reshape(3, 1, 1)})
            np.testing.assert_allclose(network["loss"], [[expected]])
        builder.weights("w", (1, 1), 3.0).square()
        network = Simulation(build_network(builder))
        network.run("forward", {"x": np.zeros((3, 1, 1))})
        assert network["loss"] == 9.0

    def test_it_must_be_one_number(self) -> None:
        """A root that isn't one number is refused with the node and its line."""
        builder = NetworkBuilder()
        builder.dense_input("x", (3, 1)).exp()
        with pytest.raises(
            InvalidOperation, match=r"root must be one number, got Exp\d+: f32\[3, 1\], batched \(.*\.py"
        ):
            build_network(builder, SGD())
        builder = NetworkBuilder()
        builder.sparse_input("x", (3, 1), 2).copy()
        with pytest.raises(InvalidOperation, match=r"root must be dense, got"):
            build_network(builder)

    def test_without_an_optimiser_it_may_have_any_shape(self) -> None:
        """Without an optimiser, a root that isn't one number is the output, and there is nothing but forward."""
        builder = NetworkBuilder(dtype=f64)
        x = builder.dense_input("x", (3, 1))
        hidden = builder.keep("hidden", x * builder.constant("k", [[1.0], [2.0], [3.0]]))
        builder.root = builder.weights("w", (2, 3), "ones") @ hidden
        network = Simulation(build_network(builder))
        network.run("forward", {"x": np.array([[[1.0], [1.0], [1.0]], [[0.0], [2.0], [0.0]]])})
        np.testing.assert_array_equal(network["output"], [[[6.0], [6.0]], [[4.0], [4.0]]])
        np.testing.assert_array_equal(network["hidden"][1], [[0.0], [4.0], [0.0]])
        assert [*network.network.functions] == ["forward"]
        assert "loss" not in network.network.variables
        builder.keep("output", hidden)
        with pytest.raises(InvalidOperation, match=r"node kept as 'output' must be the root, Matmul\d+: .*; give it"):
            build_network(builder)
        builder.root = hidden
        assert [*build_network(builder).functions] == ["forward"]

    def test_for_inference_one_number_is_an_output_too(self) -> None:
        """With `inference`, a root of one number is computed for each example, and isn't added up."""
        builder = NetworkBuilder(dtype=f64)
        builder.dense_input("x", (1, 1)).square()
        network = Simulation(build_network(builder, inference=True))
        network.run("forward", {"x": np.array([1.0, 2.0, 3.0]).reshape(3, 1, 1)})
        np.testing.assert_array_equal(network["output"].ravel(), [1.0, 4.0, 9.0])
        assert [*network.network.functions] == ["forward"]
        with pytest.raises(InvalidOperation, match="inference must be without an optimiser"):
            build_network(builder, SGD(), inference=True)

    def test_it_must_be_computed(self) -> None:
        """A network that computes nothing is refused."""
        builder = NetworkBuilder()
        builder.dense_input("x", (1, 1))
        with pytest.raises(InvalidOperation, match="network must compute something"):
            build_network(builder)


def test_constants_are_not_weights() -> None:
    """A constant has a value, but no gradient, and is not among the weights."""
    builder = NetworkBuilder(dtype=f64)
    x, k = builder.dense_input("x", (2, 1)), builder.constant("k", 3.0, (2, 1))
    (builder.weights("w", (2, 1), "ones") * x * k).sum()
    network = Simulation(build_network(builder, SGD(0.1)))
    network.run("step", {"x": np.ones((1, 2, 1))})
    np.testing.assert_allclose(network["w"], [[0.7], [0.7]])
    np.testing.assert_array_equal(network["k"], [[3.0], [3.0]])
    assert [item.name for item in network.network.variables.values() if item.role.value == "weights"] == ["w"]
    assert "k.gradient" not in network.network.variables
    with pytest.raises(InvalidOperation, match="name must be new, got 'k' again"):
        builder.number("k", 0.5)
    with pytest.raises(
        InvalidOperation, match="initialisation of 'r' must be a name, Normal, a number or an array, got"
    ):
        builder.constant("r", [[1.0], [1.0, 2.0]])  # type: ignore[list-item]
    with pytest.raises(InvalidOperation, match="number 'n' must be a finite number, got 'a'"):
        builder.number("n", "a")  # type: ignore[arg-type]
    with pytest.raises(InvalidOperation, match="schedule must be a schedule such as Cosine"):
        builder.number("n", 1.0, None)  # type: ignore[arg-type]


class TestRefusals:
    def test_names(self) -> None:
        """A name must be an identifier, new, and not reserved."""
        builder = NetworkBuilder()
        builder.dense_input("x", (1, 1))
        with pytest.raises(InvalidOperation, match="name must be new, got 'x' again"):
            builder.weights("x", (1, 1))
        with pytest.raises(InvalidOperation, match=r"name must not be one of batches, .*, loss, .*, got 'loss'"):
            builder.weights("loss", (1, 1))
        with pytest.raises(InvalidOperation, match="name must be an identifier, got 'a b'"):
            builder.weights("a b", (1, 1))

    def test_sizes(self) -> None:
        """Wrong sizes of sparse and dense tensors are refused."""
        builder = NetworkBuilder()
        with pytest.raises(InvalidOperation, match=r"sparse input 's' must be a column \[n, 1\], got \[3, 2\]"):
            builder.sparse_input("s", (3, 2), nnz=1)
        with pytest.raises(InvalidOperation, match="nnz of sparse input 's' must be from 1 to 3, got 4"):
            builder.sparse_input("s", (3, 1), nnz=4)
        with pytest.raises(InvalidOperation, match=r"sizes of 'x' must be whole numbers, 1 or more, got \[3\.5, 1\]"):
            NetworkBuilder().dense_input("x", (3.5, 1))  # type: ignore[arg-type]
        with pytest.raises(InvalidOperation, match="sizes of 'w' must be whole numbers, 1 or more"):
            builder.weights("w", (3, 0))

    def test_initialisations(self) -> None:
        """An initialisation is a known name, a number, or an array of the weights' shape."""
        builder = NetworkBuilder()
        with pytest.raises(InvalidOperation, match=r"initialisation of 'w' must be one of zeros, ones, .* got 'one'"):
            builder.weights("w", (3, 1), "one")
        with pytest.raises(ShapeMismatch, match=r"initialisation of 'w' must have the shape \[3, 1\], got \[3\]"):
            builder.weights("w", (3, 1), [1.0, 2.0, 3.0])
        builder.weights("w", (3, 1), 2.5)
        np.testing.assert_array_equal(builder.initial["w"].draw(), np.full((3, 1), 2.5))


class TestInitialisations:
    def test_they_depend_on_name_and_seed_alone(self) -> None:
        """Initial weights depend on name and seed, and not on other layers."""
        first, second = NetworkBuilder(seed=3), NetworkBuilder(seed=3)
        second.affine("other", 4, 4)
        a, b = (builder.affine("l0", 7, 5) for builder in (first, second))
        assert a.weights.name == b.weights.name
        np.testing.assert_array_equal(first.initial["l0w"].draw(), second.initial["l0w"].draw())
        assert np.any(first.initial["l0w"].draw() != FirstWeights.of("l0w", (5, 7), "he_normal", 4).draw())

    @pytest.mark.parametrize(
        ("init", "deviation"),
        [
            ("uniform", 1 / np.sqrt(3 * 300)),
            ("normal", 1.0),
            ("glorot_uniform", np.sqrt(2 / 500)),
            ("glorot_normal", np.sqrt(2 / 500)),
            ("he_uniform", np.sqrt(2 / 300)),
            ("he_normal", np.sqrt(2 / 300)),
        ],
    )
    def test_size_of_random_weights(self, init: str, deviation: float) -> None:
        """The standard deviation of 60,000 weights is the formula's within 2 percent, and their mean is 0."""
        found = FirstWeights.of("w", (200, 300), init, 0).draw()
        np.testing.assert_allclose(found.std(), deviation, rtol=0.02)
        assert abs(found.mean()) < 0.02 * deviation

    @pytest.mark.parametrize("shape", [(5, 3), (3, 5), (4, 4), (6, 1)])
    def test_orthogonal(self, shape: tuple[int, int]) -> None:
        """Orthogonal weights have orthonormal rows or columns, whichever are fewer."""
        found = FirstWeights.of("w", shape, "orthogonal", 0).draw()
        small = found @ found.T if shape[0] < shape[1] else found.T @ found
        np.testing.assert_allclose(small, np.eye(min(shape)), atol=1e-12)

    def test_a_deviation_and_a_number_of_inputs(self) -> None:
        """Normal has the given deviation; fan_in takes the place of the shape's number of inputs."""
        given = Normal(0.3), "he_normal", "uniform"
        for init, fan_in, deviation in zip(given, (None, 32, 12), (0.3, (2 / 32) ** 0.5, 1 / 6), strict=True):
            found = FirstWeights.of("w", (200, 300), init, 0, fan_in).draw()
            assert found.std() == pytest.approx(deviation, rel=0.02)
        for init, fan_in, why in (
            (Normal(0.1), 3, "must be a name if fan_in is given"),
            ("he_normal", 0, "fan_in of 'w' must be 1 or more, got 0"),
        ):
            with pytest.raises(InvalidOperation, match=why):
                FirstWeights.of("w", (3, 3), init, 0, fan_in)
        with pytest.raises(InvalidOperation, match="standard deviation must be 0 or more, got -1"):
            Normal(-1)

    def test_all_have_the_shape_they_are_asked_for(self) -> None:
        """Initial weights have the requested shape, even with one axis or none."""
        for name in INITIALISATIONS:
            for shape in [(), (4,), (2, 3), (2, 3, 4)]:
                assert FirstWeights.of("w", shape, name, 0).draw().shape == shape


def test_building_twice_gives_the_same() -> None:
    """Building a network doesn't change its builder."""
    builder = NetworkBuilder()
    x = builder.dense_input("x", (3, 1))
    builder.affine("l", 3, 1).forward(x).abs_pow(2)
    first, second = (build_network(builder, SGD(0.1)) for _ in range(2))
    for name in first.functions:
        assert function_code(first.functions[name]) == function_code(second.functions[name])


def test_operations_of_your_own() -> None:
    """`apply` adds a user's operation."""
    builder = NetworkBuilder()
    x = builder.dense_input("x", (1, 1))
    two = builder.apply(Constant(2.0, TensorType((1, 1))))
    assert (x * two).type == x.type


def test_a_slice_of_a_layer_shares_its_weights() -> None:
    """A layer's slice computes some of its outputs from the same weights."""
    builder = NetworkBuilder()
    x, layer = builder.dense_input("x", (3, 1)), builder.affine("l0", 3, 5)
    random = np.random.default_rng(0)
    values = {x: random.normal(size=(2, 3, 1)), layer.weights: random.normal(size=(5, 3)), layer.bias: np.ones((5, 1))}
    whole, part = evaluate([layer.forward(x), layer.slice(1, 4).forward(x)], values)
    np.testing.assert_allclose(part, whole[:, 1:4], rtol=1e-6)
    assert [*builder.trained] == ["l0w", "l0b"]
