"""Copies of the running graph are built beside the frames, and used only while that graph stays unchanged."""

import threading
from typing import Any

import numpy as np
import pytest

from tests.runtime.conftest import Kernels
from tests.waiting import next_report
from warploom import Engine, Patch, ProfilingLevel
from warploom.engine.compiler.executable import instrument
from warploom.engine.compiler.executable.build import BuiltGraph, build_graph
from warploom.engine.compiler.executable.clocks import ClockKernels, spans
from warploom.engine.compiler.executable.instrument import Instrumented
from warploom.engine.device.device import Device
from warploom.engine.device.graph import Graph
from warploom.engine.device.protocol import Executable
from warploom.engine.processes.scope import check_cancelled
from warploom.engine.runtime.measure import instrumented_graph
from warploom.engine.runtime.update.running_graph import RunningGraph


@pytest.fixture(autouse=True)
def settles_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Build a copy as soon as the graph has changed."""
    monkeypatch.setattr(instrumented_graph, "_SETTLED_NS", 0)


@pytest.mark.parametrize("edit", ["connect", "remove", "close"])
def test_nothing_that_runs_is_replaced_or_released_while_a_copy_is_built(
    kernels: Kernels, device: Device, monkeypatch: pytest.MonkeyPatch, edit: str
) -> None:
    """A change stops a build of a copy before anything that runs is replaced, and the copy is not used."""
    patch = Patch()
    count = patch.add("test_run.count", node_id="count", size=3)
    patch.connect(count["out"], patch.add("test_run.scale", node_id="scale")["x"])
    begun, building, changed_while_building = threading.Event(), threading.Event(), []

    def endless(*arguments: Any, **more: Any) -> BuiltGraph:
        built = build_graph(*arguments, **more)
        building.set()
        begun.set()
        try:
            while True:
                check_cancelled()
        finally:
            building.clear()
            built.graph.destroy()

    def noting(method: Any) -> Any:
        def call(*arguments: Any) -> Any:
            changed_while_building.append(building.is_set())
            return method(*arguments)

        return call

    for name in ("replace", "give_up"):
        monkeypatch.setattr(RunningGraph, name, noting(getattr(RunningGraph, name)))
    with Engine(patch, device=device, profiling=ProfilingLevel.PER_KERNEL) as engine:
        engine.start(rate=None)
        next_report(engine, lambda r: r.frame > 3)
        changed_while_building.clear()
        monkeypatch.setattr(instrument, "build_graph", endless)
        patch.set("count", size=4)  # the graph and its copy are built again
        assert begun.wait()
        if edit == "connect":
            patch.connect(count["out"], patch.add("test_run.scale", node_id="more")["x"])
            report = next_report(engine, lambda r: "more" in r.nodes)
        elif edit == "remove":
            patch.remove("scale")
            report = next_report(engine, lambda r: "scale" not in r.nodes)
        else:
            report = next_report(engine, lambda r: True)
        assert not report.diagnostics
    assert changed_while_building
    assert not any(changed_while_building)


def test_a_value_written_while_a_copy_is_instantiated_reaches_it(
    kernels: Kernels, device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A value that is written while a copy is instantiated is used by the copy's first launch."""
    patch = Patch()
    ones = patch.add("io.array", node_id="ones", data=np.ones(3, np.float32))
    scale = patch.add("test_run.scale", node_id="scale", factor=2.0)
    patch.connect(ones["out"], scale["x"])
    instantiate = Graph.instantiate
    with Engine(patch, device=device, profiling=ProfilingLevel.NONE) as engine:
        engine.step()
        core = engine.core
        compiled = core.updates.compiled
        assert compiled is not None

        def slow(graph: Graph) -> Executable:
            made = instantiate(graph)
            compiled.set_parameters({("scale", "factor"): 5.0})
            return made

        monkeypatch.setattr(Graph, "instantiate", slow)
        clock, timed = ClockKernels(device), spans(compiled.plan, ProfilingLevel.PER_KERNEL)
        frame = core.profiler._uniforms.current
        copied = Instrumented(compiled.plan, compiled.variants[0], device, frame, compiled.status, timed, clock)
        copied.launch(core.launcher.stream)
        core.launcher.stream.synchronize()
        assert engine.read(scale["out"]).tolist() == [5, 5, 5]
        copied.destroy()
        clock.unload()
