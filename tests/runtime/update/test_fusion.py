"""Fused kernels in a running patch: what is told of them, what undoes them, and what can still be read."""

import numpy as np
import pytest

from engine import Engine, Patch, ProfilingLevel, UpdateLevel
from engine.compiler.operations import FusedEntry
from engine.device.device import Device
from engine.diagnostics import KernelError, KernelFault
from engine.kernel_sources.image import KernelImage
from engine.kernel_sources.loader import load_image
from engine.kernel_sources.sources import KernelSource, OpGraphSource
from engine.ops import GraphBuilder, graph_to_json
from engine.patch.document import NodeRef
from engine.protocol.messages import FrameReport, NodeState, SetFusing, SetProfiling
from engine.runtime.report.diagnostics_store import fault_diagnostic
from engine.types import NAMED
from tests.runtime.update.test_fusion_law import computing

_X = np.linspace(-3, 3, 1027, dtype=np.float32)


def chain(*texts: str) -> tuple[Patch, list[NodeRef]]:
    """Return a patch in which each block reads the one before."""
    patch = Patch()
    nodes = [patch.add("io.array", data=_X)]
    for text in texts:
        nodes.append(computing(patch, text, [nodes[-1]]))
    return patch, nodes[1:]


def kernels(report: FrameReport, nodes: list[NodeRef]) -> list[str | int]:
    """Return of each node into which one it is fused, or how many kernels it has."""
    return [report.nodes[node.id].fused_into or report.nodes[node.id].kernels for node in nodes]


def test_a_report_says_which_block_tells_the_time(device: Device) -> None:
    """All of them run; only the last one is timed."""
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
    """They have the same name, and each is a HOT update."""
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
    """Of elements of any type, which are narrowed as if they were stored."""
    g = GraphBuilder()
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
    """A viewer, or another reader; both can be read all the same."""
    patch, nodes = chain("x * k", "x + k")
    total = patch.add("reduce.sum")
    patch.connect(nodes[1]["out"], total["x"])
    expected = float(np.sum((_X + np.float32(1)).astype(np.float64)))
    with Engine(patch, device=device) as engine:
        assert kernels(engine.step(), [*nodes, total]) == [total.id, total.id, 2]
        other = computing(patch, "-x", [nodes[1]])
        assert kernels(engine.step(), [*nodes, total, other]) == [nodes[1].id, 1, 2, 1]
        np.testing.assert_allclose(engine.read(total["out"]), expected, rtol=1e-6)
        patch.remove(other)
        assert kernels(engine.step(), [*nodes, total]) == [total.id, total.id, 2]
        np.testing.assert_allclose(engine.read(total["out"]), expected, rtol=1e-6)
        np.testing.assert_array_equal(engine.read(nodes[0]["out"]), _X)


def test_a_reader_that_is_not_fused_undoes_it_while_it_is_connected(device: Device) -> None:
    """The buffer between is stored for it."""
    patch, nodes = chain("x * k", "x + k")
    with Engine(patch, device=device) as engine:
        assert kernels(engine.step(), nodes) == [nodes[1].id, 1]
        total = patch.add("reduce.sum")
        patch.connect(nodes[0]["out"], total["x"])
        assert kernels(engine.step(), nodes) == [1, 1]
        expected = float(np.sum(_X.astype(np.float64)))
        np.testing.assert_allclose(float(engine.read(total["out"])[0]), expected, atol=1e-2)
        patch.remove(total)
        assert kernels(engine.step(), nodes) == [nodes[1].id, 1]


def test_profiling_each_kernel_undoes_it(device: Device) -> None:
    """Each block then has a time of its own."""
    patch, nodes = chain("x * k", "x + k")
    with Engine(patch, device=device) as engine:
        engine.step()
        engine.post(SetProfiling(ProfilingLevel.PER_KERNEL))
        report = engine.step()
        assert kernels(report, nodes) == [1, 1]
        assert all(report.nodes[node.id].time_ns is not None for node in nodes)
        engine.post(SetProfiling(ProfilingLevel.PER_BLOCK))
        assert kernels(engine.step(), nodes) == [nodes[1].id, 1]


def test_a_switch_turns_it_off(device: Device) -> None:
    """From the start, or while the patch runs."""
    patch, nodes = chain("x * k", "x + k")
    with Engine(patch, device=device, fuse=False) as engine:
        assert kernels(engine.step(), nodes) == [1, 1]
        engine.post(SetFusing(True))
        assert kernels(engine.step(), nodes) == [nodes[1].id, 1]


def test_blocks_run_by_themselves_when_their_kernel_does_not_load(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fusion never keeps a patch from running."""

    def load(source: KernelSource, architecture: str) -> KernelImage:
        if isinstance(source, OpGraphSource) and '"s1/' in source.graph:
            raise KernelError("no fused kernel loads here")
        return load_image(source, architecture)

    monkeypatch.setattr("engine.runtime.model.module_cache.load_image", load)
    patch, nodes = chain("x * k", "x + k")
    with Engine(patch, device="host") as engine:
        report = engine.step()
        assert kernels(report, nodes) == [1, 1] and report.diagnostics == ()
        np.testing.assert_array_equal(engine.read(nodes[1]["out"]), _X + np.float32(1))


def test_a_fault_names_the_block_whose_op_failed() -> None:
    """A fused kernel has lines for the ops of each."""
    patch, nodes = chain("x * k", "x + k", "-x")
    with Engine(patch, device="host") as engine:
        engine.step()
        compiled = engine.core.updates.compiled
        assert compiled is not None
        (entry,) = (o.entry for o in compiled.plan.operations if isinstance(o.entry, FusedEntry))
        assert isinstance(entry.kernel.source, OpGraphSource)
        for line, op in enumerate(entry.kernel.source.kernel().ops, 1):
            number = int(op.partition("/")[0].removeprefix("s"))
            fault = KernelFault("kernel failed", kernel="kernel", source_line=line)
            assert fault_diagnostic(fault, compiled).node == nodes[number].id
        told = fault_diagnostic(KernelFault("kernel failed", kernel="kernel"), compiled)
        assert told.node is None and all(node.id in told.message for node in nodes)
