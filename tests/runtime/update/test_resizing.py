"""A resize is made in place while every buffer still fits, with the result of a rebuild."""

import random
from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest

import tests.runtime.small_blocks  # noqa: F401 - defines block types
from tests.fuzzing import many
from tests.runtime.conftest import SCALE, Kernels
from tests.runtime.update.update_support import argument_blocks
from warploom import Engine, Patch, ProfilingLevel, UpdateLevel
from warploom.engine.compiler.executable.compiled_graph import Variant
from warploom.engine.compiler.executable.nodes import KernelNode
from warploom.engine.device.device import Device
from warploom.engine.diagnostics import DeviceError, Severity
from warploom.engine.patch.changes import PortRef
from warploom.engine.patch.document import NodeRef
from warploom.engine.protocol.messages import Reset

EDITS = many(12)
HOT, WARM, CODE, COLD = UpdateLevel.HOT, UpdateLevel.WARM, UpdateLevel.CODE, UpdateLevel.COLD


def then(patch: Patch, source: NodeRef, type_id: str, **values: object) -> NodeRef:
    """Place a block that reads another one."""
    node = patch.add(type_id, **values)
    patch.connect(source["out"], node["x"])
    return node


def plain(patch: Patch) -> None:
    """A chain with a branch, and state that grows with it."""
    made = patch.add("test_small.make", node_id="size", count=100)
    patch.add("test_run.count", node_id="count", size=100)
    first = then(patch, made, "test_run.scale")
    second = then(patch, first, "test_run.scale", factor=0.5)
    added = patch.add("math.add")
    patch.connect(first["out"], added["x"])
    patch.connect(second["out"], added["y"])
    then(patch, added, "buffer.slice")
    then(patch, added, "test_small.pour", node_id="pour", capacity=50)


def loop(patch: Patch) -> None:
    """A loop that changes a buffer outside it in place."""
    made = patch.add("test_small.make", node_id="size", count=100)
    patch.add("test_run.count", node_id="count", size=100)
    bump = patch.add("test_small.bump", region=patch.add("control.for", count=3))
    patch.connect(made["out"], bump["x"])
    then(patch, bump, "test_run.scale")


def branch(patch: Patch) -> None:
    """An If with a default that is filled in before it."""
    made = patch.add("test_small.make", node_id="size", count=100)
    patch.add("test_run.count", node_id="count", size=100)
    choice = patch.add("control.if")
    patch.connect(patch.add("test_small.make", count=1)["out"], choice["condition"])
    inside = patch.add("test_run.scale", region=choice)
    patch.connect(made["out"], inside["x"])
    then(patch, inside, "test_run.scale", factor=3.0)


def feedback(patch: Patch) -> None:
    """A feedback of the previous frame's result, beside state."""
    patch.add("test_run.count", node_id="count", size=100)
    made = patch.add("test_small.make", node_id="size", count=100)
    delay, add = patch.add("buffer.frame_delay", initial=2.0), patch.add("math.add")
    patch.connect(made["out"], delay["like"])
    patch.connect(delay["out"], add["x"])
    patch.connect(made["out"], add["y"])
    patch.connect(add["out"], delay["x"])


def composite(patch: Patch) -> None:
    """Kernels in a child graph, and a copy that a resize changes."""
    patch.add("test_run.count", node_id="count", size=100)
    made = patch.add("test_small.make", node_id="size", count=100)
    then(patch, then(patch, made, "test_run.scale"), "test_small.sum3")


def contents(engine: Engine, patch: Patch) -> dict[str, bytes]:
    """Return every output of the last frame; elements of an append buffer beyond its count are left out."""
    return {
        str(port): engine.read(port).tobytes()
        for node in sorted(patch.nodes)
        for spec in patch.block_type(node).outputs()  # type: ignore[union-attr]
        if not spec.append and (port := PortRef(node, spec.name))
    }


SIZES = {"size": "count", "count": "size", "pour": "capacity"}


@pytest.mark.parametrize("profiling", [ProfilingLevel.NONE, ProfilingLevel.PER_KERNEL])
@pytest.mark.parametrize("build", [plain, loop, branch, feedback, composite])
def test_a_resize_in_place_gives_what_a_rebuild_gives(
    kernels: Kernels, device: Device, build: Callable[[Patch], None], profiling: ProfilingLevel
) -> None:
    """Resized up and down with live values changed in between, each frame has the bits of a rebuild, state included."""
    chance, patch = random.Random(f"{build.__name__} {profiling}"), Patch()
    build(patch)
    levels: list[UpdateLevel] = []
    with (
        Engine(patch, device=device, profiling=profiling) as engine,
        Engine(patch, device=device, profiling=profiling) as rebuilt,
    ):
        engine.step(), rebuilt.step()
        for _ in range(EDITS):
            node = chance.choice([name for name in SIZES if name in patch.nodes])
            size = chance.choice((1, 2, 63, 64, 65, 99, 127, 128, 129, 257, 1000, 4097))
            patch.set(node, **{SIZES[node]: size})
            if chance.random() < 0.5:
                scale = next((n for n in patch.nodes if n.startswith("scale")), "size")
                patch.set(scale, **{"value" if scale == "size" else "factor": chance.random()})
            rebuilt.core.updates.rebuild("twin")
            report = engine.step()
            rebuilt.step()
            assert not any(item.severity is Severity.ERROR for item in report.diagnostics)
            levels.append(report.update_level)
            assert contents(engine, patch) == contents(rebuilt, patch)
            for _ in range(chance.randrange(3)):
                engine.step(), rebuilt.step()
                assert contents(engine, patch) == contents(rebuilt, patch)
            shown, wanted = engine.step().buffers, rebuilt.step().buffers
            assert {k: b.shape for k, b in shown.items()} == {k: b.shape for k, b in wanted.items()}
        for each in (engine, rebuilt):
            each.post(Reset())
            each.step()
        assert contents(engine, patch) == contents(rebuilt, patch)
    assert set(levels) <= {UpdateLevel.NONE, HOT, WARM, COLD}
    assert levels.count(WARM) >= len(levels) // (6 if build in (branch, composite) else 2), levels


def test_a_dragged_size_gets_other_memory_now_and_then(device: Device) -> None:
    """While a size is dragged between 1,000 and 64,000 elements, the memory's size changes at most seven times."""
    patch = Patch()
    made = patch.add("test_small.make", node_id="size", count=1000)
    for _ in range(20):
        made = then(patch, made, "math.scale_offset")
    levels, arenas = [], []
    with Engine(patch, device=device) as engine:
        engine.step()
        for count in [*range(1500, 64000, 1500), *range(64000, 1000, -3000)]:
            patch.set("size", count=count)
            levels.append(engine.step().update_level)
            assert engine.read(made["out"]).shape == (count,)
            arenas.append(engine.core.updates.compiled.plan.placement.size_bytes)  # type: ignore[union-attr]
    assert set(levels) == {WARM}
    assert sum(a != b for a, b in pairwise(arenas)) <= 7


def test_edits_go_on_from_what_was_changed_in_place(kernels: Kernels, device: Device) -> None:
    """After a resize in place, a live value, another kernel, a new block and another size take effect."""
    patch = Patch()
    made = patch.add("test_small.make", node_id="size", count=60)
    last = then(patch, made, "test_run.scale", node_id="scale")
    with Engine(patch, device=device) as engine:
        engine.step()
        patch.set("size", count=64)
        assert engine.step().update_level is WARM
        patch.set("scale", factor=3.0)
        assert engine.step().update_level is HOT
        assert engine.read(last["out"]).tolist() == [21.0] * 64
        engine.post(kernels.write("scale.cu", SCALE.replace("x[i] * factor", "x[i] * factor + 100")))
        assert engine.step().update_level is CODE
        assert engine.read(last["out"]).tolist() == [121.0] * 64
        before = argument_blocks(engine)
        more = then(patch, last, "math.scale_offset", scale=2.0)
        assert engine.step().update_level is COLD
        assert not before.keys().isdisjoint(argument_blocks(engine))
        assert engine.read(more["out"]).tolist() == [242.0] * 64
        patch.set("size", count=33)
        assert engine.step().update_level is WARM
        assert engine.read(more["out"]).tolist() == [242.0] * 33
        patch.undo()
        assert engine.step().update_level is WARM
        assert engine.read(more["out"]).tolist() == [242.0] * 64


def test_a_fill_or_a_copy_of_another_size_is_rebuilt(device: Device) -> None:
    """A resize that changes a fill or a copy is a COLD rebuild, since only kernels are changed in place."""
    patch = Patch()
    made = patch.add("test_small.make", node_id="size", count=60)
    copy = then(patch, made, "test_small.take")
    with Engine(patch, device=device) as engine:
        engine.step()
        patch.set("size", count=61)
        assert engine.step().update_level is COLD
        assert engine.read(copy["out"]).tolist() == [7.0] * 61


def test_updates_that_the_device_refuses_in_place_are_rebuilt(
    kernels: Kernels, device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If the device refuses an update in place, the updates before it are reverted, and the graph is rebuilt."""
    patch = Patch()
    made = patch.add("test_small.make", node_id="size", count=60)
    last = then(patch, then(patch, made, "test_run.scale"), "test_run.scale")
    update, calls = Variant.update, list[KernelNode]()

    def refuse(variant: Variant, node: KernelNode) -> None:
        calls.append(node)
        if len(calls) == 2:
            raise DeviceError("no")
        update(variant, node)

    with Engine(patch, device=device) as engine:
        used = engine.step().statistics.pool_used_bytes
        monkeypatch.setattr(Variant, "update", refuse)
        patch.set("size", count=50)
        report = engine.step()
        assert report.update_level is COLD and not report.diagnostics
        assert report.updates[-1].cause == "count of size, which the device does not take in place"
        assert len(calls) == 4  # two updates and their reversal
        assert engine.read(last["out"]).tolist() == [28.0] * 50
        assert report.statistics.pool_used_bytes == used


def test_memory_is_neither_lost_nor_given_back_twice(kernels: Kernels, device: Device) -> None:
    """State of another size gets new memory and frees its own; nothing is left when the engine is closed."""
    patch = Patch()
    patch.add("test_run.count", node_id="count", size=100)
    patch.add("io.array", node_id="data", data=np.zeros(100, np.float32))
    with Engine(patch, device=device) as engine:
        used = engine.step().statistics.pool_used_bytes
        for size in (90, 100, 64, 100, 127, 100):
            patch.set("count", size=size)
            patch.set("data", data=np.zeros(size, np.float32))
            report = engine.step()
            assert (report.statistics.pool_used_bytes == used) is (size > 64)  # a bucket is a power of two
        pool = engine.core.context.services.pool
    assert (pool.used_bytes, pool.allocated_bytes) == (0, 0)
