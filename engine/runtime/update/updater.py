"""The updater: updates the running graph to match the patch, at the least level that is correct.

Slow work is a job for the worker. While a job is under way, live parameters still reach the running graph; every other
change waits until the job is done.
"""

import logging
import time
from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from statistics import median_low

from warploom.engine.blocktypes.adaptive import refresh
from warploom.engine.blocktypes.block import block_types
from warploom.engine.compiler.executable.compiled_graph import CompiledGraph
from warploom.engine.compiler.inlining.inline import ParameterRef, owner
from warploom.engine.device.arguments import ArgumentError
from warploom.engine.device.releasing import release_all
from warploom.engine.diagnostics import DeviceError, Diagnostic, Mend, PatchError
from warploom.engine.figures import plural
from warploom.engine.kernel_sources.image import KernelImage
from warploom.engine.patch.changes import BlockTypesChanged, Change, nodes_of
from warploom.engine.patch.editing.applying import not_applied
from warploom.engine.processes.scope import Cancelled
from warploom.engine.profiling.side_work import SideKind
from warploom.engine.protocol.messages import BufferReport, UpdateLevel, UpdateRecord
from warploom.engine.readings import Disk
from warploom.engine.runtime.model.context import Cause, CudaContext, UpdateSource
from warploom.engine.runtime.model.module_cache import finding_once
from warploom.engine.runtime.report.diagnostics_store import DiagnosticsStore
from warploom.engine.runtime.report.faults import Fault
from warploom.engine.runtime.report.node_reports import Kernels, buffer_reports
from warploom.engine.runtime.update.cost import Published
from warploom.engine.runtime.update.prepare import Current, Prepared, level_in_place, prepare, prepare_code
from warploom.engine.runtime.update.running_graph import RunningGraph
from warploom.engine.runtime.update.worker import Applied, Finish, Job, Worker

_log = logging.getLogger(__name__)
#: How many updates an estimate takes into account: the patch grows, and the first build compiles more than later ones.
_REMEMBERED = 9
_NOTHING: Applied = UpdateLevel.NONE, None

# Looked up once: every moved slider needs them.
_NONE, _HOT = UpdateLevel.NONE, UpdateLevel.HOT


class Updater:
    """Owns the running graph and the worker. It belongs to the engine's thread."""

    def __init__(self, context: CudaContext, tell: Callable[[Diagnostic], None], let_go: Callable[[], None]) -> None:
        """`tell` is called with diagnostics of failed updates.

        `let_go` waits until neither the device nor another thread uses the running graph. Then it may be changed.
        """
        self.context = context
        self._tell, self._let_go = tell, let_go
        self._fuses = self._shares = True
        #: The running graph and its memory.
        self.running = RunningGraph(context.services, context.parameters.values)
        #: Everything that is wrong with the patch and its kernels now.
        self.diagnostics = DiagnosticsStore(context)
        self._records: list[UpdateRecord] = []
        #: The times of the last updates of each level, in nanoseconds.
        self._costs: dict[UpdateLevel, deque[int]] = {}
        #: The buffer of every output port of the running graph, by "node.port".
        self.buffers: dict[str, BufferReport] = {}
        #: The kernels of each node of the patch that runs in the graph.
        self.kernels: Mapping[str, Kernels] = {}
        #: The view of the running graph for other threads; a new object after each update.
        self.published = Published()
        #: True when the graph matches the patch, but for written values that are not on the device yet, and no value
        #: block has to be computed. A frame then looks no further. A message makes it False, and so does `rebuild`.
        self.is_settled = False
        self._rebuild = False
        self._held: frozenset[str] | None = frozenset()  # see `held` of `Published`
        self._built_values: Mapping[str, Mapping[str, object]] = {}
        self._worker = Worker(context.services.modules)
        self._deferred: deque[tuple[Sequence[Change], UpdateSource]] = deque()
        self._waiting: set[str] = set()  # the nodes that deferred changes concern

    @property
    def compiled(self) -> CompiledGraph | None:
        """The graph that runs, once there is one."""
        return self.running.compiled

    @property
    def values(self) -> Mapping[str, Mapping[str, object]]:
        """The parameter values of the graph that runs, by node; it may hold nodes that the patch no longer has."""
        newest = self.context.parameters.snapshot()
        return {node: {**given, **newest.get(node, {})} for node, given in self._built_values.items()}

    @property
    def preparing(self) -> bool:
        """True while a job is under way."""
        return self._worker.is_busy

    @property
    def pending(self) -> bool:
        """True while a change waits for an update, or a job is under way."""
        dirty, parameters = self.context.dirty, self.context.parameters
        waits = dirty.structure or dirty.kernel_files or parameters.changed or parameters.held
        return bool(waits or self._worker.is_busy)

    def set_fusing(self, fuses: bool, shares: bool = True) -> None:
        """Set whether neighbouring blocks' kernels are fused and buffers share memory; a change takes a rebuild."""
        if (fuses, shares) != (self._fuses, self._shares):
            self._fuses, self._shares = fuses, shares
            self.rebuild("kernels fused" if fuses else "kernels no longer fused")

    def set_trusted(self, trusted: bool) -> None:
        """Set whether the patch is trusted."""
        self.context.set_trusted(trusted)
        if types := self.context.registry.types_to_trust():
            self.apply([BlockTypesChanged(types)], "engine")
        self._find_refused()
        self.diagnostics.renew()

    def mute(self, fault: Fault, failure: DeviceError) -> None:
        """Leave the blocks out in which the device may have failed."""
        self.context.mute(fault.by_node, failure)
        self._run_mended()
        self.diagnostics.renew()
        self.is_settled = False

    def run_muted(self) -> None:
        """Put the blocks that were left out into the graph again."""
        self.context.run_again(self.context.muted.release())
        if files := self.context.services.modules.try_again():
            self.context.dirty.kernel_files |= files
            self.rebuild("compiles that were cancelled")

    def rebuild(self, cause: str, source: UpdateSource = "engine") -> None:
        """Ask for a rebuild although the structure of the patch is the same."""
        _log.debug("the graph must be rebuilt: %s", cause)
        self._rebuild, self.is_settled = True, False
        self.context.parameters.record(True)  # the next value of any parameter may make the build succeed
        self.context.dirty.mark_structure(cause, source=source)

    def apply(self, edit: Sequence[Change], source: UpdateSource = "edit") -> None:
        """Follow the changes of an edit, now or when the present job is done; no frame runs half of them.

        So if an edit takes a job, its live values wait for the end of that job.
        """
        context = self.context
        if self._worker.is_busy or len(edit) > 1:
            is_light = all(map(context.is_light, edit))
            if self._worker.is_busy:
                nodes = {node for change in edit for node in nodes_of(change)}
                if not (is_light and self._waiting.isdisjoint(nodes)):
                    self._deferred.append((edit, source))
                    self._waiting |= nodes
                    return
            context.parameters.hold(not is_light)
        context.dirty.source = source
        try:
            for change in edit:
                self._apply(change)
        finally:
            context.dirty.source = "edit"
            context.parameters.hold(False)

    def _apply(self, change: Change) -> None:
        if isinstance(change, BlockTypesChanged) and any(item.mend is Mend.TRUST for item in self.diagnostics.blocks):
            self.context.dirty.mark_structure("another folder of blocks")  # the folder's kernels may run now
        try:
            self.context.apply(change)
        except PatchError as problem:
            self._tell(not_applied(change, problem))

    def run(self, frame: int, *, wait: bool) -> UpdateLevel:
        """Bring the graph up to date, completely with `wait`, else as far as possible without waiting for a job.

        Return the highest level applied; each update above HOT leaves a record.
        """
        level, parameters = UpdateLevel.NONE, self.context.parameters
        if not self.preparing:  # before any code is swapped: structure comes first
            self._try_again()
        while True:
            if not self.preparing:
                self._begin(wait)
                if not self.preparing:
                    parameters.write_held()
            if self.preparing and (wait or self._worker.is_done):
                level = max(level, self._finish(frame, wait))
                continue
            if parameters.is_written:
                level = max(level, self.write_parameters())
            if not (wait and self.context.dirty.structure):  # a refused value makes it dirty again
                if not self.preparing:
                    parameters.changed.clear()
                return level

    def catch_up(self, frame: int) -> UpdateLevel:
        """Finish the job under way and follow the changes that waited for it; return the level that it applied."""
        return self._finish(frame, wait=True)

    def write_parameters(self) -> UpdateLevel:
        """Pass written live parameters on to the device, which is all that most edits need."""
        compiled, parameters = self.running.compiled, self.context.parameters
        parameters.is_written = False
        count = compiled.live.refresh() if compiled is not None else 0
        refused, parameters.refused = parameters.refused, None
        if refused is not None:
            self.rebuild("a value that a kernel can't take")  # the build reports the error on the node
        return _HOT if count else _NONE

    def take_records(self) -> tuple[UpdateRecord, ...]:
        """Return the updates above HOT since the last call."""
        taken, self._records = tuple(self._records), []
        return taken

    def cancel(self) -> None:
        """Cancel the current preparation, before `close`; any thread may call it."""
        self._worker.cancel()

    def close(self) -> None:
        """Stop the current job and free the graph."""
        self.cancel()
        release_all(self._finish_last, self._worker.close, lambda: self.running.give_up().release())

    def _finish_last(self) -> None:
        """Wait for the job under way, whose result is then released with the graph."""
        if self.preparing:
            with suppress(Cancelled):
                self._worker.retire(self._worker.take().finish()[1], wait=False)

    def _begin(self, wait: bool) -> None:
        """Begin the job that the patch asks for, if any: structure first, then code."""
        files = self.context.dirty.take_read_files()
        if files and (nodes := self.context.registry.read_again(files)):
            self.context.dirty.mark_structure(_saved(files), source="kernel file", nodes=tuple(nodes))
        if self.context.dirty.structure:
            cause, job = self._structure_job()
        elif self.context.dirty.kernel_files:
            cause, job = self._code_job()
        else:
            return
        _log.debug("preparing %s", cause.text)
        self.context.parameters.changed.clear()
        self.context.parameters.record(True)
        self._worker.begin(cause, job, wait=wait)

    def _structure_job(self) -> tuple[Cause, Job]:
        services, patch, resting = self.context.services, self.context.snapshot(), self.context.resting
        cause, current = self.context.dirty.take_structure(), self._current()
        fuses, shares = self._fuses, self._shares
        rebuild, self._rebuild = self._rebuild, False

        def job() -> Finish:
            with finding_once():
                prepared = prepare(services, patch, current, rebuild=rebuild, fuses=fuses, shares=shares)
            prepared.left_out |= resting
            return lambda: self._swap_graph(prepared, cause.text, rebuild)

        return cause, job

    def _code_job(self) -> tuple[Cause, Job]:
        services, inlined, current = self.context.services, self.diagnostics.inlined, self._current()
        cause = Cause(_saved(self.context.dirty.take_kernel_files()), "kernel file")

        def job() -> Finish:
            types = refresh(Disk())  # without a watcher, when a message reports saved files
            prepared = prepare_code(services, current, inlined)
            return lambda: self._swap_code(prepared, cause.text, types)

        return cause, job

    def _current(self) -> Current | None:
        compiled, memory = self.running.compiled, self.running.memory
        return Current(compiled, memory, self._built_values) if compiled and memory else None

    def _finish(self, frame: int, wait: bool) -> UpdateLevel:
        job = self._worker.take()
        self._let_go()
        begun_ns, is_edit = time.perf_counter_ns(), self.compiled is not None
        level, retired = job.finish()
        self.context.parameters.write_held()
        self.context.parameters.changed.clear()
        self.context.parameters.record(self._rebuild)
        self._find_refused()
        self.diagnostics.renew()
        now_ns = time.perf_counter_ns()
        if level > UpdateLevel.HOT:
            cost_ns, swap_ns = now_ns - job.start_ns, now_ns - begun_ns
            text, source, nodes = job.cause
            self._records.append(UpdateRecord(level, text, cost_ns, frame, source, job.beside_ns, swap_ns, nodes))
            if is_edit:  # opening a patch loads all its kernels, which no edit does
                self._costs.setdefault(level, deque(maxlen=_REMEMBERED)).append(cost_ns)
            self.context.services.times.add(SideKind.UPDATE, level.name.lower(), cost_ns)
            if self.compiled is not None:
                # A driven parameter may take a WARM update in every frame.
                _log.log(
                    logging.DEBUG if level is UpdateLevel.WARM else logging.INFO,
                    "%s: %s, by %s; %s, %s, %.1f ms (frames waited %.1f)",
                    level.name,
                    text,
                    source,
                    plural(len(self.compiled.plan.description.nodes), "node"),
                    plural(len(self.compiled.kernels), "kernel"),
                    cost_ns / 1e6,
                    swap_ns / 1e6,
                )
        estimates = {level: median_low(costs) for level, costs in self._costs.items()}
        plan = self.compiled.plan if self.compiled else None
        muted = frozenset(self.context.muted.reasons)
        self.published = Published(plan, estimates, job.kernel_files, self._held, muted)
        self._worker.retire(retired, wait=wait)
        self._waiting.clear()
        while self._deferred:
            self.apply(*self._deferred.popleft())
        return level

    def _find_refused(self) -> None:
        files = self.compiled.plan.description.files if self.compiled else ()
        self.diagnostics.refused = self.context.save_place().refusals(files) if files else []

    def _swap_graph(self, prepared: Prepared, cause: str, rebuild: bool) -> Applied:
        found, description = self.diagnostics, prepared.description
        assert description is not None
        self.context.adopt(description.nodes)
        found.blocks, found.stale, found.inlined = prepared.diagnostics, prepared.stale, description.inlined
        self._held = prepared.held if prepared.plan is not None else None
        self._run_mended()
        if prepared.plan is not None:
            self._built_values = prepared.values
        if prepared.same_graph is not None:
            level = self._give(self.running.refresh(prepared.same_graph))
            changes, memory = prepared.same_graph, self.running.memory
            if changes.now.columns != changes.before.columns and memory is not None:
                self.buffers = buffer_reports(changes.now, memory.by_owner)
            return UpdateLevel.WARM if prepared.same_graph.other_arrays else level, None
        if prepared.compiled is None and prepared.adjustment is None:
            self._rebuild |= rebuild or prepared.refused
            self._try_again()  # now or, if no value has changed, with the next one
            return _NOTHING
        if prepared.compiled is not None:
            applied: Applied = UpdateLevel.COLD, self.running.replace(prepared)
            changed = self.context.parameters.take_changed()
            self._give(prepared.compiled.plan.inlined.set_places(changed))
            self.kernels, found.launches = prepared.kernels, prepared.launch_warnings
        else:
            applied = self._adjust(prepared, cause)
            if applied is _NOTHING:
                return applied
        self.buffers = prepared.buffers
        return applied

    def _adjust(self, prepared: Prepared, cause: str, source: UpdateSource = "engine") -> Applied:
        """Change the running graph in place, or ask for a rebuild if the device refuses."""
        adjustment = prepared.adjustment
        assert adjustment is not None
        try:
            retired, given = self.running.adjust(prepared)
        except DeviceError:  # a device that has failed will refuse the rebuild too
            _log.warning("the device did not take %s in place", cause, exc_info=True)
            self.rebuild(f"{cause}, which the device does not take in place", source)
            prepared.abandon(self.context.services)
            return _NOTHING
        self._give(given)
        self.diagnostics.launches = prepared.launch_warnings
        return level_in_place(swaps_code=adjustment.swaps_code, captures=adjustment.captures_again), retired

    def _swap_code(self, prepared: Prepared, cause: str, types: Collection[str]) -> Applied:
        self.diagnostics.stale = prepared.stale
        if types:
            block_types.tell(types)
            self.apply([BlockTypesChanged(frozenset(types))], "kernel file")
        if self.diagnostics.blocks:
            self.context.dirty.mark_structure(cause, source="kernel file")  # a block that was left out may run now
        self._run_mended()
        if prepared.rebuild:
            self.rebuild(f"{cause} {prepared.rebuild}", "kernel file")
        return self._adjust(prepared, cause, "kernel file") if prepared.adjustment is not None else _NOTHING

    def _run_mended(self) -> None:
        """Put blocks into the graph again whose device had failed, and whose code is another one since."""
        context, modules = self.context, self.context.services.modules
        if context.muted.reasons:
            images: dict[str, list[KernelImage | None]] = {node: [] for node in context.muted.reasons}
            for block in self.diagnostics.inlined.description.nodes:
                if (found := images.get(owner(block.id))) is not None:
                    folders = block.description.kernel_folders
                    found += [modules.loaded_image(kernel, folders) for kernel in block.description.kernels()]
            context.run_again(context.muted.release_mended(images))

    def _try_again(self) -> None:
        """Request a refused rebuild again, when a value that has changed may fix its error.

        Such a value was edited, or is driven at a block with an error: driven values change in every frame.
        """
        changed = self.context.parameters.changed
        if not changed or not self._rebuild:
            return
        wrong = {owner(item.node) for item in self.diagnostics.blocks if item.node}
        is_driven = self.context.parameters.is_driven
        if any(node in wrong or not is_driven(node, name) for node, name in changed):
            self.context.dirty.mark_structure("another value")

    def _give(self, values: Mapping[ParameterRef, object]) -> UpdateLevel:
        """Write parameter values into a graph that was replaced, or that follows another plan."""
        if self.compiled is None:
            return UpdateLevel.NONE
        self.context.parameters.attach(self.compiled)
        try:
            return UpdateLevel.HOT if self.compiled.set_parameters(values) else UpdateLevel.NONE
        except ArgumentError:
            self.rebuild("a value that a kernel can't take")  # the build reports the error on the node
            return UpdateLevel.NONE


def _saved(files: Collection[Path]) -> str:
    return ", ".join(sorted(path.name for path in files)) + " saved"
