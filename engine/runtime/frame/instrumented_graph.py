"""The instrumented copy of the running graph: built beside the frames, dropped when the graph changes."""

import logging
import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial

from engine.compiler.executable.compiled_graph import CompiledGraph, Variant
from engine.compiler.executable.instrument import ClockKernels, Instrumented, spans
from engine.compiler.executable.survey import SurveyKernel
from engine.compiler.frame import FrameUniforms
from engine.compiler.plan import Plan
from engine.device.device import Device
from engine.device.protocol import PinnedArray
from engine.diagnostics import WarploomError
from engine.profiling.levels import ProfilingLevel

_log = logging.getLogger(__name__)
#: While the graph changes again and again, somebody edits, and no copy is built.
_SETTLED_NS = 100_000_000


class InstrumentedGraph:
    """Keeps one copy for each variant of the running graph. It belongs to the engine's thread."""

    def __init__(self, device: Device, uniforms: FrameUniforms) -> None:
        self._device, self._uniforms = device, uniforms
        self._clock: ClockKernels | None = None
        self._survey: SurveyKernel | None = None
        self._thread = ThreadPoolExecutor(1, "warploom-profiler")
        self._copies: list[Instrumented] = []
        self._building: Future[list[Instrumented]] | None = None
        self._changed_ns = 0
        self._is_refused = False

    def copy_of(
        self, compiled: CompiledGraph, level: ProfilingLevel, now_ns: int, *, wait: bool
    ) -> Instrumented | None:
        """Return the copy of the variant that is launched next; None while there is none, unless `wait` is set."""
        if not self._copies and not self._is_refused:
            if self._building is None and (wait or now_ns - self._changed_ns >= _SETTLED_NS):
                build = partial(self._build, compiled.plan, tuple(compiled.variants), compiled.status, level)
                self._building = self._thread.submit(build)
            if self._building is not None and (wait or self._building.done()):
                self._take(self._building)
        return self._copies[compiled.phase] if self._copies else None

    def forget(self) -> None:
        """Drop the copies, since the graph has changed."""
        self._changed_ns, self._is_refused = time.perf_counter_ns(), False
        building, self._building = self._building, None
        if building is not None and not building.cancel():
            building.add_done_callback(partial(_destroy_result, self._device))
        if self._copies:
            self._thread.submit(_destroy, self._copies, self._device)
            self._copies = []

    def close(self) -> None:
        """Give everything back."""
        self.forget()
        self._thread.shutdown()
        for kernels in (self._clock, self._survey):
            if kernels is not None:
                kernels.unload()

    def _build(
        self, plan: Plan, variants: tuple[Variant, ...], status: PinnedArray | None, level: ProfilingLevel
    ) -> list[Instrumented]:
        device = self._device
        device.activate()
        if self._clock is None:
            self._clock = ClockKernels(device)
        if self._survey is None and level >= ProfilingLevel.DEEP_ASYNC:
            self._survey = SurveyKernel(device)
        survey = self._survey if level >= ProfilingLevel.DEEP_ASYNC else None
        found, copies, frame = spans(plan, level), list[Instrumented](), self._uniforms.current
        try:
            for variant in variants:
                copies.append(Instrumented(plan, variant, device, frame, status, found, self._clock, survey))
        except BaseException:
            _destroy(copies, device)
            raise
        return copies

    def _take(self, building: Future[list[Instrumented]]) -> None:
        self._building = None
        try:
            self._copies = building.result()
        except WarploomError:  # too little memory, say: the graph itself runs on
            self._is_refused = True
            _log.warning("the graph can't be measured block by block", exc_info=True)


def _destroy_result(device: Device, building: Future[list[Instrumented]]) -> None:
    if not building.cancelled() and building.exception() is None:
        _destroy(building.result(), device)


def _destroy(copies: Sequence[Instrumented], device: Device) -> None:
    device.activate()
    for copied in copies:
        copied.destroy()
