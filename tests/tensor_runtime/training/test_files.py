"""Weights in files: loading inverts saving, and quantised weights are as close as they can be."""

from __future__ import annotations

import json
import struct
from decimal import ROUND_DOWN, ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal
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
    save_weights,
)
from warploom.engine.tensor_runtime.training.formats import WeightFormat

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


ROUNDING = {"half_even": ROUND_HALF_EVEN, "half_away": ROUND_HALF_UP, "truncate": ROUND_DOWN}
LIMITS = {"i8": (-128, 127), "i16": (-32768, 32767), "i32": (-(2**31), 2**31 - 1)}


class TestFormats:
    @given(
        arrays.arrays(np.float32, arrays.array_shapes(max_dims=2, max_side=5), elements=st.floats(-1e4, 1e4, width=32)),
        st.sampled_from(["i8", "i16", "i32"]),
    )
    def test_weights_are_off_by_half_a_scale_at_most(self, weights: np.ndarray[Any, Any], dtype: str) -> None:
        """Quantised weights are off by half a scale at most; a scale is the largest weight over the largest integer."""
        numbers, scale = WeightFormat(dtype).packed("w", weights)
        assert scale is not None
        if weights.any():
            exact = float(np.abs(weights).max()) / LIMITS[dtype][1]
            np.testing.assert_allclose(scale, exact, rtol=1e-6, atol=2 * np.finfo("f").smallest_subnormal)
        off = np.abs(dequantised({"w": numbers, "w.scale": np.asarray(scale)})["w"].astype(np.float64) - weights)
        assert np.all(off <= 0.5001 * scale + 1e-6 * np.abs(weights))

    @given(
        st.lists(st.one_of(st.integers(-300, 300).map(lambda n: n / 2), st.floats(-130, 130)), min_size=1),
        st.sampled_from(sorted(ROUNDING)),
        st.sampled_from(["i8", "i16", "i32"]),
        st.sampled_from([1.0, 64.0, 255.0, 0.5]),
    )
    def test_rounding_follows_decimal_numbers(
        self, weights: list[float], rounding: str, dtype: str, factor: float
    ) -> None:
        """Weights times a factor are rounded as Python's decimal numbers are, up to both limits of the type."""
        wanted = [int(Decimal(w * factor).to_integral_value(ROUNDING[rounding])) for w in weights]
        form = WeightFormat(dtype, factor, rounding)
        low, high = LIMITS[dtype]
        if low <= min(wanted) and max(wanted) <= high:
            numbers, scale = form.packed("w", np.array(weights))
            assert numbers.tolist() == wanted
            assert scale == np.float32(1 / factor)
        else:
            with pytest.raises(InvalidOperation, match=rf"weights 'w' must be from .* for {dtype} with the factor"):
                form.packed("w", np.array(weights))

    @pytest.mark.parametrize(("value", "factor"), [(-1.0, 128), (127 / 128, 128), (-2.0, 64)])
    def test_the_smallest_number_is_taken(self, value: float, factor: float) -> None:
        """-128 is a number of i8; 128 is none."""
        numbers, _ = WeightFormat("i8", factor).packed("w", np.array([value]))
        assert numbers == round(value * factor)
        with pytest.raises(
            InvalidOperation, match=r"'w' must be from -1 to 0\.992188 for i8 with the factor 128, got 1 to"
        ):
            WeightFormat("i8", 128).packed("w", np.array([1.0]))

    def test_a_raw_file(self, tmp_path: Path) -> None:
        """A raw file has the header, each weight in its format and order, and the padding."""
        path = tmp_path / "net.bin"
        weights = {
            "l0b": np.array([[0.5], [-0.25]], np.float32),
            "l0w": np.array([[1.0, 2.0, 3.0], [-1.0, -2.0, 2.5]], np.float32),
            "l1w": np.array([[-2.0, 1.5]], np.float64),
        }
        formats = {
            "l0w": WeightFormat("i16", 255, transpose=True),
            "l1w": WeightFormat("i8", 64, "half_away"),
            "l0b": WeightFormat("i32", 255 * 64),
        }
        save_weights(path, weights, formats, header=b"NET1", padding=64, fill=b"end")
        packed = struct.pack("<4s6h2b2i", b"NET1", 255, -255, 510, -510, 765, 638, -128, 96, 8160, -4080)
        assert path.read_bytes() == packed + (b"end" * 64)[: 64 - len(packed)]
        save_weights(path, weights)  # without formats, in the given order and types
        assert path.read_bytes() == struct.pack("<2f6f2d", 0.5, -0.25, 1, 2, 3, -1, -2, 2.5, -2, 1.5)
        save_weights(path, weights, WeightFormat(transpose=True), padding=4)
        assert path.read_bytes() == struct.pack("<2f6f2f", 0.5, -0.25, 1, -1, 2, -2, 3, 2.5, -2, 1.5)
        with pytest.raises(WeightsFileError, match=r"must end in \.npz or \.safetensors, got 'net\.bin'"):
            load_weights(path)

    @pytest.mark.parametrize("format", FORMATS)
    def test_formats_in_files_with_names(self, tmp_path: Path, format: str) -> None:
        """Quantised weights are read as f32; those without a format stay as they are."""
        path = tmp_path / f"w.{format}"
        given = {"a": np.array([[1.0, -0.5, 0.3]], np.float32), "b": np.array([0.1]), "c": np.array(-3.0)}
        save_weights(path, given, {"c": WeightFormat("i32", 1000), "a": WeightFormat("i8", 64, transpose=True)})
        found = load_weights(path)
        np.testing.assert_array_equal(found["a"], np.array([[1.0], [-0.5], [19 / 64]], np.float32))
        np.testing.assert_array_equal(found["b"], given["b"])
        np.testing.assert_allclose(found["c"], -3.0, rtol=1e-6)
        assert (found["a"].dtype, found["b"].dtype, found["c"].dtype) == (np.float32, np.float64, np.float32)

    def test_a_graph_saves_in_formats(self, device: Device, tmp_path: Path) -> None:
        """A graph's raw file has its weights, in the order of the builder, or of the formats."""
        with regression().build(device) as graph:
            weights = graph.weights
            graph.save(tmp_path / "net.bin", {"bb": WeightFormat("i16", 1000)}, dtype="f32", header=b"h" * 8)
            data = (tmp_path / "net.bin").read_bytes()
            assert data[:8] == b"h" * 8
            np.testing.assert_array_equal(np.frombuffer(data[8:12], "<i2"), np.rint(weights["bb"][:, 0] * 1000))
            rest = np.concatenate([weights[name].ravel() for name in ("aw", "ab", "bw")])
            np.testing.assert_array_equal(np.frombuffer(data[12:], "<f4"), rest)

    @pytest.mark.parametrize(
        ("call", "message"),
        [
            (lambda path: WeightFormat("i4"), "element type of weights must be one of f32, i8, i16, i32, got 'i4'"),
            (lambda path: WeightFormat("i8", 0), "factor must be more than 0, got 0"),
            (lambda path: WeightFormat("i8", "a"), "factor must be a finite number, got 'a'"),
            (lambda path: WeightFormat(factor=2), "factor must be for i8, i16 or i32, got 2 for f32"),
            (
                lambda path: WeightFormat("i8", 1, "up"),
                "rounding must be one of half_even, half_away, truncate, got 'up'",
            ),
            (lambda path: WeightFormat(transpose=1), "transpose must be True or False, got 1"),
            (lambda path: WeightFormat("i8").packed("w", np.array([np.nan])), "weights 'w' must be finite"),
            (
                lambda path: save_weights(path, WEIGHTS, {"x": WeightFormat()}),
                "formats must be of weights that there are",
            ),
            (lambda path: save_weights(path, WEIGHTS, {"b": "i8"}), "formats must be WeightFormats by the names of"),
            (lambda path: save_weights(path, WEIGHTS, padding=0), "padding must be 1 or more bytes, got 0"),
            (lambda path: save_weights(path, WEIGHTS, header="a"), "header must be bytes, got 'a'"),
            (lambda path: save_weights(path, WEIGHTS, fill=b""), "fill must have 1 byte or more, got none"),
            (
                lambda path: save_weights(path.with_suffix(".npz"), WEIGHTS, header=b"a"),
                r"header and padding must be for a \.bin file, got 'w\.npz'",
            ),
        ],
    )
    def test_wrong_formats(self, call: Any, message: str, tmp_path: Path) -> None:
        """A wrong format is refused, and nothing is written."""
        with pytest.raises(InvalidOperation, match=message):
            call(tmp_path / "w.bin")
        assert not [*tmp_path.iterdir()]


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
        """A suffix other than .npz, .safetensors and .bin is refused."""
        with pytest.raises(WeightsFileError, match=r"must end in \.npz, \.safetensors or \.bin, got 'w\.txt'"):
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
