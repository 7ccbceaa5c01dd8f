"""Any port can be read after any frame; fusing, sharing and skipping don't change its contents."""

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest

from tests.runtime import small_blocks
from tests.runtime.small_blocks import array, bump, zeros
from warploom import Engine, Patch
from warploom.engine.compiler.buffers import Lifetime
from warploom.engine.device.device import Device
from warploom.engine.ops import graph_to_json, parse_expression
from warploom.engine.patch.document import NodeRef

_X = np.arange(1000, dtype=np.float32)


@contextmanager
def frames(patch: Patch, device: Device, count: int = 2) -> Iterator[Engine]:
    """Run some frames without an error."""
    with Engine(patch, device=device) as engine:
        for _ in range(count):
            assert not engine.step().diagnostics
        yield engine


def fed(patch: Patch, type_id: str, source: NodeRef, region: NodeRef | str = "", name: str = "x") -> NodeRef:
    """Place a block that reads another one."""
    made = patch.add(type_id, region=region)
    patch.connect(source["out"], made[name])
    return made


def taken_if(patch: Patch, condition: float = 1.0) -> NodeRef:
    return fed(patch, "control.if", array(patch, condition), name="condition")


def stored(engine: Engine, node: NodeRef) -> bool:
    compiled = engine.core.updates.compiled
    assert compiled is not None
    return compiled.plan.buffers.allocations[node["out"]].lifetime is not Lifetime.FUSED


def test_what_was_fused_in_a_region_is_computed_again(device: Device) -> None:
    """A buffer that was fused into two reductions, and so never stored, is computed again when it is read."""
    patch = Patch()
    region = taken_if(patch)
    numbers = patch.add("io.array", data=_X)
    add = patch.add("math.add", region=region)
    patch.connect(numbers["out"], add["x"])
    patch.connect(numbers["out"], add["y"])
    totals = [fed(patch, "reduce.sum", add, region) for _ in range(2)]
    with frames(patch, device) as engine:
        assert not stored(engine, add)
        np.testing.assert_array_equal(engine.read(add["out"]), 2 * _X)
        assert [engine.read(total["out"]) for total in totals] == [2 * _X.sum()] * 2


def test_results_of_one_fused_kernel_share_memory_as_others_do(device: Device) -> None:
    """Results of one fused kernel share memory as other buffers do."""
    patch = Patch()
    numbers = patch.add("io.array", data=_X)
    add = patch.add("math.add")
    patch.connect(numbers["out"], add["x"])
    patch.connect(numbers["out"], add["y"])
    totals = [fed(patch, "reduce.sum", add) for _ in range(2)]
    both = patch.add("math.add")
    for total, name in zip(totals, "xy", strict=True):
        patch.connect(total["out"], both[name])
    with frames(patch, device) as engine:
        compiled = engine.core.updates.compiled
        assert compiled is not None
        assert {total["out"] for total in totals} <= compiled.plan.placement.offsets.keys()
        assert not {total["out"] for total in totals} & compiled.plan.placement.lasting


@pytest.mark.parametrize("kind", ["control.if", "control.if_else", "control.for", "control.while"])
def test_a_body_that_did_not_run_holds_defaults(device: Device, kind: str) -> None:
    """Ports that only blocks inside read have their default too, even if the body ran in an earlier frame."""
    patch = Patch()
    condition = array(patch, 1.0)
    region = patch.add(kind, **({"limit": 1} if kind == "control.while" else {}))
    patch.connect(condition["out"], region["counts" if kind == "control.for" else "condition"])
    noise = patch.add("image.noise", region=region, width=8, height=4)
    copied = fed(patch, "buffer.copy", noise, region)
    fill = patch.add("buffer.constant", region=region, shape="7", value=3.0)
    made = patch.add(small_blocks.Make.id, region=region, node_id="made")
    inner = fed(patch, "math.scale_offset", made, region)
    last = [fed(patch, "buffer.copy", node, region) for node in (copied, fill, inner)]
    ports = [node["out"] for node in (noise, copied, fill, inner, *last)]
    with Engine(patch, device=device) as engine, Engine(patch, device=device, share=False) as plain:
        for value in (1.0, 0.0, 1.0, 0.0, 0.0):
            patch.set(condition, data=np.array([value], np.float32))
            engine.step(), plain.step()
            for port in ports:
                held = engine.read(port)
                assert held.any() == (value != 0)
                np.testing.assert_array_equal(held, plain.read(port))
            expected = [7.0 if value else 1.5] * 3
            assert engine.read(made["out"]).tolist() == plain.read(made["out"]).tolist() == expected


def test_either_branch_and_the_last_turn_count(device: Device) -> None:
    """In a loop with alternating branches, outputs that the last iteration skipped have their default."""
    patch = Patch()
    loop = patch.add("control.for", count=3)
    # 1 or 0 by turns would need a remainder, so 2 decides.
    odd = fed(patch, "buffer.copy", loop_index(patch, loop), loop)
    choice = fed(patch, "control.if_else", odd, loop, name="condition")
    branches = {name: patch.add(small_blocks.Make.id, region=scope) for name, scope in branch_scopes(choice).items()}
    for node, scope in zip(branches.values(), branch_scopes(choice).values(), strict=True):
        fed(patch, "buffer.copy", node, scope)
    with Engine(patch, device=device) as engine:
        for count, taken in ((1, "else"), (2, "then"), (0, ""), (3, "then"), (1, "else")):
            patch.set(loop, count=count)
            engine.step()
            held = {name: engine.read(node["out"]).tolist() for name, node in branches.items()}
            assert held == {name: [7.0 if name == taken else 1.5] * 3 for name in branches}, count


def loop_index(patch: Patch, loop: NodeRef) -> NodeRef:
    """Return a block in a loop that outputs the number of the iteration as f32."""
    made = patch.add("buffer.convert", region=loop, dtype="f32")
    patch.connect(loop["index"], made["x"])
    return made


def branch_scopes(choice: NodeRef) -> dict[str, str]:
    return {"then": choice.id, "else": choice.otherwise}


def test_state_in_a_region_does_not_keep_others_from_being_read(device: Device) -> None:
    """State in a region, which can't run twice to be read, doesn't prevent reads of the region's other buffers."""
    patch = Patch()
    condition = array(patch, 1.0)
    region = fed(patch, "control.if", condition, name="condition")
    grow = patch.add(small_blocks.Grow.id, region=region)
    more = fed(patch, "math.scale_offset", grow, region)
    fed(patch, "buffer.copy", more, region)
    with Engine(patch, device=device) as engine:
        for value, expected in ((1.0, [1, 2, 3, 1]), (0.0, [0, 0, 0, 0]), (1.0, [2, 3, 4, 2])):
            patch.set(condition, data=np.array([value], np.float32))
            engine.step()
            assert engine.read(grow["out"]).tolist() == expected
            assert engine.read(more["out"]).tolist() == expected


def test_reading_takes_little_memory_and_gives_it_back(device: Device) -> None:
    """Computing buffers again for a read takes at most about the graph's memory, and frees it afterwards."""
    patch = Patch()
    node = patch.add("io.image_array", data=np.random.default_rng(1).random((128, 128, 4), np.float32))
    chain = []
    for _ in range(60):
        blur = patch.add("image.gaussian_blur")
        patch.connect(node["out"], blur["image"])
        chain.append(node := blur)
    with frames(patch, device, 1) as engine, Engine(patch, device=device, share=False) as plain:
        pool = engine.core.context.services.pool
        before, most = pool.allocated_bytes, 0
        acquire = pool.acquire

        def watched(*given: object, **named: object) -> object:
            nonlocal most
            made = acquire(*given, **named)
            most = max(most, pool.allocated_bytes)
            return made

        pool.acquire = watched
        for blur in chain[::20]:
            np.testing.assert_array_equal(engine.read(blur["out"]), plain.read(blur["out"]))
        assert before < most <= 2 * before + 2**20
        assert pool.allocated_bytes == before


def test_what_changes_a_buffer_in_place_is_part_of_what_it_holds(device: Device) -> None:
    """A loop's value that is changed in place is read outside and inside."""
    patch = Patch()
    total = zeros(patch)
    loop = patch.add("control.for", count=3)
    inside = bump(patch, total, loop)
    with frames(patch, device) as engine:
        assert engine.read(total["out"]).tolist() == engine.read(inside["out"]).tolist() == [3.0]
        patch.set(loop, count=0)
        engine.step()
        assert engine.read(total["out"]).tolist() == engine.read(inside["out"]).tolist() == [0.0]


def test_a_reader_that_uses_no_element_keeps_no_buffer(device: Device) -> None:
    """The connection only orders the reader; the buffer may be fused away, and can still be read."""
    patch = Patch()
    made = patch.add("buffer.constant", shape="9", value=2.0)
    graph = graph_to_json(parse_expression("x * x", inputs={"x": "f32"}))
    square = patch.add("kernel.graph", graph=graph)
    patch.connect(made["out"], square["x"])
    fed(patch, small_blocks.Make.id, made)
    with frames(patch, device) as engine:
        assert engine.read(square["out"]).tolist() == [4.0] * 9
        assert engine.read(made["out"]).tolist() == [2.0] * 9
