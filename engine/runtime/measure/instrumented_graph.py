"""The instrumented copy of the running graph: built beside the frames, dropped when the graph changes."""

import logging
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import partial
from typing import NamedTuple

from warploom.engine.compiler.executable.clocks import ClockKernels, spans
from warploom.engine.compiler.executable.compiled_graph import CompiledGraph, Variant
from warploom.engine.compiler.executable.instrument import Instrumented
from warploom.engine.compiler.executable.survey import SurveyKernel
from warploom.engine.compiler.frame import FrameUniforms
from warploom.engine.compiler.plan import Plan
from warploom.engine.device.device import Device
from warploom.engine.device.protocol import PinnedArray
from warploom.engine.device.releasing import release_all
from warploom.engine.diagnostics import Diagnostic, KernelError, Source, WarploomError, warning
from warploom.engine.processes.scope import CancelScope
from warploom.engine.profiling.levels import ProfilingLevel

_log = logging.getLogger(__name__)
#: Quiet time after the last change of the graph before a copy is built.
_SETTLED_NS = 100_000_000


class _Built(NamedTuple):
    """The copies of a graph, their cost, and the reason why they can't inspect buffers, if any."""

    copies: list[Instrumented]
    #: The time that building the copies took on their thread, which the engine's thread may have waited for.
    time_ns: int
    problem: KernelError | None = None


class InstrumentedGraph:
    """Keeps one copy for each variant of the running graph. It belongs to the engine's thread.

    Copies are built on a thread of their own, from the kernels, captures and memory of the running graph. `let_go` must
    therefore be called before any of these change or are released.

    `tell` is called with the reason why a copy can't be made, or lacks a part; None when it is complete.
    """

    def __init__(self, device: Device, uniforms: FrameUniforms, tell: Callable[[Diagnostic | None], None]) -> None:
        self._device, self._uniforms, self._tell = device, uniforms, tell
        self._clock: ClockKernels | None = None
        self._survey: SurveyKernel | None = None
        self._thread = ThreadPoolExecutor(1, "warploom-profiler")
        self._copies: list[Instrumented] = []
        self._building: Future[_Built] | None = None
        #: Releases of copies that are under way or have failed.
        self._dropped: list[Future[None]] = []
        #: Cancelled to stop the current build.
        self._scope = CancelScope()
        self._changed_ns = 0
        self._is_refused = False
        #: The cost of copies since the last call of `take_cost`.
        self._cost_ns = 0

    def copy_of(
        self, compiled: CompiledGraph, level: ProfilingLevel, now_ns: int, *, wait: bool
    ) -> Instrumented | None:
        """Return the copy of the variant that is launched next; None while there is none, unless `wait` is set."""
        if not self._copies and not self._is_refused:
            if self._building is None and (wait or now_ns - self._changed_ns >= _SETTLED_NS):
                build = partial(self._build, compiled.plan, tuple(compiled.variants), compiled.status, level)
                self._building = self._thread.submit(_in_scope, self._scope, build)
            if self._building is not None and (wait or self._building.done()):
                self._take(self._building)
        return self._copies[compiled.phase] if self._copies else None

    def take_cost(self) -> int:
        """Return how long copies were built since the last call, in nanoseconds of their thread's time."""
        taken_ns, self._cost_ns = self._cost_ns, 0
        return taken_ns

    def let_go(self) -> None:
        """Stop building copies; on return nothing reads the running graph any more.

        Waits for the current step, which is long only when a large graph is instantiated.
        """
        building = self._building
        if building is not None and not building.done():
            self._building = None
            self._scope.cancel()
            self._scope = CancelScope()
            wait([building])
            self._drop(partial(_destroy_result, self._device, building))

    def forget(self) -> None:
        """Drop the copies, since the graph has changed."""
        self.let_go()
        self._changed_ns, self._is_refused = time.perf_counter_ns(), False
        building, self._building = self._building, None
        if building is not None:  # the build is over
            self._drop(partial(_destroy_result, self._device, building))
        if self._copies:
            self._drop(partial(_destroy, self._copies, self._device))
            self._copies = []

    def close(self) -> None:
        """Free all resources."""
        self.forget()
        self._thread.shutdown()
        kernels = [kernels.unload for kernels in (self._clock, self._survey) if kernels is not None]
        release_all(*(dropped.result for dropped in self._dropped), *kernels)

    def _drop(self, drop: Callable[[], None]) -> None:
        """Release copies on their thread; `close` raises the error of a release that failed."""
        self._dropped = [before for before in self._dropped if not before.done() or before.exception() is not None]
        self._dropped.append(self._thread.submit(drop))

    def _build(
        self, plan: Plan, variants: tuple[Variant, ...], status: PinnedArray | None, level: ProfilingLevel
    ) -> _Built:
        begun_ns = time.thread_time_ns()
        device, survey, problem = self._device, None, None
        device.activate()
        if self._clock is None:
            self._clock = ClockKernels(device)
        if level >= ProfilingLevel.DEEP_ASYNC:
            try:
                survey = self._survey = self._survey or SurveyKernel(device)
            except KernelError as why:  # times can be measured without it
                problem = why
        found, copies, frame = spans(plan, level), list[Instrumented](), self._uniforms.current
        try:
            for variant in variants:
                copies.append(Instrumented(plan, variant, device, frame, status, found, self._clock, survey))
        except BaseException:
            _destroy(copies, device)
            raise
        return _Built(copies, time.thread_time_ns() - begun_ns, problem)

    def _take(self, building: Future[_Built]) -> None:
        self._building = None
        try:
            self._copies, cost_ns, problem = building.result()
        except WarploomError as why:  # too little memory, for example: the graph itself keeps running
            self._is_refused = True
            _log.warning("the graph can't be measured block by block", exc_info=True)
            text = f"the copy of the graph that measures blocks must be built, got: {why}"
            self._tell(warning(text, remedy="free memory, or measure the whole frame only", source=Source.ENGINE))
        else:
            self._cost_ns += cost_ns
            self._tell(_no_surveys(problem) if problem is not None else None)


def _in_scope(scope: CancelScope, build: Callable[[], _Built]) -> _Built:
    """Build unless the scope is cancelled."""
    with scope.entered():
        return build()


def _no_surveys(problem: KernelError) -> Diagnostic:
    """Return a warning that buffers aren't inspected."""
    return warning(
        f"the kernel that counts the elements of buffers must load, got: {problem}; only times are measured",
        remedy="correct the kernel, then choose another profiling level and this one again",
        file=problem.file,
        line=problem.line,
        source=problem.source,
    )


def _destroy_result(device: Device, building: Future[_Built]) -> None:
    if not building.cancelled() and building.exception() is None:
        _destroy(building.result().copies, device)


def _destroy(copies: Sequence[Instrumented], device: Device) -> None:
    release_all(device.activate, *(copied.destroy for copied in copies))
