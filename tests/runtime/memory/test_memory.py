"""Memory in the engine: buffers share it, view parts of it, append to it, and free it."""

import random
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fuzzing import many
from tests.runtime.small_blocks import Array, array, bump, zeros
from warploom import Engine, Patch, ProfilingLevel
from warploom.api import Block, BlockBuilder, In, Kernel, Out, f32, port
from warploom.engine.compiler.executable.compiled_graph import CompiledGraph
from warploom.engine.device.device import Device
from warploom.engine.diagnostics import DeviceError, PatchError, Severity
from warploom.engine.patch.changes import PortRef
from warploom.engine.patch.document import NodeRef


def used_bytes(engine: Engine) -> int:
    """Return the bytes that the pool has handed out."""
    return engine.step().statistics.pool_used_bytes


def share(engine: Engine) -> tuple[int, int]:
    """Return the bytes of the arena, and those that its buffers would need without sharing."""
    compiled = engine.core.updates.compiled
    assert compiled is not None
    return compiled.plan.placement.size_bytes, compiled.plan.placement.unshared_bytes


def _random_patch(seed: int) -> tuple[Patch, dict[PortRef, Array], NodeRef]:
    """Return blocks that depend on each other, some in a loop or after an If, and numpy's contents of each port.

    The node returned is a constant that all results depend on by addition: `results + value * weights`.
    """
    rng = random.Random(seed)
    patch = Patch()
    size = rng.choice([1, 63, 64, 257])
    data = np.random.default_rng(seed).integers(-8, 8, size).astype(np.float32)
    base = zeros(patch, size)
    source = patch.add("io.array", data=data)
    made: list[tuple[PortRef, Array]] = [(base["out"], np.zeros(size, np.float32)), (source["out"], data)]
    expected: dict[PortRef, Array] = {source["out"]: data}
    for _ in range(rng.randint(5, 25)):
        kind = rng.choice(["add", "scale", "scale", "loop", "if"])
        port, values = rng.choice(made[-6:])
        if kind == "add":
            other, more = rng.choice(made)
            node = patch.add("math.add")
            patch.connect(port, node["x"])
            patch.connect(other, node["y"])
            result = values + more
        elif kind == "scale":
            scale, offset = rng.choice([-1.0, 0.5, 1.0]), float(rng.randint(-3, 3))
            node = patch.add("math.scale_offset", scale=scale, offset=offset)
            patch.connect(port, node["x"])
            result = values * np.float32(scale) + np.float32(offset)
        elif kind == "loop":
            turns = rng.randint(0, 3)
            copy, loop = patch.add("buffer.copy"), patch.add("control.for", count=turns)
            patch.connect(port, copy["x"])
            step = patch.add("math.scale_offset", scale=0.5, offset=2.0, region=loop)
            patch.connect(copy["out"], step["x"])
            node = patch.add("buffer.assign", region=loop)
            patch.connect(copy["out"], node["target"])
            patch.connect(step["out"], node["value"])
            result = values
            for _ in range(turns):
                result = result * np.float32(0.5) + np.float32(2)
            expected[step["out"]] = result if turns else np.zeros(size, np.float32)
            if not turns:
                del expected[step["out"]]  # no block outside reads the port, so the port need not have its default
        else:
            holds = rng.choice([0, 1])
            region = patch.add("control.if")
            patch.connect(array(patch, holds)["out"], region["condition"])
            node = patch.add("math.scale_offset", scale=1.0, offset=1.0, region=region)
            patch.connect(port, node["x"])
            after = patch.add("math.scale_offset", scale=1.0, offset=1.0)
            patch.connect(node["out"], after["x"])
            result = values + np.float32(1) if holds else np.zeros(size, np.float32)
            made.append((after["out"], result + np.float32(1)))
            expected[after["out"]] = made[-1][1]
        made.append((node["out"], result))
        expected[node["out"]] = result
    return patch, expected, base


@given(st.integers(0, 10_000))
@settings(max_examples=many(12))
def test_every_port_can_be_read_after_a_frame(seed: int) -> None:
    """Although blocks share memory, each port equals numpy's, in any order and repeatedly."""
    patch, expected, _ = _random_patch(seed)
    rng = random.Random(seed)
    with Engine(patch, device="host") as engine:
        for _ in range(2):
            assert not [d for d in engine.step().diagnostics if d.severity is Severity.ERROR]
            before = engine.core.context.services.pool.used_bytes
            ports = rng.choices(list(expected), k=2 * len(expected))
            for port in ports:
                np.testing.assert_array_equal(engine.read(port), expected[port], err_msg=str(port))
            assert engine.core.context.services.pool.used_bytes == before


def test_blocks_of_a_chain_share_memory_and_can_all_be_read() -> None:
    """A hundred blocks in a row share a few buffers, and each block's output can be read."""
    patch = Patch()
    last = zeros(patch, 1000, value=1.0)
    chain = []
    for _ in range(100):
        node = patch.add("math.scale_offset", scale=1.0, offset=1.0)
        patch.connect(last["out"], node["x"])
        chain.append(node)
        last = node
    with Engine(patch, device="host", fuse=False) as engine:
        engine.step()
        arena, unshared = share(engine)
        assert arena <= 3 * 4096 and unshared >= 99 * 4000
        for number, node in enumerate(chain):
            assert set(engine.read(node["out"]).tolist()) == {number + 2.0}


def test_values_from_state_are_read_as_the_frame_had_them() -> None:
    """A sum over frames is read before and after its addition, and reading adds nothing."""
    patch = Patch()
    state = patch.add("buffer.state", shape="5", dtype="f32")
    before = patch.add("math.scale_offset", scale=10.0)
    patch.connect(state["out"], before["x"])
    more = patch.add("math.scale_offset", offset=0.5)
    patch.connect(before["out"], more["x"])
    changed = bump(patch, state)
    after = patch.add("math.scale_offset", scale=10.0)
    patch.connect(changed["out"], after["x"])
    chain = [after]
    for _ in range(4):
        chain.append(patch.add("math.scale_offset", offset=1.0))
        patch.connect(chain[-2]["out"], chain[-1]["x"])
    with Engine(patch, device="host") as engine:
        for frame in range(4):
            engine.step()
            for _ in range(2):
                for node, value in ((before, 10 * frame), (more, 10 * frame + 0.5), (changed, frame + 1)):
                    assert engine.read(node["out"]).tolist() == [value] * 5
                for number, node in enumerate(chain):
                    assert engine.read(node["out"]).tolist() == [10 * (frame + 1) + number] * 5


def test_a_read_sees_the_frame_that_was_and_not_an_edit_that_waits() -> None:
    """A read returns the values of the last frame, even if a parameter was set since."""
    patch = Patch()
    chain = [zeros(patch, 10, value=1.0)]
    for _ in range(8):
        chain.append(patch.add("math.scale_offset", scale=2.0))
        patch.connect(chain[-2]["out"], chain[-1]["x"])
    with Engine(patch, device="host") as engine:
        engine.step()
        patch.set(chain[0], value=5.0)
        patch.set(chain[3], scale=0.0)
        for power, node in enumerate(chain):
            assert engine.read(node["out"]).tolist() == [2.0**power] * 10
        engine.step()
        assert engine.read(chain[2]["out"]).tolist() == [20.0] * 10
        assert engine.read(chain[5]["out"]).tolist() == [0.0] * 10


def test_a_refused_build_leaves_no_memory_behind() -> None:
    """Builds that fail, even three times in a row, leave no memory in use."""

    class Wrong(Block, id="test_small.wrong"):
        """Passes too few arguments to a kernel."""

        x: In[f32] = port(doc="Numbers.")
        out: Out[f32] = port(shape="same(x)", doc="Nothing.")

        def describe(self, build: BlockBuilder) -> None:
            build.launch(
                Kernel(str(Path(__file__).parents[1] / "small_blocks.cu"), "bump"), num_threads=1, args=(self.out,)
            )

    patch = Patch()
    source, delay = zeros(patch, 300), patch.add("buffer.frame_delay")
    patch.connect(source["out"], delay["x"])
    with Engine(patch, device="host") as engine:
        used = used_bytes(engine)
        wrong, second = patch.add("test_small.wrong"), patch.add("buffer.frame_delay")
        patch.connect(source["out"], wrong["x"])
        patch.connect(wrong["out"], second["x"])
        for _ in range(3):
            assert [d.node for d in engine.step().diagnostics] == [wrong.id]
            assert engine.core.context.services.pool.used_bytes == used
            patch.set(source, value=1.0 + patch.value(source, "value"))
        patch.remove(second)
        patch.remove(wrong)
        assert not engine.step().diagnostics
        assert used_bytes(engine) == used


@pytest.mark.parametrize("profiling", ProfilingLevel)
def test_a_graph_that_cannot_be_instantiated_is_freed(
    monkeypatch: pytest.MonkeyPatch, profiling: ProfilingLevel
) -> None:
    """If a graph can't be instantiated, the previous one continues, and a later attempt succeeds."""
    patch = Patch()
    source = zeros(patch, 300)
    pour = patch.add("test_small.pour", capacity=200)
    patch.connect(source["out"], pour["x"])

    def refuse(graph: CompiledGraph, stream: object) -> None:
        raise DeviceError("no room")

    with Engine(patch, device="host", profiling=profiling) as engine:
        assert engine.step().counts == {str(pour["out"]): 200}
        used = engine.core.context.services.pool.used_bytes
        with monkeypatch.context() as refusing:
            refusing.setattr(CompiledGraph, "upload", refuse)
            last = bump(patch, source)
            for least in (-1.0, -2.0):
                report = engine.step()
                assert any("no room" in problem.message for problem in report.diagnostics)
                assert report.counts == {str(pour["out"]): 200}
                assert engine.core.context.services.pool.used_bytes == used
                patch.set(pour, least=least)  # the value may be the same as before
        patch.set(last, amount=2.0)
        assert not any("no room" in problem.message for problem in engine.step().diagnostics)
        assert engine.read(last["out"]).tolist() == [2.0] * 300
    pool = engine.core.context.services.pool
    assert (pool.used_bytes, pool.allocated_bytes) == (0, 0)


def _edit(patch: Patch, base: NodeRef, loop: NodeRef, rng: random.Random, *, undo: bool) -> None:
    """Change something, and leave no block without its input."""
    kind = rng.choice(["scale", "delay", "pour", "in loop", "remove", "remove", "undo", "size", "rewire", "rewire"])
    nodes = [patch[n] for n in patch.nodes if n not in (base.id, loop.id)]
    blocks = {"scale": "math.scale_offset", "in loop": "math.scale_offset", "delay": "buffer.frame_delay"}
    if kind in (*blocks, "pour"):
        with patch.edit("Add and connect"):
            node = patch.add(blocks.get(kind, "test_small.pour"), region=loop if kind == "in loop" else "")
            patch.connect(rng.choice([base, *nodes])["out"], node["x"])
    elif kind == "undo":
        if undo:
            patch.undo()
    elif kind == "size":
        patch.set(base, shape=rng.choice(["100", "300"]))
    elif nodes:
        node = rng.choice(nodes)
        with patch.edit("Rewire"):
            for connection in patch.connections_of(node.id):
                if connection.source.node == node.id:
                    patch.connect(base["out"], connection.target)
            if kind == "remove":
                patch.remove(node)


@given(st.integers(0, 1000))
@settings(max_examples=many(8))
def test_nothing_leaks_over_many_edits(seed: int) -> None:
    """After edits the pool has handed out little more than for a new engine; removed blocks keep no memory."""
    rng = random.Random(seed)
    patch = Patch()
    base, loop = zeros(patch, 100), patch.add("control.for", count=2)
    patch.add("buffer.state", shape="100", dtype="f32")
    start = len(patch.history.names)
    with Engine(patch, device="host") as engine:
        for _ in range(30):
            with suppress(PatchError):  # an edit that would close a cycle changes nothing
                _edit(patch, base, loop, rng, undo=len(patch.history.names) > start)
            if rng.random() < 0.5:
                engine.step()
        assert not [d for d in engine.step().diagnostics if d.severity is Severity.ERROR]
        with Engine(patch, device="host") as fresh:
            # A buffer that shrank keeps its room: from 300 elements to 100. Sizes are rounded to powers of 2.
            assert used_bytes(fresh) / 2 <= used_bytes(engine) <= 4 * used_bytes(fresh)
        for node in list(patch.nodes):
            patch.remove(node)
        with Engine(Patch(), device="host") as empty:
            assert used_bytes(engine) == used_bytes(empty)


def test_a_buffer_read_before_it_is_written_begins_with_zeros_after_every_edit(device: Device) -> None:
    """After an edit, a buffer that is read before it is written begins with zeros, as in a new engine."""
    patch = Patch()
    echo = patch.add("test_small.echo")
    patch.connect(array(patch, 3, 4)["out"], echo["x"])
    made = patch.add("test_small.make", count=8)
    with Engine(patch, device=device) as engine:
        for edit in (lambda: patch.add("test_small.make"), lambda: patch.set(made, count=9)):
            for expected in ([0, 0], [3, 4], [3, 4]):
                engine.step()
                assert engine.read(echo["out"]).tolist() == expected
            edit()
        engine.step()
        assert engine.read(echo["out"]).tolist() == [0, 0]
