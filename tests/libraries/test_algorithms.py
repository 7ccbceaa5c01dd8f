"""Lists in order, running totals and counts, against numpy."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pytest

from tests.libraries.calls import Array, Call, Caller
from warploom.engine.device.device import Device
from warploom.engine.kernel_sources.image import KERNELS_FOLDER
from warploom.engine.kernel_sources.loader import load_image
from warploom.engine.kernel_sources.sources import CudaFile, CudaOptions
from warploom.engine.libraries.algorithms import Histogram, Order, Scan, Sort
from warploom.engine.libraries.call import OperandError
from warploom.engine.libraries.host import algorithms
from warploom.engine.types import bf16, c64, dtype_of, f32, from_bf16, to_bf16
from warploom.engine.types.element_numbers import element_number
from warploom.engine.types.layout import Layout, strided_layout

TYPES = ("?", "u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8", "f2", "f4", "f8")
SIZES = (1, 2, 31, 32, 33, 1023, 70_001)


@pytest.fixture(scope="module")
def calls(device: Device) -> Iterator[Call]:
    """Makes calls of algorithms on each device in turn. CUDA is skipped where NVIDIA's `cuda.compute` is missing."""
    if device.info.name != "host":
        pytest.importorskip("cuda.compute", reason="cuda-cccl is not installed")
    made = Caller(device)
    yield made
    made.libraries.close()


def some(dtype: str, size: int) -> Array:
    """Return numbers with many ties, the extremes of their type, NaN of both signs, infinities and both zeros."""
    source, kind = np.random.default_rng(size), np.dtype(dtype)
    if kind.kind == "b":
        return source.integers(0, 2, size).astype(bool)
    if kind.kind in "iu":
        limits = np.iinfo(kind)
        ends = np.array([limits.min, limits.max, 0, limits.max - 1], kind)
        return np.where(source.random(size) < 0.2, source.choice(ends, size), source.integers(0, 50, size).astype(kind))
    ends = np.array([np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0, np.finfo(kind).max, np.finfo(kind).tiny], kind)
    near = np.round(source.normal(size=size) * 3).astype(kind)
    return np.where(source.random(size) < 0.2, source.choice(ends, size), near)


def ordered(x: Array, descending: bool) -> Array:
    """Return the positions of a stable order with NaN last, by Python's sort."""
    keys = [(value != value, 0 if value != value else -value if descending else value) for value in x.tolist()]
    return np.array(sorted(range(x.size), key=keys.__getitem__))


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("dtype", TYPES)
def test_lists_are_sorted(calls: Call, dtype: str, descending: bool) -> None:
    """Elements of every type are sorted, stable where positions are wanted, with NaN last in both directions."""
    for size in SIZES[:-1] if dtype != "f4" else SIZES:
        x = some(dtype, size)
        expected = ordered(x, descending)
        np.testing.assert_array_equal(calls(Order(descending), {"x": x})["out"], expected)
        out = calls(Sort(descending), {"x": x})["out"]
        assert out.dtype == x.dtype
        np.testing.assert_array_equal(out, x[expected])
        if x.dtype.kind == "f":
            zeros = np.signbit(out[out == 0])
            assert (np.sort(zeros)[:: 1 if descending else -1] == zeros).all()


@pytest.mark.parametrize("dtype", TYPES)
def test_cores_share_a_list(monkeypatch: pytest.MonkeyPatch, dtype: str) -> None:
    """Any number of cores of the host gives the same bits."""
    monkeypatch.setattr(algorithms, "_PIECE", 32)
    monkeypatch.setattr(algorithms, "_SHARE", 64)
    x = some(dtype, 1023)
    kind = np.dtype("u4") if dtype == "?" else x.dtype
    works: list[tuple[Any, Any, Any]] = [
        *((algorithms.sort, Sort(down), x.dtype) for down in (False, True)),
        *((algorithms.order, Order(down), "u4") for down in (False, True)),
        *((algorithms.scan, Scan(name, True), kind) for name in ACCUMULATED),
    ]
    for work, call, out in works:
        found = []
        for cores in (1, 2, 5):
            monkeypatch.setattr(algorithms, "usable_cores", lambda cores=cores: cores)
            found.append(np.zeros(x.size, out))
            with np.errstate(all="ignore"):
                work(call, {"x": x, "out": found[-1]}, {})
        for each in found[1:]:
            assert each.tobytes() == found[0].tobytes(), call
        if work is algorithms.order:
            np.testing.assert_array_equal(found[0], ordered(x, call.descending))
        elif work is algorithms.sort:
            np.testing.assert_array_equal(found[0], x[ordered(x, call.descending)])


def test_bf16_is_sorted(calls: Call) -> None:
    """Elements of bf16 are sorted like floats."""
    x = some("f4", 1023)
    x[np.abs(x) > 1e30] = 7
    np.testing.assert_array_equal(calls(Order(), {"x": x}, dtype=bf16)["out"], ordered(x, False))
    np.testing.assert_array_equal(calls(Sort(True), {"x": x}, dtype=bf16)["out"], x[ordered(x, True)])


class Kernels:
    """Launches the kernels of a file with arrays and numbers."""

    def __init__(self, device: Device, file: str, defines: Mapping[str, str | int] | None = None) -> None:
        self.device, architecture = device, device.info.architecture
        source = CudaFile(str(KERNELS_FOLDER / file), options=CudaOptions(defines=defines or {}))
        self.module = device.load_module(load_image(source, architecture).payload(architecture))

    def __call__(self, entry: str, *given: Any, thread_blocks: int = 2, threads: int = 256) -> tuple[Array, ...]:
        """Launch a kernel, and return the contents of its arrays."""
        buffers = [self.device.upload(item) if isinstance(item, np.ndarray) else item for item in given]
        self.device.launch(self.module.kernel(entry), (thread_blocks,), (threads,), buffers)
        self.device.synchronize()
        arrays = [each for each in buffers if not isinstance(each, np.generic)]
        found = tuple(np.array(each.download()) for each in arrays)
        for each in arrays:
            each.memory.free()
        return found


@pytest.mark.parametrize("dtype", [*TYPES, "bf16"])
def test_codes_have_the_order_of_elements(device: Device, dtype: str) -> None:
    """The kernels that turn elements into whole numbers keep their order, and turn them back."""
    launch = Kernels(device, "order.cu")
    x = some("f4" if dtype == "bf16" else dtype, 1027)
    given = to_bf16(x) if dtype == "bf16" else x
    x = from_bf16(given) if dtype == "bf16" else x
    kind = np.uint32(element_number(bf16 if dtype == "bf16" else dtype_of(x)))
    codes, wide = np.zeros(x.size, "u8" if x.itemsize == 8 else "u4"), np.int32(x.itemsize == 8)
    for descending in (False, True):
        rest = wide, np.int32(descending)
        positions = np.full(x.size, 7, np.uint32)
        _, found, counted = launch("encode", given, kind, kind, codes, *rest, positions, np.uint64(x.size))
        np.testing.assert_array_equal(np.argsort(found, kind="stable"), ordered(x, descending))
        np.testing.assert_array_equal(counted, np.arange(x.size))
        _, found = launch("encode", given, kind, kind, codes, *rest, np.uint64(0), np.uint64(x.size))
        expected = x[ordered(x, descending)]
        np.testing.assert_array_equal(x[np.argsort(found, kind="stable")], expected)
        _, back = launch("decode", found, wide, np.zeros_like(given), kind, np.int32(descending), np.uint64(x.size))
        np.testing.assert_array_equal(from_bf16(back) if dtype == "bf16" else back, x)
        if x.dtype.kind == "f":
            signs = np.signbit(from_bf16(back) if dtype == "bf16" else back)
            np.testing.assert_array_equal(signs, np.signbit(x) & ~np.isnan(x))


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_sorted_floats_are_settled(device: Device, dtype: str) -> None:
    """After a sort that takes -0 for 0 and puts NaN of one sign first, kernels move NaN last, without sign, and -0."""
    launch, source = Kernels(device, "order.cu"), np.random.default_rng(3)
    odd = np.array([0.0, -0.0, np.nan, -np.nan, np.inf, -np.inf, np.finfo(dtype).smallest_subnormal], dtype)
    for trial, size in enumerate((1, 1, 2, 2, 31, 33, 1000, 1000, 1000, 70_001)):
        chosen = source.choice(odd, source.integers(1, odd.size))
        x = np.where(source.random(size) < source.random(), source.choice(chosen, size), source.normal(size=size))
        x, descending = x.astype(dtype), bool(source.integers(2)) != bool(trial % 2)
        keys, by = np.abs(x).view(f"u{x.itemsize}").astype(object), np.signbit(x)
        keys[by] = -keys[by]
        mixed = x[np.argsort(-keys if descending else keys, kind="stable")]
        given = np.int32(x.itemsize == 8), np.int32(descending)
        parts, count = np.full(5, 7, np.uint64), np.uint64(size)
        _, parts = launch("find_parts", mixed, *given, parts, count, thread_blocks=1, threads=128)
        _, parts = launch("count_zeros", mixed, *given, parts, count)
        for is_second in (0, 1):
            mixed, _ = launch("reverse", mixed, *given, parts, count, np.int32(is_second))
        out, _ = launch("settle", mixed, *given, parts, count)
        np.testing.assert_array_equal(out, x[ordered(x, descending)])
        negative = np.signbit(out[(out == 0) | np.isnan(out)])
        zeros = np.count_nonzero(out == 0)
        np.testing.assert_array_equal(negative[:zeros], np.sort(negative[:zeros])[:: 1 if descending else -1])
        assert np.count_nonzero(negative) == np.count_nonzero(by & (x == 0)) and not negative[zeros:].any()


@pytest.mark.parametrize("is_product", [False, True])
def test_floats_are_added_in_one_pass(device: Device, is_product: bool) -> None:
    """The kernels for running sums and products of floats give numpy's in f64, over several groups of tiles."""
    launch, how = Kernels(device, "scan.cu", {"ELEMENTS": element_number(f32), "ROWS": 1}), np.int32(is_product)
    for size in (1, 1023, 1024, 70_001):
        x = np.random.default_rng(size).normal(1, 0.01, size).astype(np.float32)
        tiles, count = -(-size // 1024), np.uint64(size)
        totals = np.zeros(tiles + -(-tiles // 32) + 1, np.uint64)
        (totals,) = launch("begin_scan", totals, np.int32(totals.size))
        expected = (np.multiply if is_product else np.add).accumulate(x, dtype=np.float64)
        before = np.concatenate([[float(is_product)], expected[:-1]])
        for exclusive, wanted in enumerate((expected, before)):
            rest = totals, how, np.int32(exclusive), count
            found = launch("scan_tiles", x, np.zeros_like(x), *rest, thread_blocks=tiles)[1]
            np.testing.assert_allclose(found, wanted, rtol=1e-7)


def test_running_totals_of_bf16(calls: Call) -> None:
    """Sums and extremes of bf16 are rounded once, from f64 or not at all."""
    x = np.random.default_rng(0).integers(-9, 9, 1023).astype(np.float32)
    made = {operation: calls(Scan(operation), {"x": x}, dtype=bf16)["out"] for operation in ("sum", "smallest")}
    np.testing.assert_array_equal(made["sum"], from_bf16(to_bf16(np.cumsum(x))))
    np.testing.assert_array_equal(made["smallest"], np.minimum.accumulate(x))
    first = calls(Scan("largest", exclusive=True), {"x": x[:2]}, dtype=bf16)["out"]
    np.testing.assert_array_equal(first, [-np.inf, x[0]])


ACCUMULATED = {"sum": np.add, "product": np.multiply, "smallest": np.minimum, "largest": np.maximum}


@pytest.mark.parametrize("operation", ACCUMULATED)
@pytest.mark.parametrize("dtype", TYPES)
def test_running_totals_are_numpys(calls: Call, dtype: str, operation: str) -> None:
    """Running totals equal numpy's accumulations: whole numbers wrap, sums of floats are computed in f64."""
    for size in SIZES:
        x = some(dtype, size)
        if x.dtype.kind == "f" and operation in ("sum", "product"):
            x = np.random.default_rng(size).normal(1, 0.01, size).astype(dtype)
        kind = np.dtype("u4") if dtype == "?" else x.dtype
        wide = np.float64 if kind.kind == "f" and operation in ("sum", "product") else kind
        totals = ACCUMULATED[operation].accumulate(x.astype(kind), dtype=wide)
        before = np.concatenate([np.array([none(operation, kind)], wide), totals[:-1]])
        for exclusive, expected in ((False, totals), (True, before)):
            out = calls(Scan(operation, exclusive), {"x": x})["out"]
            assert out.dtype == kind
            with np.errstate(over="ignore"):
                expected = expected.astype(kind)
            if wide is np.float64:
                within = {"f2": 1e-3, "f4": 1.3e-7, "f8": 1e-11}[dtype]
                np.testing.assert_allclose(out, expected, rtol=within)
            else:
                np.testing.assert_array_equal(out, expected)


def none(operation: str, dtype: np.dtype[Any]) -> Any:
    """Return the combination of no elements."""
    if operation in ("sum", "product"):
        return ("sum", "product").index(operation)
    low, high = (-np.inf, np.inf) if dtype.kind == "f" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    return dtype.type(high if operation == "smallest" else low)


@pytest.mark.parametrize("bins", [1, 7, 256, 257, 5000])
def test_histograms_count_what_has_a_bin(calls: Call, bins: int) -> None:
    """Each bin has the number of elements equal to it; larger elements are left out."""
    for size in SIZES:
        x = np.random.default_rng(size).integers(0, bins + 3, size).astype(np.uint32)
        x[0] = 2**32 - 1
        np.testing.assert_array_equal(
            calls(Histogram(bins), {"x": x})["out"], np.bincount(x[x < bins], minlength=bins).astype(np.uint32)
        )


def test_what_has_no_order_is_refused() -> None:
    """Complex numbers, too many elements, and elements with gaps are refused, with the operand."""
    for call, layout, text in (
        (Sort(), Layout(c64, (3,)), "elements must be one of"),
        (Scan(), Layout(c64, (3,)), "elements must be one of"),
        (Order(), strided_layout(f32, (3,), (2,), 256), "put a Copy before it"),
        (Sort(), Layout(f32, (1 << 32,)), "must be fewer than"),
    ):
        with pytest.raises(OperandError, match=text):
            call.results({"x": layout})
