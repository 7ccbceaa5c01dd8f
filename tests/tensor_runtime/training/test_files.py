"""Weights in files: loading inverts saving, and quantised weights are as close as they can be."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from tests.tensor_runtime.training.networks import examples, regression
from warploom.engine.device.device import Device
from warploom.engine.tensor_ir.errors import InvalidOperation, ShapeMismatch
from warploom.engine.tensor_ir.networks.optimisers import SGD, AdamW
from warploom.engine.tensor_ir.networks.schedules import Cosine
from warploom.engine.tensor_runtime.training.files import (
    WeightsFileError,
    dequantised,
    load_weights,
    quantised,
    save_weights,
)

FORMATS = ["npz", "safetensors"]
WEIGHTS = {
    "file": np.arange(6, dtype=np.float32).reshape(2, 3).T,  # not contiguous
    "b": np.array([[1.5], [-2.0]]),
    "number": np.array(3.0, np.float32),
}


@pytest.mark.parametrize("format", FORMATS)
def test_what_is_loaded_is_what_was_saved(tmp_path: Path, format: str) -> None:
    """Names, shapes and element types are loaded as they were saved."""
    path = tmp_path / f"weights.{format}"
    save_weights(path, WEIGHTS)
    found = load_weights(path)
    assert found.keys() == WEIGHTS.keys()
    for name, array in found.items():
        assert array.dtype == WEIGHTS[name].dtype
        np.testing.assert_array_equal(array, WEIGHTS[name])


def test_a_safetensors_file_has_the_published_layout(tmp_path: Path) -> None:
    """A safetensors file has the header's length, the header as JSON, and then the elements."""
    path = tmp_path / "weights.safetensors"
    save_weights(path, {"w": np.array([[1.0, 2.0]], np.float32)})
    data = path.read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + length])["w"]
    start, stop = header["data_offsets"]
    assert (header["dtype"], header["shape"]) == ("F32", [1, 2])
    assert struct.unpack("<2f", data[8 + length + start : 8 + length + stop]) == (1.0, 2.0)


@pytest.mark.parametrize("format", FORMATS)
def test_a_network_goes_on_where_it_was_saved(device: Device, tmp_path: Path, format: str) -> None:
    """A new graph with the saved weights gives the same results."""
    path = tmp_path / f"weights.{format}"
    with regression().build(device, SGD(0.1)) as first, regression().build(device) as second:
        for _ in range(3):
            first.step(examples(5))
        first.save(path)
        second.load(path)
        for graph in (first, second):
            graph.forward(examples(5))
        np.testing.assert_array_equal(first.values("hidden"), second.values("hidden"))
        first.save(path, dtype="i16")
        second.load(path)
        second.forward(examples(5))
        np.testing.assert_allclose(second.values("hidden"), first.values("hidden"), atol=1e-3)


@pytest.mark.parametrize("format", FORMATS)
def test_training_goes_on_where_it_was_saved(device: Device, tmp_path: Path, format: str) -> None:
    """Training continues with the saved optimiser's state; a network without an optimiser takes only the weights."""
    path = tmp_path / f"state.{format}"
    optimiser = AdamW(0.05, schedule=Cosine(10))
    with regression().build(device, optimiser) as first, regression().build(device, optimiser) as second:
        for _ in range(3):
            first.step(examples(5))
        second.set_data(examples(4))
        first.save(path, state=True)
        second.load(path)
        for graph in (first, second):
            for _ in range(3):
                graph.step(examples(5))
        for name, weights in first.weights.items():
            np.testing.assert_array_equal(second.weights[name], weights)
        assert second.values("step") == 6
        second.train(2, batch=3)  # the progress through the data is not saved
        second.save(path, state=True)
        assert load_weights(path).keys() == {*first.weights, "step", "updates", "rate.number", "decay.number"} | {
            f"{name}.{moment}_moment" for name in first.weights for moment in ("first", "second")
        }
        save_weights(path, {**load_weights(path), "aw.first_moment": np.zeros(3)})
        with pytest.raises(ShapeMismatch, match=r"'aw.first_moment' must have the shape \[3, 4\], got \[3\]"):
            second.load(path)
    with regression().build(device) as untrained:
        first_weights = load_weights(path)
        untrained.load(path)
        np.testing.assert_array_equal(untrained.weights["aw"], first_weights["aw"])


class TestQuantised:
    @given(
        arrays.arrays(np.float32, arrays.array_shapes(max_dims=2, max_side=5), elements=st.floats(-1e4, 1e4, width=32)),
        st.sampled_from(["i8", "i16"]),
    )
    def test_weights_are_off_by_half_a_scale_at_most(self, weights: np.ndarray[Any, Any], dtype: str) -> None:
        """Quantised weights are off by half a scale at most; a scale is the largest weight over the largest integer."""
        found = quantised({"w": weights}, dtype)
        largest = {"i8": 127, "i16": 32767}[dtype]
        if weights.any():
            exact = float(np.abs(weights).max()) / largest
            np.testing.assert_allclose(found["w.scale"], exact, rtol=1e-6, atol=2 * np.finfo("f").smallest_subnormal)
        off = np.abs(dequantised(found)["w"].astype(np.float64) - weights)
        assert np.all(off <= 0.5001 * found["w.scale"] + 1e-6 * np.abs(weights))

    def test_a_scale_of_your_own(self) -> None:
        """Weights with a given scale, here a fixed point with 6 fractional bits, are rounded to integers."""
        found = quantised({"w": np.array([1.0, -0.5, 0.3]), "v": np.array([2.0])}, "i8", {"w": 1 / 64})
        np.testing.assert_array_equal(found["w"], [64, -32, 19])
        np.testing.assert_array_equal(found["v"], [127])
        assert found["w"].dtype == np.int8

    def test_what_does_not_fit(self) -> None:
        """A weight that exceeds the format is refused, with its name and the limit."""
        with pytest.raises(InvalidOperation, match=r"weights 'w' must lie within 1\.98438 for their scale, got 3"):
            quantised({"w": np.array([3.0])}, "i8", {"w": 1 / 64})
        with pytest.raises(InvalidOperation, match="weights 'w' must be finite"):
            quantised({"w": np.array([np.nan])})
        with pytest.raises(InvalidOperation, match="must be i8 or i16, got 'i4'"):
            quantised({}, "i4")
        with pytest.raises(InvalidOperation, match="scale of 'w' must be more than 0"):
            quantised({"w": np.array([1.0])}, "i8", {"w": -1.0})
        with pytest.raises(InvalidOperation, match="scales must be of weights that there are, got v"):
            quantised({"w": np.array([1.0])}, "i8", {"v": 1.0})


class TestRefusals:
    @pytest.mark.parametrize("format", FORMATS)
    def test_files_that_hold_no_weights(self, tmp_path: Path, format: str) -> None:
        """Random bytes, an empty file, a truncated file and a missing file are refused."""
        path = tmp_path / f"weights.{format}"
        save_weights(path, WEIGHTS)
        whole = path.read_bytes()
        for data in (b"rubbish" * 9, b"", whole[: len(whole) // 2]):
            path.write_bytes(data)
            with pytest.raises(WeightsFileError, match=r"weights must be readable from .*weights"):
                load_weights(path)
        with pytest.raises(WeightsFileError, match="No such file"):
            load_weights(tmp_path / f"nothing.{format}")

    def test_a_pickle_is_not_opened(self, tmp_path: Path) -> None:
        """A file with a pickle, which could run any code, is refused."""
        path = tmp_path / "weights.npz"
        np.savez(path, w=np.array([{}], object))
        with pytest.raises(WeightsFileError, match="allow_pickle"):
            load_weights(path)

    def test_formats(self, tmp_path: Path) -> None:
        """A suffix other than .npz and .safetensors is refused."""
        with pytest.raises(WeightsFileError, match=r"must end in \.npz or \.safetensors, got 'w\.txt'"):
            save_weights(tmp_path / "w.txt", WEIGHTS)

    def test_a_place_where_nothing_can_be_written(self, tmp_path: Path) -> None:
        """A file that can't be written is an error with its path."""
        with pytest.raises(WeightsFileError, match=r"weights must be written to .*nowhere"):
            save_weights(tmp_path / "nowhere" / "w.npz", WEIGHTS)

    def test_weights_of_another_network(self, device: Device, tmp_path: Path) -> None:
        """Weights of another network are refused with the file and the mistake, and nothing is changed."""
        path = tmp_path / "w.npz"
        with regression().build(device) as graph:
            before = graph.weights
            save_weights(path, {"aw": before["aw"]})
            with pytest.raises(InvalidOperation, match=r"w\.npz: weights must be .* got none for ab, bb, bw"):
                graph.load(path)
            save_weights(path, {**before, "aw": before["aw"] + 1, "bb": np.zeros((3, 1))})
            with pytest.raises(ShapeMismatch, match=r"w\.npz: weights 'bb' must have the shape \[2, 1\]"):
                graph.load(path)
            np.testing.assert_array_equal(graph.weights["aw"], before["aw"])
