"""State and delays of one or more frames, through rebuilds, pauses and resets."""

import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fuzzing import many
from tests.runtime.conftest import Kernels
from tests.runtime.small_blocks import add_to, array, bump, zeros
from warploom import Engine, Patch, UpdateLevel
from warploom.engine.descriptions.builder import BlockBuilder
from warploom.engine.descriptions.checks import BlockCallError
from warploom.engine.descriptions.entries import CopyEntry
from warploom.engine.patch.document import NodeRef
from warploom.engine.patch.regions import TOP
from warploom.engine.protocol.messages import Reset, SetRunning
from warploom.engine.types import f32


def read(engine: Engine, node: NodeRef, port: str = "out") -> list[Any]:
    """Return the contents of a port, as a list."""
    return engine.read(node[port]).tolist()  # type: ignore[no-any-return]


def copies(engine: Engine) -> int:
    """Return how many operations of the plan are copies."""
    compiled = engine.core.updates.compiled
    assert compiled is not None
    return sum(isinstance(operation.entry, CopyEntry) for operation in compiled.plan.operations)


def delay_of(patch: Patch, source: NodeRef, **values: Any) -> NodeRef:
    """Place a delay of an output."""
    node = patch.add("buffer.frame_delay", **values)
    patch.connect(source["out"], node["x"])
    return node


def counter(patch: Patch, initial: float = 0.0) -> tuple[NodeRef, NodeRef]:
    """Place a delay that is fed back through a block that adds 1; return both."""
    delay = patch.add("buffer.frame_delay", initial=initial)
    patch.connect(array(patch, 0)["out"], delay["like"])
    more = patch.add("math.scale_offset", scale=1.0, offset=1.0)
    patch.connect(delay["out"], more["x"])
    patch.connect(more["out"], delay["x"])
    return delay, more


def test_a_delay_of_what_a_frame_makes_copies_nothing() -> None:
    """A delay of a computed buffer exchanges two buffers without copying, and outputs the previous frame's result."""
    patch = Patch()
    source = zeros(patch, 5)
    delay = delay_of(patch, source, initial=-1.0)
    with Engine(patch, device="host") as engine:
        last = -1.0
        for frame in range(7):
            patch.set(source, value=float(frame * frame))
            engine.step()
            assert read(engine, delay) == [last] * 5
            assert read(engine, source) == [frame * frame] * 5
            last = float(frame * frame)
        assert copies(engine) == 0


@pytest.mark.parametrize("what", ["state", "array", "part", "twice", "region"])
def test_a_delay_copies_where_its_source_must_stay(what: str) -> None:
    """A delay copies a source that is state, from the host, a slice, another delay's buffer, or made in a region."""
    patch = Patch()
    source = zeros(patch, 4)
    expected: list[list[float]] = [[5.0] * 4]
    if what == "state":
        state = patch.add("buffer.state", shape="4", dtype="f32")
        delay = delay_of(patch, bump(patch, state), initial=5.0)
        expected += [[float(frame)] * 4 for frame in (1, 2, 3, 4)]
    elif what == "array":
        delay = delay_of(patch, array(patch, 1, 2, 3, 4), initial=5.0)
        expected += [[1, 2, 3, 4]] * 4
    elif what == "part":
        part = patch.add("buffer.slice", start=1, stop=3)
        patch.connect(source["out"], part["x"])
        delay = delay_of(patch, part, initial=5.0)
        expected = [[5.0] * 2] + [[float(frame)] * 2 for frame in range(4)]
    elif what == "twice":
        delay_of(patch, source, initial=9.0)
        delay = delay_of(patch, source, initial=5.0)
        expected += [[float(frame)] * 4 for frame in range(4)]
    else:
        loop = patch.add("control.for", count=2)
        made = patch.add("math.scale_offset", region=loop, offset=1.0, scale=1.0)
        patch.connect(source["out"], made["x"])
        delay = delay_of(patch, made, initial=5.0)
        expected += [[float(frame + 1)] * 4 for frame in range(4)]
    with Engine(patch, device="host") as engine:
        for frame, wanted in enumerate(expected):
            patch.set(source, value=float(frame))
            assert not engine.step().diagnostics
            assert read(engine, delay) == wanted
        assert copies(engine) > 0


@pytest.mark.parametrize("length", [1, 2, 5])
def test_a_chain_of_delays_is_as_many_frames_behind(length: int) -> None:
    """Delay n of a chain is n frames behind, and begins with its own initial value."""
    patch = Patch()
    source = zeros(patch, 2)
    chain = [delay_of(patch, source, initial=-1.0)]
    for number in range(1, length):
        chain.append(delay_of(patch, chain[-1], initial=float(-1 - number)))
    history = [[-float(number + 1) for number in range(length)]]
    with Engine(patch, device="host") as engine:
        for frame in range(9):
            patch.set(source, value=float(10 + frame))
            engine.step()
            assert [read(engine, node) for node in chain] == [[value] * 2 for value in history[-1]]
            history.append([10.0 + frame, *history[-1][:-1]])


@pytest.mark.parametrize("block", ["in place", "apart"])
def test_fibonacci_is_a_round_of_two_delays(block: str) -> None:
    """A round of two delays computes Fibonacci numbers, with and without an in-place block on an output."""
    patch = Patch()
    like = array(patch, 0)
    one, two = (patch.add("buffer.frame_delay", initial=1.0) for _ in range(2))
    total = patch.add("math.add")
    for delay in (one, two):
        patch.connect(like["out"], delay["like"])
    patch.connect(one["out"], total["x"])
    patch.connect(two["out"], total["y"])
    last = bump(patch, total, amount=0.0) if block == "in place" else total
    patch.connect(last["out"], one["x"])
    patch.connect(one["out"], two["x"])
    a, b = 1, 1
    with Engine(patch, device="host") as engine:
        for _ in range(12):
            assert not engine.step().diagnostics
            assert (read(engine, two), read(engine, one), read(engine, total)) == ([a], [b], [a + b])
            a, b = b, a + b


def test_a_delay_whose_output_is_changed_in_place_still_gets_the_source() -> None:
    """A change of a delay's output in place applies to that frame only; the next frame gets the source."""
    patch = Patch()
    source = zeros(patch, 3)
    delay = delay_of(patch, source)
    changed = bump(patch, delay, amount=100.0)
    with Engine(patch, device="host") as engine:
        for frame in range(5):
            patch.set(source, value=float(frame))
            engine.step()
            assert read(engine, changed) == [100 + max(frame - 1, 0)] * 3


@given(st.integers(0, 1000))
@settings(max_examples=many(20))
def test_delays_survive_rebuilds_after_any_number_of_frames(seed: int) -> None:
    """Blocks come and go between frames; the count continues, and so does the chain of delays after it."""
    rng = random.Random(seed)
    patch = Patch()
    delay, more = counter(patch, initial=5.0)
    second = delay_of(patch, more)
    third = delay_of(patch, second)
    extra: list[NodeRef] = []
    with Engine(patch, device="host") as engine:
        for frame in range(12):
            if rng.random() < 0.5:
                if extra and rng.random() < 0.5:
                    patch.remove(extra.pop())
                else:
                    extra.append(delay_of(patch, rng.choice([delay, more, second, third])))
            report = engine.step()
            assert not report.diagnostics
            assert read(engine, delay) == [5 + frame]
            assert read(engine, second) == [6 + frame - 1 if frame else 0]
            assert read(engine, third) == [6 + frame - 2 if frame > 1 else 0]


@given(st.integers(0, 10_000))
@settings(max_examples=many(15))
def test_delays_give_what_their_source_was_a_frame_ago(seed: int) -> None:
    """After any edits, each delay outputs what its source was a frame ago, in loops too, and in a region or out."""
    rng = random.Random(seed)
    patch = Patch()
    like, region = array(patch, 0, 0), patch.add("control.for", count=1)
    sources = [zeros(patch, 2) for _ in range(2)]
    patch.add("buffer.constant", region=region)
    kept: dict[str, float] = {}  # the output of each delay in the next frame
    with Engine(patch, device="host") as engine:
        for frame in range(15):
            for number in range(rng.randint(0, 2)):
                delays = [patch[name] for name in kept]
                if rng.random() < 0.5 or not delays:
                    initial = float(rng.randint(-9, 9))
                    node = patch.add("buffer.frame_delay", node_id=f"delay_{frame}_{number}", initial=initial)
                    patch.connect(like["out"], node["like"])
                    patch.connect(rng.choice([*sources, *delays, node])["out"], node["x"])
                    kept[node.id] = initial
                elif rng.random() < 0.5:
                    patch.connect(rng.choice([*sources, *delays])["out"], rng.choice(delays)["x"])
                elif rng.random() < 0.6:
                    patch.move_into(rng.choice(delays), rng.choice((region, TOP)))
                else:
                    gone = rng.choice(delays)
                    for connection in patch.connections_of(gone.id):
                        if connection.source.node == gone.id:
                            patch.connect(sources[0]["out"], connection.target)
                    patch.remove(gone)
                    del kept[gone.id]
            now = dict(kept)
            for source in sources:
                now[source.id] = float(rng.randint(10, 99))
                patch.set(source, value=now[source.id])
            assert not engine.step().diagnostics
            assert {name: read(engine, patch[name]) for name in kept} == {name: [now[name]] * 2 for name in kept}
            fed = {name: patch.source_of(patch[name]["x"]) for name in kept}
            kept = {name: now[source.node] for name, source in fed.items() if source is not None}


def test_a_delay_can_be_moved_to_another_source() -> None:
    """The delay outputs the old source once more, then the new one; the old source keeps working."""
    patch = Patch()
    one, two = zeros(patch, 2, value=1.0), zeros(patch, 2, value=2.0)
    watch = patch.add("math.scale_offset", scale=10.0)
    patch.connect(one["out"], watch["x"])
    delay = delay_of(patch, one)
    with Engine(patch, device="host") as engine:
        last = 0.0
        for frames in (1, 2, 3):
            for source, value in ((one, 1.0), (two, 2.0)):
                patch.connect(source["out"], delay["x"])
                for _ in range(frames):
                    assert not engine.step().diagnostics
                    assert read(engine, delay) == [last] * 2
                    assert read(engine, watch) == [10, 10]
                    last = value


def test_two_delays_can_change_sources_with_each_other() -> None:
    """Two delays that exchange their sources output their stored values once more."""
    patch = Patch()
    one, two = zeros(patch, 3, value=1.0), zeros(patch, 3, value=2.0)
    first, second = delay_of(patch, one), delay_of(patch, two)
    with Engine(patch, device="host") as engine:
        for frames in (1, 2):
            for a, b in ((one, two), (two, one)):
                patch.connect(a["out"], first["x"])
                patch.connect(b["out"], second["x"])
                engine.step()
                for _ in range(frames):
                    engine.step()
                    wanted = (1.0, 2.0) if a is one else (2.0, 1.0)
                    assert (read(engine, first)[0], read(engine, second)[0]) == wanted
                patch.disconnect(first["x"])
                patch.disconnect(second["x"])
                patch.connect(b["out"], first["x"])
                patch.connect(a["out"], second["x"])
                engine.step()
                assert (read(engine, first)[0], read(engine, second)[0]) == wanted


def test_reset_begins_again() -> None:
    """After any number of frames, a reset restores the initial values of delays and zeros in state."""
    patch = Patch()
    delay, more = counter(patch, initial=3.0)
    chained = delay_of(patch, delay, initial=-2.0)
    state = bump(patch, patch.add("buffer.state", shape="2", dtype="f32"))
    with Engine(patch, device="host") as engine:
        for frames in (1, 2, 3, 4):
            for frame in range(frames):
                engine.step()
                assert read(engine, delay) == [3 + frame]
                assert read(engine, more) == [4 + frame]
                assert read(engine, chained) == [2 + frame if frame else -2]
                assert read(engine, state) == [frame + 1] * 2
            engine.post(Reset())


def test_a_new_initial_value_counts_from_the_next_reset() -> None:
    """A new initial value takes effect at the next reset."""
    patch = Patch()
    delay, _ = counter(patch, initial=3.0)
    with Engine(patch, device="host") as engine:
        for _ in range(3):
            engine.step()
        patch.set(delay, initial=50.0)
        engine.step()
        assert read(engine, delay) == [6]
        engine.post(Reset())
        engine.step()
        assert read(engine, delay) == [50]


def test_state_begins_with_an_array() -> None:
    """State begins with its block's array; it restarts with another array or at a reset, and not with an equal one."""
    patch = Patch()
    grow = patch.add("test_small.grow", first=10.0)
    with Engine(patch, device="host") as engine:
        engine.step()
        engine.step()
        assert read(engine, grow) == [2, 3, 4, 12]
        patch.set(grow, unused=1)
        engine.step()
        assert read(engine, grow) == [3, 4, 5, 13]
        other = zeros(patch, 3)
        engine.step()
        assert read(engine, grow) == [4, 5, 6, 14]
        patch.set(grow, first=-1.0)
        engine.step()
        assert read(engine, grow) == [1, 2, 3, 0]
        patch.set(grow, first=7.0)
        patch.remove(other)
        engine.step()
        assert read(engine, grow) == [1, 2, 3, 8]
        patch.set(grow, size=2)
        engine.step()
        assert read(engine, grow) == [1, 8]
        engine.step()
        engine.post(Reset())
        engine.step()
        assert read(engine, grow) == [1, 8]


def test_state_that_is_told_no_array_any_more_begins_with_zeros() -> None:
    """State without its array continues until a reset, then begins with zeros, and restarts with a new array."""
    patch = Patch()
    grow = patch.add("test_small.grow", first=10.0)
    with Engine(patch, device="host") as engine:
        engine.step()
        patch.set(grow, zeros=True)
        engine.step()
        assert read(engine, grow) == [2, 3, 4, 12]
        engine.post(Reset())
        engine.step()
        assert read(engine, grow) == [1, 1, 1, 1]
        patch.set(grow, zeros=False)
        engine.step()
        assert read(engine, grow) == [1, 2, 3, 11]


@pytest.mark.parametrize(
    ("initial", "state", "rule"),
    [
        (np.zeros(3), True, "an array of f32"),
        ([0.0], True, "an array of f32"),
        (np.zeros(3, np.float32), False, "for state"),
        (np.ma.masked_array(np.zeros(3, np.float32), [True, False, False]), True, "no masked elements"),
    ],
)
def test_what_state_holds_at_first_must_be_an_array_of_its_type(initial: Any, state: bool, rule: str) -> None:
    """A wrong initial value of state is refused by the builder with the rule."""
    build = BlockBuilder("test.block", {}, (), {}, None)
    with pytest.raises(BlockCallError, match=rule):
        build.buffer("kept", f32, "[3]", state=state, initial=initial)


def test_a_paused_engine_shows_edits_without_moving_a_delay_on() -> None:
    """A paused engine shows edits any number of times without advancing a delay."""
    patch = Patch()
    delay, more = counter(patch)
    shown = patch.add("math.scale_offset", scale=1.0)
    patch.connect(delay["out"], shown["x"])
    with Engine(patch, device="host") as engine:
        for _ in range(3):
            engine.step()
        assert read(engine, shown) == [2]
        engine.post(SetRunning(False))
        for factor in (2.0, 3.0, 5.0):
            patch.set(shown, scale=factor)
            engine.core.frame(free_running=True)
            assert read(engine, shown) == [2 * factor]
            assert read(engine, more) == [3]
        engine.post(SetRunning(True))
        engine.step()
        assert read(engine, delay) == [3]
        engine.step()
        assert read(engine, delay) == [4]


def test_a_rebuild_of_a_paused_engine_moves_no_delay_on() -> None:
    """Several rebuilds and redraws between two consecutive frames leave delays as they are."""
    patch = Patch()
    delay, more = counter(patch)
    with Engine(patch, device="host") as engine:
        for frames in (3, 2):
            for _ in range(frames):
                engine.step()
            last = read(engine, delay)[0]
            engine.post(SetRunning(False))
            for _ in range(3):
                extra = patch.add("math.scale_offset", scale=10.0)
                patch.connect(more["out"], extra["x"])
                engine.core.frame(free_running=True)
                while engine.core.updates.preparing:
                    engine.core.frame(free_running=True)
                assert read(engine, delay) == [last]
                assert read(engine, extra) == [10 * (last + 1)]
            engine.post(SetRunning(True))
            engine.step()
            assert read(engine, delay) == [last + 1]


def test_a_reset_of_a_paused_engine_shows_the_first_frame_and_plays_it() -> None:
    """A reset while paused shows the first frame, and playing begins with that frame."""
    patch = Patch()
    delay, more = counter(patch, initial=3.0)
    with Engine(patch, device="host") as engine:
        for frames, redraws in ((3, 1), (2, 2), (1, 0), (4, 3)):
            for _ in range(frames):
                engine.step()
            engine.post(SetRunning(False))
            engine.post(Reset())
            for _ in range(redraws):
                engine.core.frame(free_running=True)
                assert (read(engine, delay), read(engine, more)) == ([3], [4])
            engine.post(SetRunning(True))
            for frame in range(3):
                engine.step()
                assert (read(engine, delay), read(engine, more)) == ([3 + frame], [4 + frame])


def test_every_port_of_a_round_is_read_right() -> None:
    """Every block in a round can be read, although these blocks share memory, and reading changes nothing."""
    patch = Patch()
    delay = patch.add("buffer.frame_delay", initial=1.0)
    patch.connect(array(patch, 0, 0, 0)["out"], delay["like"])
    chain = [delay]
    for _ in range(7):
        chain.append(patch.add("math.scale_offset", scale=1.0, offset=1.0))
        patch.connect(chain[-2]["out"], chain[-1]["x"])
    patch.connect(chain[-1]["out"], delay["x"])
    with Engine(patch, device="host") as engine:
        for frame in range(5):
            engine.step()
            for number, node in [*reversed(list(enumerate(chain))), *enumerate(chain)]:
                assert read(engine, node) == [1 + 7 * frame + number] * 3


def test_a_saved_kernel_counts_in_every_frame_of_a_round(kernels: Kernels) -> None:
    """The new kernel runs in every frame even if frames alternate between two graphs."""
    patch = Patch()
    delay = patch.add("buffer.frame_delay", initial=1.0)
    patch.connect(array(patch, 0)["out"], delay["like"])
    scale = patch.add("test_run.scale", factor=2.0)
    patch.connect(delay["out"], scale["x"])
    patch.connect(scale["out"], delay["x"])
    with Engine(patch, device="host") as engine:
        for _ in range(3):
            engine.step()
        assert read(engine, scale) == [8]
        text = (kernels.folder / "scale.cu").read_text()
        engine.post(kernels.write("scale.cu", text.replace("x[i] * factor", "x[i] + factor")))
        for frame in range(1, 6):
            assert engine.step().update_level is (UpdateLevel.CODE if frame == 1 else UpdateLevel.NONE)
            assert read(engine, scale) == [8 + 2 * frame]


def test_a_delay_in_a_loop_is_one_turn_behind() -> None:
    """In a loop, a delay's first iteration reads the last iteration of the previous frame."""
    patch = Patch()
    loop = patch.add("control.for", count=3)
    number = patch.add("buffer.convert", dtype="f32", region=loop)
    patch.connect(loop["index"], number["x"])
    delay = patch.add("buffer.frame_delay", initial=10.0, region=loop)
    patch.connect(number["out"], delay["x"])
    total = add_to(patch, zeros(patch), delay, "out", loop)
    with Engine(patch, device="host") as engine:
        for frame in range(4):
            assert not engine.step().diagnostics
            assert read(engine, total) == [(2 if frame else 10) + 0 + 1]


def test_a_paused_engine_moves_no_delay_in_a_loop_on() -> None:
    """Redraws between two consecutive frames leave delays in a loop as they are."""
    patch = Patch()
    loop = patch.add("control.for", count=3)
    like = array(patch, 0)
    delay = patch.add("buffer.frame_delay", region=loop)
    more = patch.add("math.scale_offset", scale=1.0, offset=1.0, region=loop)
    patch.connect(like["out"], delay["like"])
    patch.connect(delay["out"], more["x"])
    patch.connect(more["out"], delay["x"])
    with Engine(patch, device="host") as engine:
        for frame in range(3):
            engine.step()
            assert read(engine, more) == [3 * (frame + 1)]
            engine.post(SetRunning(False))
            for scale in (1.5, 2.0, 1.0):
                patch.set(more, scale=scale)
                engine.core.frame(free_running=True)
            engine.post(SetRunning(True))


def test_a_delay_in_a_skipped_region_waits() -> None:
    """The delay is one run of its region behind, not one frame."""
    patch = Patch()
    holds, source = zeros(patch), zeros(patch)
    choice = patch.add("control.if")
    patch.connect(holds["out"], choice["condition"])
    delay = patch.add("buffer.frame_delay", initial=-1.0, region=choice)
    patch.connect(source["out"], delay["x"])
    total = add_to(patch, zeros(patch), delay, "out", choice)
    kept = -1.0
    with Engine(patch, device="host") as engine:
        for frame, runs in enumerate([1, 1, 0, 0, 1, 0, 1]):
            patch.set(holds, value=float(runs))
            patch.set(source, value=float(frame))
            engine.step()
            assert read(engine, total) == [kept if runs else 0]
            kept = float(frame) if runs else kept


def test_shapes_that_follow_from_themselves_are_refused_and_healed() -> None:
    """A loop of delays whose shape follows from itself is an error, and connecting `like` corrects the patch."""
    patch = Patch()
    delay, more = patch.add("buffer.frame_delay"), patch.add("math.scale_offset", offset=1.0)
    patch.connect(delay["out"], more["x"])
    patch.connect(more["out"], delay["x"])
    with Engine(patch, device="host") as engine:
        (problem,) = engine.step().diagnostics
        assert problem.node in (delay.id, more.id)
        assert "shape" in problem.message and "delayed" in problem.remedy
        patch.connect(array(patch, 0, 0)["out"], delay["like"])
        assert engine.step().update_level is UpdateLevel.COLD
        engine.step()
        np.testing.assert_array_equal(engine.read(more["out"]), [2, 2])


def test_a_delay_may_connect_a_loop_back_to_itself() -> None:
    """A delay outside a region, between two blocks inside, adds no order, and its shape follows from its source."""
    patch = Patch()
    loop = patch.add("control.for", count=2)
    source = zeros(patch, 2, value=4.0)
    first = patch.add("math.scale_offset", scale=0.5, region=loop)
    patch.connect(source["out"], first["x"])
    delay = delay_of(patch, first, initial=1.0)
    total = add_to(patch, zeros(patch, 2), delay, "out", loop)
    with Engine(patch, device="host") as engine:
        for expected in (1.0, 2.0, 2.0):
            assert not engine.step().diagnostics
            assert read(engine, total) == [2 * expected] * 2


@pytest.mark.parametrize("dtype", ["bf16", "f16", "f64", "u8", "s16", "boolean", "u64"])
@pytest.mark.parametrize("initial", [1.0, 2.5, -1.0, 300.0])
def test_an_initial_value_is_what_a_constant_of_the_type_is(dtype: str, initial: float) -> None:
    """A delay's initial value is that of a constant with the same number, for every element type."""
    patch = Patch()
    constant = patch.add("buffer.constant", dtype=dtype, shape="3", value=initial)
    delay = delay_of(patch, constant, initial=initial)
    with Engine(patch, device="host") as engine:
        engine.step()
        assert read(engine, delay) == read(engine, constant)
