"""Updates: brings the running graph to what the patch says, at the least level that is correct.

Slow work (describing, compiling kernels, building) is a job on a worker thread beside the running graph. While it is
under way, live parameters still reach the running graph; every other change waits until the job is done.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace

from engine.blocktypes.entries import KernelEntry
from engine.compiler.arguments import TypedKernel
from engine.compiler.description import GraphDescription
from engine.compiler.inlining import Inlined, changed_values
from engine.compiler.instantiate import CompiledGraph
from engine.compiler.node_making import KernelNode
from engine.compiler.plan import Plan
from engine.device.arguments import ArgumentError
from engine.diagnostics import Diagnostic, GraphValidationError, KernelError
from engine.patch.changes import Change, Connected, Disconnected, NodeAdded, NodeRemoved, ParameterChanged, PortRef
from engine.profiling.levels import ProfilingLevel
from engine.runtime.allocation import GraphMemory, adopt, status_words
from engine.runtime.context import CudaContext
from engine.runtime.launch_checks import count_problems, launch_warnings
from engine.runtime.messages import UpdateLevel, UpdateRecord
from engine.runtime.preparation import Current, Prepared, prepare
from engine.runtime.requirements import element_problems
from engine.runtime.states import move
from engine.runtime.status import status_diagnostics

#: Times, states and numbers that a person reads change no faster than this while the engine runs freely.
REPORT_INTERVAL_NS = 100_000_000
#: A job runs on the worker; what it returns is called on the engine's thread and gives the level that it applied.
Finish = Callable[[], UpdateLevel]


class Updates:
    """The running graph, what is wrong with the patch, and how one becomes the other. One thread calls it."""

    def __init__(self, context: CudaContext, profiling: ProfilingLevel) -> None:
        self.context = context
        self.profiling = profiling
        self.compiled: CompiledGraph | None = None
        self._memory: GraphMemory | None = None
        self._records: list[UpdateRecord] = []
        #: Everything that is wrong with the patch and its kernels now.
        self.diagnostics: tuple[Diagnostic, ...] = ()
        self._block_problems: list[Diagnostic] = []
        self._stale: list[Diagnostic] = []
        self._inlined = Inlined(GraphDescription((), ()))
        self._status_problems: list[Diagnostic] = []
        self._launch_warnings: list[Diagnostic] = []
        self._status_told_ns = 0
        self._status_seen = b""
        self._status_plan: Plan | None = None
        #: The status words of the last launch, by buffer.
        self.status: dict[PortRef, int] = {}
        self._rebuild = False
        self._worker = ThreadPoolExecutor(1, "warploom-prepare")
        self._job: Future[Finish] | None = None
        self._job_cause = ""
        self._job_start_ns = 0
        self._deferred: deque[Change] = deque()
        self._parameters_since_job: dict[tuple[str, str], object] = {}

    @property
    def preparing(self) -> bool:
        """True while a job is under way."""
        return self._job is not None

    @property
    def pending(self) -> bool:
        """True while something has changed that no frame has followed yet."""
        dirty = self.context.dirty
        return self.preparing or dirty.structure or bool(dirty.parameters or dirty.kernel_files)

    def set_profiling(self, profiling: ProfilingLevel) -> None:
        """Measure at another level from the next rebuild on, which this asks for."""
        if profiling is not self.profiling:
            self.profiling = profiling
            self.rebuild(f"profiling {profiling.name.lower()}")

    def rebuild(self, cause: str) -> None:
        """Build anew although the patch's structure is as it was."""
        self._rebuild = True
        self.context.dirty.mark_structure(cause)

    def apply(self, change: Change) -> None:
        """Follow a change of the patch, now or when the job that is under way is done."""
        if self._job is not None and not self._is_immediate(change):
            self._deferred.append(change)
        else:
            self.context.apply(change)

    def run(self, frame: int, *, wait: bool) -> UpdateLevel:
        """Bring the graph up to date, as far as that is possible without waiting, or wholly with `wait`.

        Returns the highest level applied; each update above HOT leaves a record.
        """
        level = UpdateLevel.NONE
        while True:
            if self._job is None:
                self._begin(wait)
            if self._job is not None and (wait or self._job.done()):
                level = max(level, self._finish(frame))
                continue
            level = max(level, self._update_parameters())
            if not (wait and self.context.dirty.structure):  # a value that was refused makes it dirty again
                return level

    def read_status(self, *, fresh: bool) -> None:
        """Look at the words that the last launch left, and tell what they say.

        While the same places have something to say, only their numbers differ: those are told anew at an interval that
        a person can read, or at once when `fresh`.
        """
        compiled = self.compiled
        told: list[Diagnostic] = []
        if compiled is not None and compiled.status is not None:
            plan, words = compiled.plan, compiled.status.array.tobytes()
            if not self._status_problems and self._status_seen == words and self._status_plan is plan:
                return
            self._status_seen, self._status_plan = words, plan
            self.status = status_words(plan, compiled.status.array)
            told = status_diagnostics(plan, self.status, lambda: plan.inlined.all_values(self.context.values()))
        if told == self._status_problems:
            return
        now, places = time.perf_counter_ns(), [(item.node, item.port) for item in told]
        known = places == [(item.node, item.port) for item in self._status_problems]
        if fresh or not known or now - self._status_told_ns >= REPORT_INTERVAL_NS:
            self._status_problems, self._status_told_ns = told, now
            self._tell()

    def take_records(self) -> tuple[UpdateRecord, ...]:
        """Return the updates above HOT since the last call."""
        taken = tuple(self._records)
        self._records.clear()
        return taken

    def close(self) -> None:
        """Wait for the job under way and give the graph back."""
        if self._job is not None:
            self._job.result()()
            self._job = None
        self._worker.shutdown()
        if self.compiled is not None:
            self._release(self.compiled)
            self.compiled = None

    def _is_immediate(self, change: Change) -> bool:
        if not isinstance(change, ParameterChanged):
            return False
        waiting = any(change.node in _nodes(other) for other in self._deferred)
        known = change.node in self.context.registry.placed
        return known and not waiting and self.context.registry.is_live(change.node, change.parameter)

    def _begin(self, wait: bool) -> None:
        dirty = self.context.dirty
        job: Callable[[], Finish]
        if dirty.kernel_files:
            files = dirty.take_kernel_files()
            self._job_cause = ", ".join(sorted(path.name for path in files)) + " saved"

            def job() -> Finish:
                self.context.device.activate()
                reloaded = self.context.modules.reload(files)
                return lambda: self._swap_code(reloaded)

        elif dirty.structure:
            self._job_cause = dirty.take_structure()
            current = Current(self.compiled, self._memory) if self.compiled and self._memory else None
            profiling, rebuild, self._rebuild = self.profiling, self._rebuild, False

            def job() -> Finish:
                prepared = prepare(self.context, current, profiling, rebuild=rebuild)
                return lambda: self._swap_graph(prepared, rebuild)

        else:
            return
        self._job_start_ns = time.perf_counter_ns()
        self._parameters_since_job.clear()
        self._job = self._worker.submit(job)
        if wait:
            self._job.exception()  # wait here; `_finish` raises what it raised

    def _finish(self, frame: int) -> UpdateLevel:
        assert self._job is not None
        job, self._job = self._job, None
        level = job.result()()
        self._stale = self.context.stale_kernels(self._inlined.description.nodes)
        self._tell()
        if level > UpdateLevel.HOT:
            cost_ns = time.perf_counter_ns() - self._job_start_ns
            self._records.append(UpdateRecord(level, self._job_cause, cost_ns, frame))
        while self._deferred:
            self.context.apply(self._deferred.popleft())
        return level

    def _swap_graph(self, prepared: Prepared, rebuild: bool) -> UpdateLevel:
        self._block_problems = prepared.diagnostics
        self._inlined = prepared.inlined
        if prepared.same_graph is not None and self.compiled is not None:
            return self._refresh_contents(prepared)
        if prepared.compiled is None:
            self._rebuild |= rebuild or prepared.refused  # still to be done, once the patch can run
            return UpdateLevel.NONE
        assert prepared.memory is not None
        old, self.compiled = self.compiled, prepared.compiled
        self.context.states.commit(prepared.memory.states, self._left_out(prepared))
        if old is not None:
            move(self.context.device, self.compiled.follow(old))
            self.compiled.take_over(old)
            if self._memory is not None:
                prepared.memory.take_over(self._memory)
            self._release(old)
        self._memory = prepared.memory
        self._launch_warnings = prepared.launch_warnings
        self.context.modules.unload_replaced()
        self._set_parameters(self._parameters_since_job)
        return UpdateLevel.COLD

    def _left_out(self, prepared: Prepared) -> set[str]:
        """Return the blocks, and those inside composites, that are in the patch and not in the new graph."""
        assert prepared.compiled is not None
        described = prepared.inlined.description.by_id.keys() - prepared.compiled.nodes
        return described | {node for node, placed in self.context.registry.placed.items() if not placed.description}

    def _refresh_contents(self, prepared: Prepared) -> UpdateLevel:
        assert self.compiled is not None and prepared.same_graph is not None and self._memory is not None
        old, new = self.compiled.plan.description.by_id, prepared.same_graph
        changed = False
        for node in new.description.nodes:
            before, now = old[node.id].description, node.description
            for name, contents in now.contents.items():
                if before.contents[name] is not contents:
                    self.context.device.write(self.compiled.memory[PortRef(node.id, name)], contents)
                    changed = True
            for name, array in now.externals.items():
                if before.externals[name] is not array:
                    changed |= self._rebind(new, PortRef(node.id, name))
        given = changed_values(self.compiled.plan.inlined.values, new.inlined.values)
        # Nothing may hold on to arrays that are used no more.
        self.compiled.plan = replace(
            self.compiled.plan, description=new.description, inlined=new.inlined, checked=new.checked
        )
        level = self._set_parameters(given)
        return UpdateLevel.WARM if changed else level

    def _rebind(self, plan: Plan, owner: PortRef) -> bool:
        """Let a buffer be the array that its block names now; False when that array can't be used."""
        assert self.compiled is not None and self._memory is not None
        try:
            memory = adopt(plan, self.context.device, owner)
        except GraphValidationError as problem:
            self._block_problems += problem.errors
            self._rebuild = True  # still to be done, once there is another one
            return False
        if self.compiled.rebind(owner, memory):
            self._memory.exchange(owner, memory)
        else:
            memory.free()
            self.rebuild(f"another array for {owner}")
        return True

    def _swap_code(self, reloaded: bool) -> UpdateLevel:
        if self._block_problems:
            self.context.dirty.mark_structure(self._job_cause)  # a block that was left out may be ready now
        if not reloaded or self.compiled is None:
            return UpdateLevel.NONE
        fresh = {node.operation: self._newest_kernel(node) for node in self.compiled.kernels}
        changed = {n.operation: fresh[n.operation] for n in self.compiled.kernels if fresh[n.operation] is not n.kernel}
        if not changed:
            return UpdateLevel.NONE
        for node in self.compiled.kernels:
            kernel = changed.get(node.operation, node.kernel)
            x, y, z = node.config.thread_block
            if not _same_layout(kernel, node.kernel) or x * y * z > kernel.kernel.max_threads:
                self.rebuild(f"{self._job_cause} with other parameters")
                return UpdateLevel.NONE
        if count_problems(self.compiled.plan, self.context.modules.image, changed):
            self.rebuild(f"{self._job_cause} without a loop over its grid")
            return UpdateLevel.NONE
        if element_problems(self.compiled.plan, self.context.modules.image, changed):
            self.rebuild(f"{self._job_cause} with another struct")  # the build says on the node what is wrong
            return UpdateLevel.NONE
        self.compiled.swap_kernels(changed)
        self._launch_warnings = launch_warnings(self.compiled.kernels, self.context.device.info)
        self.context.modules.unload_replaced()
        return UpdateLevel.CODE

    def _newest_kernel(self, node: KernelNode) -> TypedKernel:
        assert self.compiled is not None
        operation = self.compiled.plan.operations[node.operation]
        folders = self.compiled.plan.description.by_id[node.node].description.kernel_folders
        assert isinstance(operation.entry, KernelEntry)
        try:
            return self.context.modules.kernel(operation.entry.kernel, folders)
        except KernelError:  # its file is gone, which `stale_kernels` tells; what is loaded runs on
            return node.kernel

    def _update_parameters(self) -> UpdateLevel:
        changed = self.context.dirty.take_parameters()
        if self._job is not None:
            self._parameters_since_job |= changed
        if changed and self._rebuild and self._job is None:
            self.context.dirty.mark_structure("another value")  # it may be the one that kept the graph from being built
        return self._set_parameters(changed)

    def _tell(self) -> None:
        found = (*self._block_problems, *self._stale, *self._status_problems, *self._launch_warnings)
        self.diagnostics = tuple(dict.fromkeys(self._inlined.shown(item) for item in found))

    def _set_parameters(self, values: Mapping[tuple[str, str], object]) -> UpdateLevel:
        if not values or self.compiled is None:
            return UpdateLevel.NONE
        try:
            taken = self.compiled.set_parameters(self.compiled.plan.inlined.set_places(values))
            return UpdateLevel.HOT if taken else UpdateLevel.NONE
        except ArgumentError:
            self.rebuild("a value that a kernel can't take")  # the build says on the node what is wrong
            return UpdateLevel.NONE

    def _release(self, graph: CompiledGraph) -> None:
        graph.destroy()
        if self._memory is not None:
            self._memory.release(self.context.pool)
            self._memory = None


def _same_layout(a: TypedKernel, b: TypedKernel) -> bool:
    """True when one argument block serves both; names don't matter."""
    layouts = [[(p.offset, p.size_bytes, p.ptx_type) for p in kernel.parameters] for kernel in (a, b)]
    return layouts[0] == layouts[1]


def _nodes(change: Change) -> tuple[str, ...]:
    match change:
        case NodeAdded(node) | NodeRemoved(node):
            return (node.id,)
        case Connected(c) | Disconnected(c):
            return (c.source.node, c.target.node)
        case _:
            return (change.node,)
