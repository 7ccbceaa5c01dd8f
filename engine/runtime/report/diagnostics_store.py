"""Findings: everything that is wrong with the patch and its kernels now, by where it was found."""

from __future__ import annotations

import time
from collections.abc import Sequence

from engine.compiler.description import GraphDescription
from engine.compiler.executable.compiled_graph import CompiledGraph
from engine.compiler.inlining import Inlined
from engine.compiler.plan import Plan
from engine.diagnostics import Diagnostic
from engine.patch.changes import PortRef
from engine.runtime.memory.graph_memory import status_words
from engine.runtime.model.context import CudaContext
from engine.runtime.report.status_words import status_diagnostics

#: Times, states and numbers that a person reads change no faster than this while the engine runs freely.
REPORT_INTERVAL_NS = 100_000_000


class Findings:
    """Diagnostics as they are found, and all of them as they are told: `diagnostics`, another tuple after each `tell`.

    `blocks` are mistakes of the patch, `stale` kernels whose newest version does not compile, `launches` advice on how
    kernels are launched. `inlined` leads from blocks inside composites to the patch's nodes.
    """

    def __init__(self, context: CudaContext) -> None:
        self._context = context
        self.diagnostics: tuple[Diagnostic, ...] = ()
        self.blocks: Sequence[Diagnostic] = ()
        self.stale: Sequence[Diagnostic] = ()
        self.launches: Sequence[Diagnostic] = ()
        self.inlined = Inlined(GraphDescription((), ()))
        #: The status words of the last launch, by buffer.
        self.status: dict[PortRef, int] = {}
        self._status: list[Diagnostic] = []
        self._status_told_ns = 0
        self._status_seen = b""
        self._status_plan: Plan | None = None

    def tell(self) -> None:
        """Put everything that was found together anew."""
        values, misfits = self._context.value_graph.diagnostics, self._context.parameters.misfits.values()
        found = (*misfits, *self.blocks, *self.stale, *self._status, *self.launches, *values)
        self.diagnostics = tuple(dict.fromkeys(self.inlined.shown(item) for item in found))

    def read_status(self, compiled: CompiledGraph | None, *, fresh: bool) -> None:
        """Look at the words that the last launch left, and tell what they say.

        While the same places have something to say, only their numbers differ: those are told anew at an interval that
        a person can read, or at once when `fresh`.
        """
        told: list[Diagnostic] = []
        if compiled is not None and compiled.status is not None:
            plan, words = compiled.plan, compiled.status.array.tobytes()
            if not self._status and self._status_seen == words and self._status_plan is plan:
                return
            self._status_seen, self._status_plan = words, plan
            self.status = status_words(plan, compiled.status.array)
            told = status_diagnostics(
                plan, self.status, lambda: plan.inlined.all_values(self._context.parameters.values)
            )
        elif self.status:
            self.status = {}  # of a graph that is gone
        if told == self._status:
            return
        now, places = time.perf_counter_ns(), [(item.node, item.port) for item in told]
        known = places == [(item.node, item.port) for item in self._status]
        if fresh or not known or now - self._status_told_ns >= REPORT_INTERVAL_NS:
            self._status, self._status_told_ns = told, now
            self.tell()
