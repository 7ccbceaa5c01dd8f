"""Threads that work together: shared memory, barriers, atomics, shuffles, votes, reductions and scans."""

import numpy as np
import pytest

from tests.ops.reference import NUMPY, assert_same
from tests.ops.reference_numbers import Array
from tests.ops.running import run
from warploom.engine.device.device import Device
from warploom.engine.ops import OpGraphBuilder, check_op_graph, compile_graph, compose, parse_expression
from warploom.engine.ops.graph import OpPort

_BLOCK = 256
_SIZES = (1, 7, 1023, 1027)


def _blocks(array: Array, none: float) -> Array:
    """Return the elements by thread block, the last one padded with neutral elements."""
    count = -(-len(array) // _BLOCK) * _BLOCK
    return np.concatenate([array, np.full(count - len(array), none, array.dtype)]).reshape(-1, _BLOCK)


def _samples(kind: str, size: int) -> Array:
    random = np.random.default_rng(size)
    dtype = np.dtype(NUMPY[kind])
    if dtype.kind == "f":  # integers, so that the order of additions changes nothing
        return random.integers(-50, 50, size).astype(dtype)
    return random.integers(0, 2 if dtype.kind == "b" else 200, size).astype(dtype)


_OPERATIONS = {
    "add": (np.add, 0),
    "minimum": (np.minimum, None),
    "maximum": (np.maximum, None),
    "multiply": (np.multiply, 1),
}


def _none(operation: str, dtype: np.dtype) -> float:
    none = _OPERATIONS[operation][1]
    if none is not None:
        return none
    limits = np.finfo(dtype) if dtype.kind == "f" else np.iinfo(dtype)
    infinite = (np.inf, -np.inf) if dtype.kind == "f" else (limits.max, limits.min)
    return infinite[operation == "maximum"]


#: The tested reductions and scans, with their operation and their group of threads.
_COLLECTIVES = [
    "reduce_add_block",
    "reduce_minimum_block",
    "reduce_maximum_warp",
    "inclusive_add_block",
    "total_add_block",
    "exclusive_maximum_block",
    "exclusive_add_warp",
    "inclusive_maximum_warp",
]


@pytest.mark.parametrize("kind", ["f32", "s32", "u64", "f64"])
def test_reductions_and_scans_are_numpys(device: Device, kind: str) -> None:
    """Reductions and scans run over thread blocks and warps, with sizes that fill none of these."""
    g = OpGraphBuilder()
    x = g.add("op.input", "x", type=kind)["value"]
    for name in (*_COLLECTIVES, *([] if kind[0] == "f" else ["reduce_multiply_warp"])):
        how, operation, word = name.split("_")
        scope = "thread block" if word == "block" else "warp"
        settings = {"operation": operation, "scope": scope, "value": x}
        if how == "reduce":
            g.add("op.output", name, value=g.add("op.reduce", **settings)["out"])
        else:
            scan = g.add("op.scan", kind="inclusive" if how == "total" else how, **settings)
            g.add("op.output", name, value=scan["total" if how == "total" else "out"])
    kernel = compile_graph(g.graph())
    assert not kernel.is_elementwise
    assert kernel.thread_block == (_BLOCK, 1, 1)
    for size in _SIZES:
        values = _samples(kind, size)
        found = run(device, kernel, {"x": values}, size)
        for name, array in found.items():
            how, operation, word = name.split("_")
            combine, none = _OPERATIONS[operation][0], _none(operation, values.dtype)
            rows = _blocks(values, none).reshape(-1, _BLOCK if word == "block" else 32)
            sums = combine.accumulate(rows, axis=1)
            expected = {
                "inclusive": sums,
                "exclusive": np.concatenate([np.full_like(sums[:, :1], none), sums[:, :-1]], axis=1),
            }.get(how, np.repeat(sums[:, -1:], rows.shape[1], axis=1))
            assert_same(array, expected.astype(values.dtype).ravel()[:size], f"{name} of {size}")


def test_vectors_booleans_and_bits_are_reduced(device: Device) -> None:
    """Components are reduced separately; booleans support and, or, and votes."""
    size = 1027
    g = OpGraphBuilder()
    v = g.add("op.input", "v", type="float3")["value"]
    flag = g.add("op.input", "flag", type="boolean")["value"]
    word = g.add("op.input", "word", type="u32")["value"]
    g.add("op.output", "total", value=g.add("op.reduce", value=v)["out"])
    g.add("op.output", "count", value=g.add("op.reduce", value=flag)["out"])
    g.add("op.output", "every", value=g.add("op.reduce", value=flag, operation="and")["out"])
    g.add("op.output", "either", value=g.add("op.reduce", value=word, operation="or", scope="warp")["out"])
    vote = g.add("op.vote", value=flag)
    for name in ("any", "all", "lanes"):
        g.add("op.output", name, value=vote[name])
    inputs = {"v": np.round(np.random.default_rng(3).normal(size=(size, 3)) * 9).astype(np.float32)}
    inputs["flag"] = np.arange(size) % 300 < 250
    inputs["word"] = (1 << (np.arange(size) % 7 * 3)).astype(np.uint32)
    found = run(device, g.graph(), inputs, size)
    ends = np.minimum((np.arange(size) // _BLOCK + 1) * _BLOCK, size)
    starts = np.arange(size) // _BLOCK * _BLOCK
    sums = {(s, e): (inputs["v"][s:e].sum(0), inputs["flag"][s:e]) for s, e in zip(starts, ends, strict=True)}
    pairs = list(zip(starts.tolist(), ends.tolist(), strict=True))
    assert_same(found["total"], np.array([sums[p][0] for p in pairs]), "total")
    assert_same(found["count"], np.array([sums[p][1].sum() for p in pairs], np.int32), "count")
    assert_same(found["every"], np.array([sums[p][1].all() for p in pairs]), "every")
    warps = [(at // 32 * 32, min(at // 32 * 32 + 32, size)) for at in range(size)]
    flags = [inputs["flag"][s:e] for s, e in warps]
    assert_same(found["any"], np.array([f.any() for f in flags]), "any")
    assert_same(found["all"], np.array([f.all() for f in flags]), "all")
    lanes = [sum(1 << i for i, f in enumerate(row) if f) for row in flags]
    assert_same(found["lanes"], np.array(lanes, np.uint32), "lanes")
    either = [np.bitwise_or.reduce(inputs["word"][s:e]) for s, e in warps]
    assert_same(found["either"], np.array(either, np.uint32), "either")


def test_shuffles_give_what_other_lanes_have(device: Device) -> None:
    """Shuffles down, up, by xor and by index match numpy; outside the warp, a lane reads itself."""
    size = 512
    g = OpGraphBuilder()
    sources = {kind: g.add("op.input", kind, type=kind)["value"] for kind in ("f32", "double2", "boolean")}
    modes = {"down": 3, "up": 5, "xor": 6, "index": 9}
    for mode, lane in modes.items():
        for kind, value in sources.items():
            shuffle = g.add("op.shuffle", value=value, lane=float(lane), mode=mode)
            g.add("op.output", f"{mode}_{kind}", value=shuffle["out"])
    random = np.random.default_rng(6)
    inputs = {
        "f32": random.normal(size=size).astype(np.float32),
        "double2": random.normal(size=(size, 2)),
        "boolean": random.integers(0, 2, size).astype(bool),
    }
    found = run(device, g.graph(), inputs, size)
    lane = np.arange(32)
    places = {
        "down": np.where(lane + 3 < 32, lane + 3, lane),
        "up": np.where(lane >= 5, lane - 5, lane),
        "xor": lane ^ 6,
        "index": np.full(32, 9),
    }
    for name, array in found.items():
        mode, _, kind = name.partition("_")
        rows = inputs[kind].reshape(-1, 32, *inputs[kind].shape[1:])
        assert_same(array, rows[:, places[mode]].reshape(inputs[kind].shape), name)


def test_shared_memory_turns_a_thread_block_round(device: Device) -> None:
    """After a barrier, a thread loads what another one stored before it, also in a loop of barriers."""
    size = 1000
    g = OpGraphBuilder()
    x = g.add("op.input", "x")["value"]
    thread = g.add("op.thread")["x"]
    shared = g.add("op.shared", count=_BLOCK)
    stored = g.add("op.store", buffer=shared["buffer"], index=thread, value=x)
    ready = g.add("op.barrier", buffer=stored["after"])
    other = g.add("op.subtract", a=g.add("op.constant", value=_BLOCK - 1)["out"], b=thread)["out"]
    turned = g.add("op.load", buffer=ready["after"], index=other)
    g.add("op.output", "turned", value=turned["out"])
    ladder = g.add("op.shared", "ladder", count=_BLOCK)
    loop = g.add("op.for", "loop", count=8.0, initial_a=x)
    put = g.add("op.store", region="loop", buffer=ladder["buffer"], index=thread, value=loop["a"])
    full = g.add("op.barrier", region="loop", buffer=put["after"])
    distance = g.add("op.shift_left", region="loop", x=g.add("op.constant", value=1)["out"], amount=loop["index"])
    at = g.add("op.subtract", region="loop", a=thread, b=distance["out"])["out"]
    near = g.add("op.load", region="loop", buffer=full["after"], index=at, boundary="zero")
    g.add("op.barrier", region="loop", buffer=full["after"])
    loop.connect("next_a", g.add("op.add", region="loop", a=loop["a"], b=near["out"])["out"])
    g.add("op.output", "summed", value=loop["a"])
    values = np.random.default_rng(0).integers(-9, 9, size).astype(np.float32)
    found = run(device, g.graph(), {"x": values}, size)
    rows = _blocks(values, 0)
    assert_same(found["turned"], rows[:, ::-1].ravel()[:size], "turned")
    assert_same(found["summed"], np.cumsum(rows, axis=1, dtype=np.float32).ravel()[:size], "summed")


def test_atomics_count_find_extremes_and_exchange(device: Device) -> None:
    """Histograms in global and shared memory, extremes, bit operations and exchanges by atomics equal numpy's."""
    size = 5000
    bins = np.random.default_rng(1).integers(-2, 18, size).astype(np.int32)
    x = np.random.default_rng(2).normal(size=size).astype(np.float32)
    g = OpGraphBuilder()
    bin_, value = g.add("op.input", "bin", type="s32")["value"], g.add("op.input", "x")["value"]
    one = g.add("op.constant", value=1, type="u32")["out"]
    outputs: dict[str, Array] = {}

    def output(name: str, kind: str, initial: Array) -> OpPort:
        outputs[name] = initial.astype(NUMPY[kind])
        return g.add("op.output", name, type=kind, shape=f"[{len(initial)}]", initial="zeros")["buffer"]

    def converted(source: OpPort, kind: str) -> OpPort:
        return g.add("op.convert", x=source, type=kind)["out"]

    g.add("op.atomic", buffer=output("counts", "u32", np.zeros(16)), index=bin_)
    g.add("op.atomic", buffer=output("sums", "f64", np.zeros(16)), index=bin_, value=converted(value, "f64"))
    extremes = {"maximum_f32": -np.inf, "minimum_f32": np.inf, "minimum_s32": 99, "maximum_s64": -99}
    for name, start in extremes.items():
        operation, _, kind = name.partition("_")
        given = value if kind == "f32" else converted(bin_, kind)
        g.add("op.atomic", buffer=output(name, kind, np.full(1, start)), value=given, operation=operation)
    bits = g.add("op.shift_left", x=one, amount=bin_)["out"]
    g.add("op.atomic", buffer=output("bits", "u32", np.zeros(1)), value=bits, operation="or")
    winner = output("winner", "s32", np.full(1, -9))
    g.add("op.output", "old", value=g.add("op.compare_exchange", buffer=winner, expected=-9.0, value=bin_)["old"])
    thread, zero = g.add("op.thread")["x"], g.add("op.constant")["out"]
    shared = g.add("op.store", buffer=g.add("op.shared", type="u32", count=16)["buffer"], index=thread, value=zero)
    cleared = g.add("op.barrier", buffer=shared["after"])
    counted = g.add("op.atomic", buffer=cleared["after"], index=bin_, value=one)
    complete = g.add("op.barrier", buffer=counted["after"])
    total = g.add("op.load", buffer=complete["after"], index=thread)["out"]
    g.add("op.atomic", buffer=output("by_block", "u32", np.zeros(16)), index=thread, value=total)
    found = run(device, g.graph(), {"bin": bins, "x": x}, size, outputs=outputs)
    inside = (bins >= 0) & (bins < 16)
    expected = np.bincount(bins[inside], minlength=16)
    np.testing.assert_array_equal(found["counts"], expected)
    np.testing.assert_allclose(found["sums"], np.bincount(bins[inside], x[inside], 16), rtol=1e-12, atol=1e-12)
    assert found["maximum_f32"] == x.max()
    assert found["minimum_f32"] == x.min()
    x[size // 2] = np.nan
    found = run(device, g.graph(), {"bin": bins, "x": x}, size, outputs=outputs)
    assert np.isnan(found["maximum_f32"]) and np.isnan(found["minimum_f32"])
    assert found["minimum_s32"] == -2
    assert found["maximum_s64"] == 17
    assert found["bits"] == np.bitwise_or.reduce(np.uint32(1) << (bins & 31).astype(np.uint32))
    assert (found["old"] == -9).sum() == 1
    assert found["winner"] in bins
    # Threads without an element count, too, with the input 0 in shared memory.
    expected[0] += -size % _BLOCK
    np.testing.assert_array_equal(found["by_block"], expected)


def test_a_reduction_takes_its_producer_in(device: Device) -> None:
    """A reduction that is fused with its producer gives the same bits, also where threads have no element."""
    producer = parse_expression("exp(x) + 1", inputs={"x": "f32"})
    g = OpGraphBuilder()
    total = g.add("op.reduce", value=g.add("op.input", "x")["value"])
    g.add("op.output", "out", value=total["out"])
    x = np.random.default_rng(5).normal(size=1027).astype(np.float32)
    middle = run(device, producer, {"x": x}, 1027)["out"]
    expected = run(device, g.graph(), {"x": middle}, 1027)["out"]
    fused = compose({"p": producer, "r": g.graph()}, {"r.x": "p.out"})
    assert_same(run(device, fused, {"p/x": x}, 1027)["r/out"], expected, "fused")


def test_ops_that_wait_must_be_reached_by_all_threads() -> None:
    """A barrier may be in a loop with a fixed number of iterations, but not in a branch that depends on the element."""
    g = OpGraphBuilder()
    x = g.add("op.input", "x", type="s32")["value"]
    fixed = g.add("op.for", "fixed", count=g.add("op.parameter", "turns", type="s32")["out"])
    fixed.connect("next_a", g.add("op.reduce", "fine", region="fixed", value=x)["out"])
    varying = g.add("op.for", "varying", count=x)
    varying.connect("next_a", g.add("op.reduce", "wrong", region="varying", value=x)["out"])
    choice = g.add("op.if", "choice", condition=g.add("op.greater", a=x, b=0.0)["out"])
    choice.connect("then_a", g.add("op.scan", "also_wrong", region="choice", value=x)["out"])
    total = g.add("op.add", a=g.add("op.add", a=fixed["a"], b=varying["a"])["out"], b=choice["a"])
    g.add("op.output", "out", value=total["out"])
    found = {problem.node: problem.message for problem in check_op_graph(g.graph())}
    assert found == {
        "wrong": "Reduce must be reached by all threads, but count of varying may differ",
        "also_wrong": "Scan must be reached by all threads, but condition of choice may differ",
    }
