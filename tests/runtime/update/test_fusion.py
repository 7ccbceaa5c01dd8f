"""Fused kernels in a running patch: their reports, the edits that undo them, and the ports that can still be read."""

import numpy as np
import pytest

from tests.runtime.update.update_support import contents, outputs
from warploom import Engine, Patch, ProfilingLevel, UpdateLevel
from warploom.engine.compiler.operations import FusedEntry
from warploom.engine.device.device import Device
from warploom.engine.diagnostics import KernelError, KernelFault
from warploom.engine.kernel_sources import op_graphs
from warploom.engine.kernel_sources.image import KernelImage
from warploom.engine.kernel_sources.loader import load_image
from warploom.engine.kernel_sources.sources import KernelSource, OpGraphSource
from warploom.engine.ops import OpGraphBuilder, graph_to_json, parse_expression
from warploom.engine.patch.document import NodeRef
from warploom.engine.protocol.messages import FrameReport, NodeState, SetFusing, SetProfiling
from warploom.engine.runtime.report.faults import find_fault
from warploom.engine.types import NAMED

_X = np.linspace(-3, 3, 1027, dtype=np.float32)


def computing(patch: Patch, text: str, sources: list[NodeRef]) -> NodeRef:
    """Add a block that computes an expression of x, or of x and y, which are other blocks' outputs."""
    inputs = dict.fromkeys("xy"[: 1 + ("y" in text)], "f32")
    node = patch.add("kernel.graph", graph=graph_to_json(parse_expression(text, inputs=inputs)))
    for name, source in zip(inputs, sources, strict=False):
        patch.connect(source["out"], node[name])
    return node


def chain(*texts: str) -> tuple[Patch, list[NodeRef]]:
    """Return a patch in which each block reads the previous one."""
    patch = Patch()
    nodes = [patch.add("io.array", data=_X)]
    for text in texts:
        nodes.append(computing(patch, text, [nodes[-1]]))
    return patch, nodes[1:]


def kernels(report: FrameReport, nodes: list[NodeRef]) -> list[str | int]:
    """Return for each node the nodes into which it is fused, or its number of kernels."""
    found = [report.nodes[node.id] for node in nodes]
    return [" ".join(node.fused_into) if not node.kernels else node.kernels for node in found]


def test_a_report_says_which_block_tells_the_time(device: Device) -> None:
    """All blocks of a fused chain are reported as running, and only the last one has a time."""
    patch, nodes = chain("x * k", "x + k", "-x")
    with Engine(patch, device=device) as engine:
        report = engine.step()
        assert kernels(report, nodes) == [nodes[2].id, nodes[2].id, 1]
        told = [report.nodes[node.id] for node in nodes]
        assert [node.state for node in told] == [NodeState.OK] * 3
        assert [node.time_ns is not None for node in told] == [False, False, True]
        assert report.buffers[str(nodes[0]["out"])].allocated_bytes == 0
        assert report.buffers[str(nodes[2]["out"])].allocated_bytes > 0


def test_sliders_of_all_blocks_reach_the_kernel(device: Device) -> None:
    """In a fused kernel, sliders of equal names are separate, and each is a HOT update."""
    patch, nodes = chain("x * k", "x + k", "x * x")
    with Engine(patch, device=device) as engine:
        engine.step()
        for first, second in ((2.0, 0.5), (2.0, -7.0), (0.25, -7.0)):
            patch.set(nodes[0], k=first)
            patch.set(nodes[1], k=second)
            assert engine.step().update_level <= UpdateLevel.HOT
            inner = (_X * np.float32(first) + np.float32(second)).astype(np.float32)
            np.testing.assert_array_equal(engine.read(nodes[2]["out"]), inner * inner)
            np.testing.assert_array_equal(engine.read(nodes[1]["out"]), inner)
            np.testing.assert_array_equal(engine.read(nodes[0]["out"]), _X * np.float32(first))


@pytest.mark.parametrize("dtype", ["boolean", "s16", "u64", "bf16", "f64"])
def test_a_reduction_gives_the_same_bits_when_it_takes_its_producer_in(device: Device, dtype: str) -> None:
    """A reduction that is fused with its producer has the bits of separate kernels, for every element type."""
    g = OpGraphBuilder()
    wave = g.add("op.multiply", a=g.add("op.sin", x=g.add("op.input", "x")["value"])["out"], b=90.0)["out"]
    if dtype == "boolean":
        wave = g.add("op.greater", a=wave, b=0.0)["out"]
    elif NAMED[dtype].kind == "integer":
        wave = g.add("op.convert", x=wave, type="s64")["out"]
    g.add("op.output", "out", value=wave, type=dtype)
    patch = Patch()
    x = patch.add("io.array", data=_X)
    waves = [patch.add("kernel.graph", graph=graph_to_json(g.graph())) for _ in range(4)]
    for node in waves:
        patch.connect(x["out"], node["x"])
    totals = [patch.add(f"reduce.{name}") for name in ("sum", "smallest", "largest", "count")]
    for node, total in zip(waves, totals, strict=True):
        patch.connect(node["out"], total["x"])
    with Engine(patch, device=device) as fused, Engine(patch, device=device, fuse=False) as plain:
        for size in (1, 1027, 20_000):
            patch.set(x, data=np.linspace(-40, 7, size, dtype=np.float32))
            reports = [engine.step() for engine in (fused, plain)]
            assert [report.diagnostics for report in reports] == [(), ()]
            assert kernels(reports[0], waves) == [total.id for total in totals]
            assert kernels(reports[1], waves) == [1] * 4
            for total in totals:
                assert fused.read(total["out"]).tobytes() == plain.read(total["out"]).tobytes()
            assert fused.read(totals[3]["out"]) == np.count_nonzero(plain.read(waves[0]["out"]))


def test_whoever_looks_at_what_a_reduction_reads_undoes_it(device: Device) -> None:
    """A reader that is not fused causes the buffer to be stored; all ports can be read in any case."""
    patch, nodes = chain("x * k", "x + k")
    total = patch.add("reduce.sum")
    patch.connect(nodes[1]["out"], total["x"])
    expected = float(np.sum((_X + np.float32(1)).astype(np.float64)))
    with Engine(patch, device=device) as engine:
        assert kernels(engine.step(), [*nodes, total]) == [total.id, total.id, 2]
        other = patch.add("math.saxpy")  # a CUDA C++ kernel, which is not fused
        for port in "xy":
            patch.connect(nodes[1]["out"], other[port])
        assert kernels(engine.step(), [*nodes, total, other]) == [nodes[1].id, 1, 2, 1]
        np.testing.assert_allclose(engine.read(total["out"]), expected, rtol=1e-6)
        patch.remove(other)
        assert kernels(engine.step(), [*nodes, total]) == [total.id, total.id, 2]
        np.testing.assert_allclose(engine.read(total["out"]), expected, rtol=1e-6)
        np.testing.assert_array_equal(engine.read(nodes[0]["out"]), _X)


def test_a_reader_that_is_not_fused_undoes_it_while_it_is_connected(device: Device) -> None:
    """Two blocks run as separate kernels while a third one, which can't be fused, reads the buffer between them."""
    patch, nodes = chain("x * k", "x + k")
    with Engine(patch, device=device) as engine:
        assert kernels(engine.step(), nodes) == [nodes[1].id, 1]
        saxpy = patch.add("math.saxpy", a=1.0)
        for port in "xy":
            patch.connect(nodes[0]["out"], saxpy[port])
        assert kernels(engine.step(), nodes) == [1, 1]
        np.testing.assert_array_equal(engine.read(saxpy["out"]), _X + _X)
        patch.remove(saxpy)
        assert kernels(engine.step(), nodes) == [nodes[1].id, 1]


def test_a_producer_of_two_blocks_is_computed_once_or_again(device: Device) -> None:
    """Readers with equal launches share a producer, and a reduction repeats it; the slider reaches all kernels."""
    patch, nodes = chain("x * k", "x + k")
    other = computing(patch, "x - k", [nodes[0]])
    totals = [patch.add(f"reduce.{name}") for name in ("sum", "largest")]
    with Engine(patch, device=device) as engine:
        report = engine.step()
        assert kernels(report, [*nodes, other]) == [other.id, other.id, 1]
        for total in totals:
            patch.connect(nodes[0]["out"], total["x"])
        report = engine.step()
        assert kernels(report, [*nodes, other, *totals]) == [f"{other.id} {totals[0].id}", other.id, 1, 2, 1]
        assert report.nodes[totals[1].id].fused_into == (totals[0].id,)
        for k in (0.5, -3.0):
            patch.set(nodes[0], k=k)
            assert engine.step().update_level is UpdateLevel.HOT
            made = _X * np.float32(k)
            np.testing.assert_array_equal(engine.read(nodes[1]["out"]), made + np.float32(1))
            np.testing.assert_array_equal(engine.read(other["out"]), made - np.float32(1))
            np.testing.assert_array_equal(engine.read(nodes[0]["out"]), made)
            assert engine.read(totals[1]["out"]) == made.max()
            np.testing.assert_allclose(engine.read(totals[0]["out"]), np.sum(made, dtype=np.float64), atol=1e-3)


def test_fused_kernels_are_measured_as_they_run(device: Device) -> None:
    """Of two fused blocks, the one whose kernel computes both has the time, at any level."""
    patch, nodes = chain("x * k", "x + k")
    with Engine(patch, device=device) as engine:
        for level in (ProfilingLevel.PER_BLOCK, ProfilingLevel.PER_KERNEL):
            engine.post(SetProfiling(level))
            report = engine.step()
            assert kernels(report, nodes) == [nodes[1].id, 1]
            assert [report.nodes[node.id].time_ns is None for node in nodes] == [True, False]


def test_a_switch_turns_it_off(device: Device) -> None:
    """Fusion can be switched off from the start, or while the patch runs."""
    patch, nodes = chain("x * k", "x + k")
    with Engine(patch, device=device, fuse=False) as engine:
        assert kernels(engine.step(), nodes) == [1, 1]
        engine.post(SetFusing(True))
        assert kernels(engine.step(), nodes) == [nodes[1].id, 1]


def test_blocks_run_by_themselves_when_their_kernel_does_not_load(monkeypatch: pytest.MonkeyPatch) -> None:
    """If a fused kernel doesn't load, its blocks run separately, with the same results."""

    def load(source: KernelSource, architecture: str) -> KernelImage:
        if isinstance(source, OpGraphSource) and '"s1/' in source.graph:
            raise KernelError("no fused kernel loads here")
        return load_image(source, architecture)

    monkeypatch.setattr("warploom.engine.runtime.model.module_cache.load_image", load)
    patch, nodes = chain("x * k", "x + k")
    with Engine(patch, device="host") as engine:
        report = engine.step()
        assert kernels(report, nodes) == [1, 1] and report.diagnostics == ()
        np.testing.assert_array_equal(engine.read(nodes[1]["out"]), _X + np.float32(1))


def test_a_fault_names_the_block_whose_op_failed() -> None:
    """A fault in a fused kernel names the block whose op failed, or all of its blocks if the op is unknown."""
    patch, nodes = chain("x * k", "x + k", "-x")
    with Engine(patch, device="host") as engine:
        engine.step()
        compiled = engine.core.updates.compiled
        assert compiled is not None
        (entry,) = (o.entry for o in compiled.plan.operations if isinstance(o.entry, FusedEntry))
        assert isinstance(entry.kernel.source, OpGraphSource)
        for line, op in enumerate(op_graphs.kernel(entry.kernel.source).ops, 1):
            number = int(op.partition("/")[0].removeprefix("s"))
            fault = KernelFault("kernel failed", kernel="kernel", source_line=line)
            assert find_fault(fault, compiled).diagnostic.node == nodes[number].id
        told = find_fault(KernelFault("kernel failed", kernel="kernel"), compiled).diagnostic
        assert told.node is None and all(node.id in told.message for node in nodes)


_PIXELS = np.random.default_rng(5).random((23, 37, 4), np.float32)
#: Chains of blocks, each of which reads the previous one by its first input; "b" is a Mix's second input.
_LIBRARY = {
    "compare": [
        ("io.array", {"data": _X}),
        ("math.compare", {"value": 0.5, "operation": "greater"}),
        ("reduce.count", {}),
    ],
    "bytes": [
        ("io.array", {"data": np.arange(251, dtype=np.uint8)}),
        ("buffer.convert", {"dtype": "f32"}),
        ("math.scale_offset", {"scale": 1.7, "offset": -9.5}),
        ("buffer.convert", {"dtype": "s8"}),
    ],
    "positions": [
        ("buffer.positions", {"shape": "5, 7", "axis": 1}),
        ("buffer.convert", {"dtype": "f16"}),
        ("buffer.convert", {"dtype": "f32"}),
        ("image.color_ramp", {"high": 7.0}),
    ],
    "picture": [
        ("io.image_array", {"data": _PIXELS}),
        ("image.tone", {"gamma": 1.7, "exposure": 0.5}),
        ("image.mix", {"mode": "screen"}),
        ("image.invert", {}),
        ("io.viewer", {"roll_off": 0.3}),
    ],
    "pattern": [("image.gradient", {"width": 37, "height": 23}), ("image.mix", {"mode": "difference"})],
    "fill": [("buffer.fill", {"count": 77, "value": 0.1}), ("math.add", {})],
}


def library_chain(name: str) -> tuple[Patch, list[NodeRef]]:
    """Return the patch of a chain in `_LIBRARY`; blocks with two operands read the same buffer twice."""
    patch, nodes = Patch(), list[NodeRef]()
    for block, values in _LIBRARY[name]:
        node = patch.add(block, **values)
        inputs = [spec.name for spec in patch.block_type(node.id).inputs()]
        for port in inputs if block in ("image.mix", "math.add") else inputs[:1]:
            patch.connect(nodes[-1][patch.block_type(nodes[-1].id).outputs()[0].name], node[port])
        nodes.append(node)
    return patch, nodes


@pytest.mark.parametrize("name", _LIBRARY)
def test_element_wise_blocks_of_the_library_are_one_kernel(device: Device, name: str) -> None:
    """A chain of element-wise library blocks is one kernel, and every port has the bits of separate kernels."""
    patch, nodes = library_chain(name)
    with Engine(patch, device=device) as fused, Engine(patch, device=device, fuse=False) as plain:
        report = fused.step()
        plain.step()
        made = [node for node in nodes if not patch.nodes[node.id].type.startswith("io.") or node is nodes[-1]]
        assert {report.nodes[node.id].fused_into for node in made[:-1]} == {(made[-1].id,)}
        ports = outputs(patch)
        assert contents(fused, ports) == contents(plain, ports)


def test_a_mix_takes_in_an_image_of_its_own_size_only(device: Device) -> None:
    """A Mix is fused only with an image of its own size, since it reads another one at other positions."""
    patch = Patch()
    below = patch.add("io.image_array", data=_PIXELS)
    above = patch.add("io.image_array", data=_PIXELS[:11])
    tone, mix = patch.add("image.tone", gamma=2.0), patch.add("image.mix", mode="add")
    for source, target in ((above["out"], tone["image"]), (below["out"], mix["a"]), (tone["out"], mix["b"])):
        patch.connect(source, target)
    with Engine(patch, device=device) as engine:
        report = engine.step()
        assert kernels(report, [tone, mix]) == [1, 1]
        patch.connect(below["out"], tone["image"])
        report = engine.step()
        assert kernels(report, [tone, mix]) == [mix.id, 1]
