"""Training on data that is on the device equals training on the same batches, uploaded one by one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.tensor_runtime.training.networks import examples, positions, regression, seeds_example
from warploom.engine.device.device import Device
from warploom.engine.tensor_ir.errors import InvalidOperation, ShapeMismatch
from warploom.engine.tensor_ir.networks.optimisers import SGD, AdamW
from warploom.engine.tensor_runtime.training import GraphBuilder
from warploom.engine.types import f64

COUNT = 10


@pytest.mark.parametrize("batch", [1, 4, 10, 13])
@pytest.mark.parametrize("shuffle", [None, 7])
def test_batches_are_taken_in_order(device: Device, batch: int, shuffle: int | None) -> None:
    """Batches repeat the data in order, and a launch continues where the last one ended."""
    data = examples(COUNT)
    order = np.arange(COUNT) if shuffle is None else np.random.default_rng(shuffle).permutation(COUNT)
    with regression(f64).build(device, AdamW(0.05)) as one, regression(f64).build(device, AdamW(0.05)) as other:
        one.set_data(data, losses=5)
        launches = one.launches
        one.train(3, batch=batch, shuffle=shuffle)
        one.train(4, batch=batch, shuffle=shuffle)
        assert one.launches == launches + 2
        losses = []
        for step in range(7):
            rows = order[(step * batch + np.arange(batch)) % COUNT]
            other.step({name: array[rows] for name, array in data.items()})
            losses.append(other.loss)
        np.testing.assert_allclose(one.losses, losses[-5:], rtol=1e-9)
        assert one.loss == one.losses[-1]
        for name, weights in other.weights.items():
            np.testing.assert_allclose(one.weights[name], weights, rtol=1e-9, atol=1e-12)


def test_sparse_inputs(device: Device) -> None:
    """Training on sparse inputs gives the same weights as training on uploaded batches."""
    data = positions(COUNT)
    with seeds_example().build(device, SGD(0.01)) as one, seeds_example().build(device, SGD(0.01)) as other:
        one.set_data(data)
        one.train(4, batch=3)
        for step in range(4):
            rows = (step * 3 + np.arange(3)) % COUNT
            other.step({name: array[rows] for name, array in data.items()})
        for name, weights in other.weights.items():
            np.testing.assert_allclose(one.weights[name], weights, rtol=1e-5, atol=1e-6)
        assert len(one.losses) == 4


def test_columns_may_be_vectors(device: Device) -> None:
    """Data takes columns [n, 1] as vectors [n] too, as batches do, and trains to the same bits."""
    data = examples(COUNT)
    vectors = {name: array[..., 0] for name, array in data.items()}
    with regression(f64).build(device, SGD(0.01)) as one, regression(f64).build(device, SGD(0.01)) as other:
        one.set_data(vectors)
        other.set_data(data)
        for graph in (one, other):
            graph.train(3, batch=4)
        for name, weights in other.weights.items():
            np.testing.assert_array_equal(one.weights[name], weights)
        assert one.evaluate(batch=3) == other.evaluate(batch=3)
        one.step(vectors)
        other.step(data)
        assert one.loss == other.loss


def test_other_data(device: Device) -> None:
    """New data replaces the old data, and may have another number of examples."""
    with regression(f64).build(device, SGD(0.01)) as graph:
        assert graph.losses.shape == (0,)
        for count in (6, 6, 3, 8):
            data = examples(count, count)
            graph.set_data(data)
            before = graph.weights
            graph.train(1, batch=count)
            with regression(f64).build(device, SGD(0.01)) as fresh:
                fresh.set_weights(before)
                fresh.step(data)
                np.testing.assert_allclose(graph.weights["aw"], fresh.weights["aw"], rtol=1e-10, atol=1e-13)


def test_it_learns(device: Device) -> None:
    """A line is fitted to noisy data in a thousand steps of four launches."""
    random = np.random.default_rng(0)
    x = random.uniform(-1, 1, (200, 1, 1))
    builder = GraphBuilder()
    layer = builder.affine("line", 1, 1)
    (layer.forward(builder.dense_input("x", (1, 1))) - builder.dense_input("y", (1, 1))).square()
    with builder.build(device, AdamW(0.05, decay=0.0), average=True) as graph:
        graph.set_data({"x": x, "y": 3 * x - 2 + random.normal(0, 0.01, x.shape)})
        launches = graph.launches
        for seed in range(4):
            graph.train(250, batch=20, shuffle=seed)
        assert graph.launches == launches + 4
        np.testing.assert_allclose([graph.weights["linew"].item(), graph.weights["lineb"].item()], [3, -2], atol=0.02)
        assert graph.losses[-50:].mean() < 0.001 < graph.losses[0]


class TestRefusals:
    def test_before_there_is_data(self, device: Device) -> None:
        """Training without data, or without an optimiser, is refused."""
        with (
            regression().build(device, SGD(0.1)) as graph,
            pytest.raises(InvalidOperation, match="data must be set by set_data before train"),
        ):
            graph.train(1, batch=1)
        with (
            regression().build(device) as graph,
            pytest.raises(InvalidOperation, match="must have an optimiser to be trained"),
        ):
            graph.set_data(examples(3))

    @pytest.mark.parametrize("count", [1.5, float("nan"), None, 0])
    def test_counts(self, device: Device, count: Any) -> None:
        """Wrong counts of losses, steps and examples are refused; training continues with valid ones."""
        with regression().build(device, SGD(0.1)) as graph:
            with pytest.raises(InvalidOperation, match="number of losses must be"):
                graph.set_data(examples(3), losses=count)
            graph.set_data(examples(3))
            with pytest.raises(InvalidOperation, match="number of steps must be"):
                graph.train(count, batch=1)
            with pytest.raises(InvalidOperation, match="batch size must be"):
                graph.train(1, batch=count)
            graph.train(1, batch=2)
            assert graph.losses.shape == (1,)

    def test_shapes_and_names(self, device: Device) -> None:
        """Data with wrong shapes, names or rows is refused."""
        with regression().build(device, SGD(0.1)) as graph:
            with pytest.raises(ShapeMismatch, match="equally many examples, got 3 of 'x', 4 of 'y'"):
                graph.set_data({"x": examples(3)["x"], "y": examples(4)["y"]})
            with pytest.raises(ShapeMismatch, match=r"'x' must have the shape \[3, 4, 1\], got \[3, 5, 1\]"):
                graph.set_data({"x": np.zeros((3, 5, 1)), "y": examples(3)["y"]})
            with pytest.raises(InvalidOperation, match="data must be given for all inputs, got none for y"):
                graph.set_data({"x": examples(3)["x"]})
        with seeds_example().build(device, SGD(0.1)) as graph:
            wrong = positions(3)
            wrong["inputs"][0, 0] = 768
            with pytest.raises(InvalidOperation, match="rows of sparse 'inputs' must be from 0 to 767"):
                graph.set_data(wrong)


@pytest.mark.parametrize("average", [False, True])
def test_evaluation(device: Device, average: bool) -> None:
    """The loss of all data is that of one batch with all of them, for any batch size, and changes nothing."""
    data = examples(COUNT)
    with regression(f64).build(device, SGD(0.01), average=average) as graph:
        graph.forward(data)
        whole = graph.loss
        graph.set_data(data)
        for batch in (1, 4, 10, 13):
            assert graph.evaluate(batch=batch) == pytest.approx(whole, rel=1e-12)
        graph.train(1, batch=3)
        after, weights = graph.evaluate(batch=5), graph.weights
        assert graph.evaluate(batch=5) == after != whole
        graph.train(1, batch=3)
        rows = {name: array[3:6] for name, array in data.items()}
        graph.set_weights(weights)
        graph.forward(rows)
        assert graph.losses[1] == pytest.approx(graph.loss, rel=1e-12)


def test_data_in_parts_and_from_files(device: Device, tmp_path: Path) -> None:
    """Data that a generator yields in parts, of arrays in files, trains as the same data in one."""
    data = examples(COUNT)
    for name, array in data.items():
        np.save(tmp_path / f"{name}.npy", array)
    files = {name: np.load(tmp_path / f"{name}.npy", mmap_mode="r") for name in data}
    with regression(f64).build(device, SGD(0.01)) as one, regression(f64).build(device, SGD(0.01)) as other:
        one.set_data(
            {name: file[first:end] for name, file in files.items()} for first, end in ((0, 3), (3, 4), (4, 10))
        )
        other.set_data(data)
        for graph in (one, other):
            graph.train(3, batch=4)
        for name, weights in other.weights.items():
            np.testing.assert_array_equal(one.weights[name], weights)
        with pytest.raises(InvalidOperation, match="part 1 of the data must have inputs x, y, got"):
            one.set_data([data, {"x": data["x"]}])
        with pytest.raises(ShapeMismatch, match="parts of the data must have examples of one shape, got"):
            one.set_data([data, {"x": data["x"][:, :2], "y": data["y"]}])
