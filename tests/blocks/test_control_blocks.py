"""Regions and their conditions: which blocks run, how often, and which defaults remain if they don't run."""

import math
from typing import Any

import numpy as np
import pytest

from tests.blocks.running import apply, problems, run
from warploom import Engine, Patch, UpdateLevel
from warploom.engine.compiler.executable.by_operation import launch_by_operation
from warploom.engine.patch.document import NodeRef

TYPES = ["?", "u1", "i2", "u4", "i8", "f2", "f4", "f8"]


def _constant(patch: Patch, value: float, **more: Any) -> NodeRef:
    return patch.add("buffer.constant", value=value, **more)


def _array(patch: Patch, *values: float, dtype: str = "f4") -> NodeRef:
    return patch.add("io.array", data=np.array(values, dtype))


def _add_in_place(patch: Patch, total: NodeRef, amount: NodeRef, port: str, region: NodeRef | str) -> NodeRef:
    """Place blocks that add `amount` to `total` each time that they run; return the one that stores the sum."""
    add, store = (patch.add(block, region=region) for block in ("math.add", "buffer.assign"))
    patch.connect(total["out"], add["x"])
    patch.connect(amount[port], add["y"])
    patch.connect(total["out"], store["target"])
    patch.connect(add["out"], store["value"])
    return store


def _choice(condition: Any, element: int = 0) -> Any:
    """Return the output of a block inside an If: 6, or the default if the block did not run."""
    patch = Patch()
    region = patch.add("control.if", element=element)
    inside = patch.add("math.scale_offset", scale=2.0, region=region)
    copy = patch.add("buffer.copy")
    patch.connect(patch.add("io.array", data=condition)["out"], region["condition"])
    patch.connect(_array(patch, 3)["out"], inside["x"])
    patch.connect(inside["out"], copy["x"])
    return run(patch, copy["out"], frames=2)[0][0]


@pytest.mark.parametrize("dtype", TYPES)
def test_if_runs_unless_its_element_is_zero(dtype: str) -> None:
    """An If runs unless its element, of any type, is zero; if it does not run, its outputs are zeros."""
    assert _choice(np.array([0, 1, 0]).astype(dtype), 1) == 6
    assert _choice(np.array([1, 0, 1]).astype(dtype), 1) == 0


@pytest.mark.parametrize(("value", "holds"), [(-0.0, False), (np.nan, True), (1e-45, True), (-1.0, True)])
def test_only_zero_does_not_hold(value: float, holds: bool) -> None:
    """An If takes -0 for zero, but neither NaN nor the smallest float."""
    assert (_choice(np.array([value], np.float32)) == 6) == holds


def test_high_bytes_count() -> None:
    """An If runs for 256 and 2**40, although their lowest bytes are 0."""
    assert _choice(np.array([256], np.uint16)) == 6
    assert _choice(np.array([1 << 40], np.int64)) == 6


@pytest.mark.parametrize("block", ["control.if", "control.if_else", "control.switch", "control.while"])
def test_an_element_beyond_the_condition_is_refused(block: str) -> None:
    """A condition's element beyond the end of the buffer is refused."""
    patch = Patch()
    region = patch.add(block, element=3)
    port = "index" if block == "control.switch" else "condition"
    patch.connect(_array(patch, 1, 1, 1)["out"], region[port])
    inside = patch.add("buffer.copy", region=region)
    patch.connect(_array(patch, 1)["out"], inside["x"])
    assert (region.id, port, f"element must be less than the size of the {port}, got 3") in problems(patch)


@pytest.mark.parametrize(("condition", "expected"), [(1, 20), (0, 11)])
def test_if_else_with_a_select_behind_it(condition: int, expected: float) -> None:
    """One branch doubles and the other adds one; Select outputs the result of the branch that ran."""
    patch = Patch()
    decide = _array(patch, condition, dtype="u1")
    choice = patch.add("control.if_else")
    double = patch.add("math.scale_offset", scale=2.0, region=choice.body)
    more = patch.add("math.scale_offset", scale=1.0, offset=1.0, region=choice.otherwise)
    select = patch.add("control.select")
    x = _array(patch, 10)
    for block in (double, more):
        patch.connect(x["out"], block["x"])
    for region in (choice, select):
        patch.connect(decide["out"], region["condition"])
    patch.connect(double["out"], select["a"])
    patch.connect(more["out"], select["b"])
    assert run(patch, select["out"])[0].tolist() == [expected]


def _switch(branches: int, number: Any) -> tuple[Patch, NodeRef, list[NodeRef]]:
    """Place a Switch, whose branches add 1, 2 and so on to 1, and output -1 by default."""
    patch = Patch()
    chosen = patch.add("io.array", data=number)
    switch, x = patch.add("control.switch", branches=branches), _array(patch, 1)
    patch.connect(chosen["out"], switch["index"])
    made = [
        patch.add("math.scale_offset", scale=1.0, offset=branch / 2, region=switch.branch(branch))
        for branch in range(branches)
    ]
    for node in made:
        patch.connect(x["out"], node["x"])
    return patch, chosen, made


@pytest.mark.parametrize(
    ("branches", "dtype"),
    [(2, "?"), (2, "u1"), (3, "i2"), (3, "u4"), (5, "i8"), (3, "f2"), (2, "f4"), (16, "f4"), (16, "i4"), (3, "f8")],
)
def test_switch_runs_the_branch_of_its_number(branches: int, dtype: str) -> None:
    """Of 2 to 16 branches, that of the number runs, in every element type; for a number without a branch, none does."""
    patch, chosen, made = _switch(branches, np.array([0], dtype))
    kind, odd = np.dtype(dtype).kind, [-1, 2**31 - 1]
    if kind == "f":
        odd = [np.nan, -0.25, -np.inf, np.inf, branches - 0.25, 1.75, -0.0]
    with Engine(patch, device="host") as engine:
        for value in [*range(min(branches + 1, 2 if kind == "b" else 99)), *odd]:
            number = np.array([value]).astype(dtype)
            patch.set(chosen, data=number)
            engine.step()
            level = float(number[0])
            taken = math.floor(level) if 0 <= level < branches else None
            found = [float(engine.read(node["out"])[0]) for node in made]
            assert found == [1 + n / 2 if n == taken else 0.0 for n in range(branches)], value


def test_branches_of_a_switch_change_one_buffer_in_place() -> None:
    """In a loop, each turn runs the branch of its number, which changes a buffer from outside in place."""
    patch = Patch()
    total, loop = _constant(patch, 0.0, shape="1"), patch.add("control.for", count=7)
    switch = patch.add("control.switch", branches=4, region=loop)
    patch.connect(loop["index"], switch["index"])
    for branch in (0, 1, 3):
        amount = _constant(patch, 10.0**branch, shape="1")
        last = _add_in_place(patch, total, amount, "out", switch.branch(branch))
    # 0, 1 and 3 add their amounts; the branch of 2 is empty, and 4 to 6 have none.
    assert run(patch, last["out"])[0].tolist() == [1 + 10 + 1000]


def test_a_frame_by_single_operations_takes_the_same_branches() -> None:
    """The search for a faulty operation, which launches them one by one, runs the branches that a frame runs."""
    patch = Patch()
    totals, loop = [_constant(patch, 0.0, shape="1") for _ in range(2)], patch.add("control.for", count=5)
    switch, choice = patch.add("control.switch", branches=3, region=loop), patch.add("control.if_else", region=loop)
    patch.connect(loop["index"], switch["index"])
    patch.connect(loop["index"], choice["condition"])
    branches = (switch.body, 1), (switch.branch(2), 100), (choice.body, 10_000), (choice.otherwise, 10)
    stores = [
        _add_in_place(patch, totals[n // 2], _constant(patch, float(amount), shape="1"), "out", scope)
        for n, (scope, amount) in enumerate(branches)
    ]
    with Engine(patch, device="host") as engine:
        engine.step()
        assert [engine.read(stores[n]["out"])[0] for n in (1, 3)] == [1 + 100, 4 * 10_000 + 10]
        core, ran = engine.core, list[str]()
        compiled = core.updates.compiled
        launch_by_operation(
            compiled,
            core.device,
            core.context.services.uniforms.current,
            core.launcher.stream,
            lambda index, _: ran.append(compiled.plan.operations[index].node),
        )
        assert [ran.count(store.id) for store in stores] == [1, 1, 4, 1]


def test_the_number_of_branches_changes_while_frames_run() -> None:
    """Another number of branches describes the region again, and the next frame chooses among them."""
    patch, _, made = _switch(2, np.array([2], np.int32))
    switch = patch.nodes[made[0].id].region
    with Engine(patch, device="host") as engine:
        engine.step()
        assert not any(engine.read(node["out"])[0] for node in made)
        patch.set(switch, branches=3)
        third = patch.add("math.scale_offset", scale=1.0, offset=9.0, region=patch[switch].branch(2))
        patch.connect(patch.source_of(made[0]["x"]), third["x"])  # type: ignore[arg-type]
        assert engine.step().update_level is UpdateLevel.COLD
        assert engine.read(third["out"]).tolist() == [10]


@pytest.mark.parametrize("dtype", ["u1", "i2", "f4", "c8", "c16"])
@pytest.mark.parametrize("shape", [(1,), (257,), (3, 5)])
def test_select_takes_one_whole_buffer(dtype: str, shape: tuple[int, ...]) -> None:
    """Select outputs one of two buffers, with elements of 1 to 16 bytes."""
    a = np.arange(np.prod(shape)).reshape(shape).astype(dtype)
    b = a + a.dtype.type(1)
    for flag, expected in ((0.5, a), (0.0, b)):
        out = apply("control.select", {"condition": np.array([9, flag]), "a": a, "b": b}, element=1)
        assert out.dtype == a.dtype
        np.testing.assert_array_equal(out, expected)


def test_select_wants_two_of_a_kind() -> None:
    """Select refuses an f64 beside an f32, with both types and the source in the message."""
    patch = Patch()
    select = patch.add("control.select")
    for port, data in (("condition", np.ones(1)), ("a", np.ones(3, np.float32)), ("b", np.ones(3))):
        patch.connect(patch.add("io.array", data=data)["out"], select[port])
    assert problems(patch) == [(select.id, "b", "elements must be f32, got f64 from array_3.out")]


def _countdown(start: float, **parameters: Any) -> tuple[Patch, NodeRef, NodeRef]:
    """Place a While that subtracts 1 from a number until it is 0."""
    patch = Patch()
    number = _constant(patch, start)
    loop = patch.add("control.while", **parameters)
    patch.connect(number["out"], loop["condition"])
    store = _add_in_place(patch, number, _array(patch, -1), "out", loop)
    return patch, loop, store


@pytest.mark.parametrize("start", [0, 1, 2, 37])
def test_while_runs_until_its_condition_is_zero(start: int) -> None:
    """In each of three frames, the loop runs as many iterations as the number that it counts down."""
    patch, loop, store = _countdown(start)
    turns, left = run(patch, loop["turns"], store["out"], frames=3)
    assert (turns.tolist(), left.tolist()) == ([start], [0])


@pytest.mark.parametrize("limit", [0, 1, 9])
def test_a_loop_that_does_not_end_is_stopped(limit: int) -> None:
    """The loop stops at its limit, with a warning on the block; a new limit is a HOT update."""
    patch, loop, store = _countdown(0.5, limit=limit)
    with Engine(patch, device="host") as engine:
        for _ in range(2):
            report = engine.step()
        (problem,) = report.diagnostics
        assert (problem.node, problem.port) == (loop.id, "turns")
        assert f"more than {limit} turns" in problem.message
        assert engine.read(loop["turns"]).tolist() == [limit]
        assert engine.read(store["out"]).tolist() == [0.5 - limit]
        patch.set(loop, limit=limit + 5)
        assert engine.step().update_level is UpdateLevel.HOT
        assert engine.read(loop["turns"]).tolist() == [limit + 5]


def test_a_loop_that_just_ends_at_its_limit_is_no_problem() -> None:
    """A loop of five iterations with a limit of five runs without a warning."""
    patch, loop, _ = _countdown(5, limit=5)
    assert run(patch, loop["turns"], frames=2)[0].tolist() == [5]


def _summing(**parameters: Any) -> tuple[Patch, NodeRef, NodeRef]:
    """Place a For that adds up its indices."""
    patch = Patch()
    total = _constant(patch, 0)
    loop = patch.add("control.for", **parameters)
    index = patch.add("buffer.convert", dtype="f32", region=loop)
    patch.connect(loop["index"], index["x"])
    return patch, loop, _add_in_place(patch, total, index, "out", loop)


@pytest.mark.parametrize("count", [0, 1, 2, 10])
def test_for_runs_as_often_as_it_says(count: int) -> None:
    """A For runs `count` times: the sum of its indices is n (n - 1) / 2, and its index ends at n."""
    patch, loop, store = _summing(count=count)
    index, total = run(patch, loop["index"], store["out"], frames=2)
    assert (index.tolist(), total.tolist()) == ([count], [count * (count - 1) / 2])


def test_the_count_of_a_for_is_live() -> None:
    """A new count of a For is a HOT update and applies to the next frame."""
    patch, loop, store = _summing(count=3)
    with Engine(patch, device="host") as engine:
        engine.step()
        patch.set(loop, count=5)
        assert engine.step().update_level is UpdateLevel.HOT
        assert engine.read(store["out"]).tolist() == [10]


@pytest.mark.parametrize(
    ("dtypes", "value", "turns"),
    [
        (["?", "u1", "i2", "u8", "f2", "f4", "f8"], 0, 0),
        (["u1", "i2", "i4", "u8", "f2", "f4", "f8"], 4, 4),
        (["i2", "i4", "i8", "f2", "f4", "f8"], -2, 0),
        (["f2", "f4", "f8"], 3.75, 3),
    ],
)
def test_a_buffer_may_say_how_often(dtypes: list[str], value: float, turns: int) -> None:
    """The first element of `counts` is the count: negative numbers count as 0, and fractions are dropped."""
    for dtype in dtypes:
        patch, loop, store = _summing(count=9)
        patch.connect(patch.add("io.array", data=np.array([value, 7]).astype(dtype))["out"], loop["counts"])
        assert run(patch, store["out"])[0].tolist() == [turns * (turns - 1) / 2]


def test_a_for_is_stopped_at_its_limit() -> None:
    """A For of ten iterations with a limit of four runs four times, with a warning."""
    patch, loop, store = _summing(count=10, limit=4)
    with Engine(patch, device="host") as engine:
        for _ in range(2):
            report = engine.step()
        assert [(p.node, p.port) for p in report.diagnostics] == [(loop.id, "index")]
        assert engine.read(store["out"]).tolist() == [6]


def test_loops_nest() -> None:
    """An inner loop runs three times four iterations, and an If in it runs in the second half of them."""
    patch = Patch()
    total, few = _constant(patch, 0), _constant(patch, 0)
    outer = patch.add("control.for", count=3)
    inner = patch.add("control.for", count=4, region=outer)
    store = _add_in_place(patch, total, _array(patch, 1), "out", inner)
    late = patch.add("math.compare", operation="greater or equal", value=2.0, region=inner)
    patch.connect(inner["index"], late["x"])
    sometimes = patch.add("control.if", region=inner)
    patch.connect(late["out"], sometimes["condition"])
    rest = _add_in_place(patch, few, _array(patch, 1), "out", sometimes)
    assert [values.tolist() for values in run(patch, store["out"], rest["out"], frames=2)] == [[12], [6]]


@pytest.mark.parametrize("period", [1, 3, 10])
def test_every_holds_at_the_first_of_each_round(period: int) -> None:
    """Every outputs 1 in the first frame of each period, and 0 in the others."""
    patch = Patch()
    every = patch.add("control.every", period=period)
    with Engine(patch, device="host") as engine:
        found = []
        for _ in range(12):
            engine.step()
            found.append(int(engine.read(every["due"])[0]))
    assert found == [int(frame % period == 0) for frame in range(12)]


def test_state_in_a_region_counts_only_its_turns() -> None:
    """An Every with period 6 inside a For of 4 iterations is due twice in 3 frames, since it counts iterations."""
    patch = Patch()
    total = patch.add("buffer.state", shape="1", dtype="f32")
    loop = patch.add("control.for", count=4)
    every = patch.add("control.every", period=6, region=loop)
    due = patch.add("buffer.convert", dtype="f32", region=loop)
    patch.connect(every["due"], due["x"])
    store = _add_in_place(patch, total, due, "out", loop)
    assert run(patch, store["out"], frames=3)[0].tolist() == [2]


@pytest.mark.parametrize("operation", ["less", "less or equal", "equal", "not equal", "greater or equal", "greater"])
def test_comparisons_are_numpys(operation: str) -> None:
    """Comparisons of two buffers of different types, or a buffer and a value, equal numpy's, NaN included."""
    compare = getattr(np, operation.replace(" or ", "_").replace("not ", "not_"))
    x = np.array([-3, -1, 0, 1, 2, 7], np.int16)
    y = np.array([-3.5, -1, np.nan, 1.5, 2, -0.0], np.float32)
    np.testing.assert_array_equal(apply("math.compare", {"x": x, "y": y}, operation=operation), compare(x, y))
    out = apply("math.compare", {"x": x}, operation=operation, value=1.0)
    np.testing.assert_array_equal(out, compare(x, 1))
    assert out.dtype == np.bool_


@pytest.mark.parametrize("dtype", ["boolean", "u8", "s16", "u32", "s64", "f16", "f32", "f64"])
@pytest.mark.parametrize("value", [0, 1, -3.5, 1000])
def test_a_constant_is_the_nearest_value(dtype: str, value: float) -> None:
    """Constant fills a shape of odd sizes with its value, limited to the range of the type."""
    out = apply("buffer.constant", {}, dtype=dtype, shape="3, 5", value=value)
    assert out.shape == (3, 5)
    if out.dtype.kind in "iu":
        info = np.iinfo(out.dtype)
        value = max(info.min, min(info.max, int(value)))
    np.testing.assert_array_equal(out, np.full((3, 5), value).astype(out.dtype))


@pytest.mark.parametrize("shape", ["", "0", "3, -1", "3; 4", "1.5"])
def test_an_invalid_shape_is_refused(shape: str) -> None:
    """The error for an invalid shape names the parameter."""
    patch = Patch()
    node = patch.add("buffer.constant", shape=shape)
    ((at, _, text),) = problems(patch)
    assert at == node.id and "parameter shape must" in text


def test_a_frame_delay_is_one_frame_behind() -> None:
    """In a cycle, a delay outputs `initial` first, and then what its input was one frame before."""
    patch = Patch()
    like, one = _array(patch, 0), _array(patch, 1)
    delay, add = patch.add("buffer.frame_delay", initial=5.0), patch.add("math.add")
    patch.connect(like["out"], delay["like"])
    patch.connect(delay["out"], add["x"])
    patch.connect(one["out"], add["y"])
    patch.connect(add["out"], delay["x"])
    with Engine(patch, device="host") as engine:
        for frame in range(5):
            assert not engine.step().diagnostics
            assert engine.read(delay["out"]).tolist() == [5 + frame]
            assert engine.read(add["out"]).tolist() == [6 + frame]


def test_two_delays_are_two_frames_behind() -> None:
    """Two delays in a row, outside a cycle and without `like`, are two frames late."""
    patch = Patch()
    counter = patch.add("control.every", period=4)
    first, second = patch.add("buffer.frame_delay"), patch.add("buffer.frame_delay")
    patch.connect(counter["due"], first["x"])
    patch.connect(first["out"], second["x"])
    with Engine(patch, device="host") as engine:
        found = []
        for _ in range(8):
            engine.step()
            found.append(int(engine.read(second["out"])[0]))
    assert found == [0, 0, 1, 0, 0, 0, 1, 0]
