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
from engine.patch.document import NodeRef
from engine.protocol.messages import FrameReport, NodeState, SetFusing, SetProfiling
from engine.runtime.report.diagnostics_store import fault_diagnostic
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
