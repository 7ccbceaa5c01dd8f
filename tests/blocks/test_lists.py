"""Lists that are sorted, picked, counted and added up, compared with numpy, on every device."""

from typing import Any

import numpy as np
import pytest

from tests.blocks.running import Array, refusal
from warploom import Engine, Patch, UpdateLevel
from warploom.engine.device.device import Device

TYPES = ("?", "u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8", "f2", "f4", "f8")
SIZES = (1, 31, 32, 33, 1023, 2049)
Case = tuple[str, dict[str, Array], dict[str, Any]]


def some(dtype: str, *shape: int, seed: int = 0) -> Array:
    """Return numbers with many ties, and NaN, infinities and zeros of both signs where the type has them."""
    source, kind = np.random.default_rng(seed), np.dtype(dtype)
    x = source.integers(0 if kind.kind in "ub" else -5, 6, shape).astype(kind)
    if kind.kind == "f" and x.size > 8:
        x.reshape(-1)[[1, 3, 5, 6, 7]] = (np.nan, -np.nan, np.inf, -np.inf, -0.0)
    return x


def outputs(device: Device, *cases: Case) -> list[dict[str, Array]]:
    """Return the outputs of blocks that one engine runs, each up to its count if it has one; behind it are zeros."""
    if device.info.name != "host":
        pytest.importorskip("cuda.compute", reason="cuda-cccl is not installed")
    patch = Patch()
    nodes = []
    for block, inputs, parameters in cases:
        nodes.append(patch.add(block, **parameters))
        for name, data in inputs.items():
            patch.connect(patch.add("io.array", data=data)["out"], nodes[-1][name])
    made = []
    with Engine(patch, device=device) as engine:
        for _ in range(2):  # nothing may depend on the frame before
            report = engine.step()
            assert not report.diagnostics, report.diagnostics
        for node in nodes:
            names = [spec.name for spec in patch.block_type(node.id).outputs()]  # type: ignore[union-attr]
            found = {name: engine.read(node[name]) for name in names}
            counts = {name: int(found.pop(f"{name}_count")[0]) for name in names if f"{name}_count" in names}
            assert not any(found[name][count:].any() for name, count in counts.items())
            made.append({name: array[: counts.get(name)] for name, array in found.items()})
    return made


def stable(keys: Array, descending: bool = False) -> Array:
    """Return the positions in a stable order with NaN last, by Python's sort."""
    ranks = [(k != k, 0 if k != k else -k if descending else k) for k in keys.reshape(-1).tolist()]
    return np.array(sorted(range(keys.size), key=ranks.__getitem__))


def test_sort_is_numpys(device: Device) -> None:
    """Elements of every type and shape are sorted in both directions, with NaN last."""
    inputs = [some(dtype, *[(33,), (1023,), (5, 7), (1,)][i % 4]) for i, dtype in enumerate(TYPES)]
    inputs += [some("f4", size) for size in SIZES]
    cases: list[Case] = [("data.sort", {"x": x}, {"descending": bool(i % 2)}) for i, x in enumerate(inputs)]
    for i, (made, x) in enumerate(zip(outputs(device, *cases), inputs, strict=True)):
        assert made["out"].dtype == x.dtype
        np.testing.assert_array_equal(made["out"], x.reshape(-1)[stable(x, bool(i % 2))])


def test_sort_by_key_and_top_k_are_stable(device: Device) -> None:
    """Rows of any type follow their keys; equal keys keep their order; the first k are the largest or smallest."""
    cases: list[Case] = []
    for i, dtype in enumerate(TYPES):
        keys = some(dtype, SIZES[i % len(SIZES)], seed=i)
        rows = some(("c8", "u1", "f8")[i % 3], keys.size, *[(), (3,), (2, 1)][i % 3])
        cases.append(("data.sort_by_key", {"keys": keys, "x": rows}, {"descending": bool(i % 2)}))
        cases.append(("data.top_k", {"x": keys}, {"k": (keys.size + 2) // 3, "smallest": bool(i % 2)}))
    for made, (block, given, parameters) in zip(outputs(device, *cases), cases, strict=True):
        if block == "data.top_k":
            order = stable(given["x"], not parameters["smallest"])[: parameters["k"]]
            np.testing.assert_array_equal(made["out"], given["x"][order])
            np.testing.assert_array_equal(made["positions"], order)
        else:
            order = stable(given["keys"], parameters["descending"])
            np.testing.assert_array_equal(made["order"], order)
            np.testing.assert_array_equal(made["out"], given["x"][order])


def test_scan_is_numpys(device: Device) -> None:
    """Running totals equal numpy's; without the element itself, they begin with that of no elements."""
    x = np.random.default_rng(0).normal(size=1023).astype(np.float32)
    holds, nan = x > 0, np.where(np.arange(x.size) == 500, np.float32(np.nan), x)
    total, count, largest, before, first = outputs(
        device,
        ("data.scan", {"x": x.reshape(31, 33)}, {}),
        ("data.scan", {"x": holds}, {"exclusive": True}),
        ("data.scan", {"x": nan}, {"operation": "largest"}),
        ("data.scan", {"x": np.array([7, -9, 100], np.int8)}, {"operation": "product"}),
        ("data.scan", {"x": x[:1]}, {"operation": "smallest", "exclusive": True}),
    )
    np.testing.assert_allclose(total["out"], np.cumsum(x, dtype=np.float64), rtol=1e-6, atol=1e-6)
    assert count["out"].dtype == np.uint32
    np.testing.assert_array_equal(count["out"], np.cumsum(holds) - holds)
    np.testing.assert_array_equal(largest["out"], np.maximum.accumulate(nan))
    assert before["out"].tolist() == [7, -63, (-6300 + 128) % 256 - 128]
    assert first["out"].tolist() == [np.inf]


def test_compact_is_numpys_indexing(device: Device) -> None:
    """The elements of any type whose mask is not 0 are kept in order; none and all may be."""
    cases: list[Case] = []
    for i, dtype in enumerate((*TYPES, "c8", "c16")):
        shape = [(1,), (33,), (31, 33), (2049,)][i % 4]
        cases.append(("data.compact", {"x": some(dtype, *shape), "mask": some(TYPES[-1 - i % 12], *shape)}, {}))
    cases += [("data.compact", {"x": np.arange(65.0), "mask": np.full(65, value)}, {}) for value in (False, True)]
    for made, (_, given, _) in zip(outputs(device, *cases), cases, strict=True):
        np.testing.assert_array_equal(made["out"], given["x"][given["mask"] != 0])
        np.testing.assert_array_equal(made["positions"], np.flatnonzero(given["mask"]))


def test_unique_is_numpys(device: Device) -> None:
    """The different elements of every type are found in order with their counts; NaN and zeros are one each."""
    inputs = [some(dtype, SIZES[i % len(SIZES)], seed=i) for i, dtype in enumerate(TYPES)]
    inputs += [np.arange(1023)[::-1].copy(), np.zeros((31, 33), np.float32)]
    cases: list[Case] = [("data.unique", {"x": x}, {}) for x in inputs]
    for made, x in zip(outputs(device, *cases), inputs, strict=True):
        found, counts = np.unique(x, return_counts=True)
        assert made["out"].dtype == x.dtype
        np.testing.assert_array_equal(made["out"], found)
        np.testing.assert_array_equal(made["counts"], counts)


REDUCED = {"sum": np.sum, "mean": np.mean, "smallest": np.min, "largest": np.max}


def test_reduce_by_key_is_numpys(device: Device) -> None:
    """Each key gets what numpy finds for its elements in f64: of short runs, of one run, and of runs over pieces."""
    source = np.random.default_rng(0)
    cases: list[Case] = []
    for i, operation in enumerate(REDUCED):
        for size, most in ((1, 1), (33, 5), (5000, 2), (5000, 5000), (4096, 1), (1025, 3)):
            keys = source.integers(0, most, size).astype(TYPES[3 + i])
            x = source.normal(100, 3, size).astype(("f4", "f8", "i2", "u1")[i])
            cases.append(("data.reduce_by_key", {"keys": keys, "x": x}, {"operation": operation}))
    for made, (_, given, parameters) in zip(outputs(device, *cases), cases, strict=True):
        found = np.unique(given["keys"])
        np.testing.assert_array_equal(made["out_keys"], found)
        wide = given["x"].astype(np.float64)
        expected = [REDUCED[parameters["operation"]](wide[given["keys"] == key]) for key in found]
        np.testing.assert_allclose(made["out"], expected, rtol=2e-7)


def test_nan_belongs_to_its_key(device: Device) -> None:
    """NaN keys are one key, the last; a NaN makes only its own key's result NaN."""
    keys = np.array([np.nan, 0.0, 1.0, -np.nan, -0.0, 1.0], np.float32)
    x = np.array([1, 2, np.nan, 4, 8, 16], np.float32)
    (made,) = outputs(device, ("data.reduce_by_key", {"keys": keys, "x": x}, {}))
    np.testing.assert_array_equal(made["out_keys"], [0, 1, np.nan])
    np.testing.assert_array_equal(made["out"], [10, np.nan, 5])


def test_histogram_is_numpys(device: Device) -> None:
    """Parts of a range count as numpy's; ends are included, and what is outside, or NaN, is left out."""
    wide = np.random.default_rng(0).normal(0, 3, 70_001).astype(np.float32)
    wide[:6] = (np.nan, np.inf, -np.inf, -4.0, 4.0, -0.0)
    whole = np.random.default_rng(1).integers(0, 256, (31, 33)).astype(np.uint8)
    cases: list[Case] = [
        *(("data.histogram", {"x": wide}, {"bins": bins, "low": -4.0, "high": 4.0}) for bins in (1, 256, 1024)),
        ("data.histogram", {"x": whole}, {"bins": 256, "low": 0.0, "high": 256.0}),
        ("data.histogram", {"x": np.array([5.0])}, {"bins": 3}),
    ]
    for made, (_, given, parameters) in zip(outputs(device, *cases), cases, strict=True):
        ends = parameters.get("low", 0.0), parameters.get("high", 1.0)
        finite = given["x"][np.isfinite(given["x"])].astype(np.float64)
        np.testing.assert_array_equal(made["out"], np.histogram(finite, parameters["bins"], ends)[0])


def test_the_range_of_a_histogram_is_live() -> None:
    """Moving the range writes two numbers."""
    patch = Patch()
    node = patch.add("data.histogram", bins=3)
    patch.connect(patch.add("io.array", data=np.array([0.1, 0.9, 1.5]))["out"], node["x"])
    with Engine(patch, device="host") as engine:
        engine.step()
        assert engine.read(node["out"]).tolist() == [1, 0, 1]
        patch.set(node, high=4.0)
        assert engine.step().update_level is UpdateLevel.HOT
        assert engine.read(node["out"]).tolist() == [2, 1, 0]


def test_what_does_not_fit_is_named() -> None:
    """Complex keys, too few elements for k, and keys that don't match rows are errors at the block."""
    assert "elements must be one of" in refusal("data.sort", {"x": np.ones(3, np.complex64)})
    assert "at least k = 10 elements" in refusal("data.top_k", {"x": np.ones(3)})
    keys, rows = np.ones(3), np.ones((4, 2))
    assert "as many rows as there are keys" in refusal("data.sort_by_key", {"keys": keys, "x": rows})
    assert "elements must be one of" in refusal("data.scan", {"x": np.ones(3, np.complex64)})
