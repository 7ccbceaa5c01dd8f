"""Runs plans on a device as the engine does, with garbage in memory that a frame must not rely on."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np

from warploom.engine.compiler.buffers import Lifetime
from warploom.engine.compiler.difference import plan_difference
from warploom.engine.compiler.executable.arguments import Resources
from warploom.engine.compiler.executable.clocks import ClockKernels, spans
from warploom.engine.compiler.executable.compiled_graph import compile_plan
from warploom.engine.compiler.executable.instrument import Instrumented
from warploom.engine.compiler.frame import Frame
from warploom.engine.compiler.operations import FRAME
from warploom.engine.compiler.plan import Plan
from warploom.engine.device.device import Device
from warploom.engine.patch.changes import PortRef
from warploom.engine.profiling.levels import ProfilingLevel
from warploom.engine.runtime.memory.buffer_pool import BufferPool
from warploom.engine.runtime.memory.graph_memory import allocate_buffers, keep_memory, status_words
from warploom.engine.runtime.memory.state_store import StateStore
from warploom.engine.runtime.model.module_cache import ModuleCache
from warploom.engine.runtime.model.plan_kernels import PlanKernels
from warploom.engine.runtime.preview.reading import read_port

RUBBISH = 0xA5


class Running:
    """A compiled plan with its own memory, which `close` frees.

    A plan may replace an `earlier` one, from which it is built. At a `level` of blocks or kernels, every other frame is
    that of an instrumented copy.
    """

    def __init__(
        self,
        plan: Plan,
        device: Device,
        modules: ModuleCache,
        values: Mapping[str, Mapping[str, Any]],
        earlier: Running | None = None,
        level: ProfilingLevel = ProfilingLevel.NONE,
    ) -> None:
        self.plan = plan
        self._level = level
        self._copies: list[Instrumented] = []
        self._device = device
        self.pool = earlier.pool if earlier else BufferPool(device)
        self._values = values
        self._uniforms = earlier._uniforms if earlier else device.pinned(np.zeros(1, Frame.numpy))
        frame = earlier.memory.by_owner[FRAME] if earlier else self.pool.acquire(self._uniforms.array.nbytes)
        self._states = earlier._states if earlier else StateStore(self.pool, device)
        changes = plan_difference(earlier.plan, plan) if earlier else None
        claimed = keep_memory(changes, earlier.memory) if changes and earlier else None
        self.memory = allocate_buffers(plan, device, self.pool, self._states, frame, claimed)
        self._modules = modules
        kernels = PlanKernels(plan, modules)
        resources = Resources(
            self.memory.by_owner, kernels, values, self._uniforms, self.memory.status, self.memory.swapped
        )
        self.compiled = compile_plan(plan, device, resources, earlier.compiled if earlier else None)
        self._stream = earlier._stream if earlier else device.create_stream()
        self._frame = 0
        self._states.commit(self.memory.states, ())
        if earlier is not None:
            self.compiled.take_over(earlier.compiled)
            self.memory.take_over(earlier.memory)
            for copied in earlier._copies:
                copied.destroy()
            earlier.compiled.destroy()
            earlier.memory.release(self.pool)
            self._states.clear()

    def frame(self) -> None:
        """Launch once and wait. The arena is filled with garbage first, as another graph may leave it."""
        for owner in self.plan.placement.offsets:
            self._device.fill(self.memory.by_owner[owner], RUBBISH)
        self._uniforms.array["index"] = self._frame
        if self._level and self._frame % 2 == 0:
            self._measure()
        else:
            self.compiled.launch(self._stream)
        self._stream.synchronize()
        self._frame += 1

    def _measure(self) -> None:
        """Launch the instrumented copy. Spans outside of all regions must have run once."""
        if not self._copies:
            found, clock = spans(self.plan, self._level), ClockKernels(self._device)
            self._copies = [
                Instrumented(self.plan, variant, self._device, self._uniforms, self.memory.status, found, clock)
                for variant in self.compiled.variants
            ]
        self.compiled.advance()
        copied = self._copies[self.compiled.phase]
        copied.launch(self._stream)
        self._stream.synchronize()
        for span, measured in zip(copied.spans, copied.read(), strict=True):
            if not self.plan.operations[span.operations[0]].scope:
                assert measured["turns"] == 1
                assert 0 <= measured["first_ns"] <= measured["last_ns"]
                assert 0 < measured["busy_ns"] <= max(1, measured["last_ns"] - measured["first_ns"])

    def read_again(self, owner: PortRef) -> np.ndarray[Any, Any]:
        """Return an allocation's contents after the last frame, recomputed as in the engine if overwritten."""
        uniforms = SimpleNamespace(current=self._uniforms)
        services: Any = SimpleNamespace(  # only the services that recomputing uses
            device=self._device, pool=self.pool, uniforms=uniforms, libraries=None, modules=self._modules
        )
        return read_port(self.compiled, services, self._values, self._stream, owner)

    def read(self, owner: PortRef) -> np.ndarray[Any, Any]:
        """Return the contents of an allocation after the last frame."""
        layout = self.plan.buffers.allocations[owner].layout
        array = np.empty(layout.shape, layout.dtype.numpy)
        self._device.read(self.compiled.memory[owner], array)
        return array

    def lasting(self) -> list[PortRef]:
        """Return the buffers that keep their contents after a frame, which are all that share no memory."""
        return [
            owner
            for owner, buffer in self.plan.buffers.allocations.items()
            if owner not in self.plan.placement.offsets and buffer.lifetime is not Lifetime.STATUS
        ]

    def status(self) -> dict[PortRef, int]:
        """Return the status words of the last frame, by their buffers."""
        return status_words(self.plan, self.memory.status.array) if self.memory.status is not None else {}

    def close(self) -> None:
        """Free all resources."""
        for copied in self._copies:
            copied.destroy()
        self.memory.status = None  # the graph frees it
        self.compiled.destroy()
        self._stream.destroy()
        self._uniforms.free()
        self.pool.close()
