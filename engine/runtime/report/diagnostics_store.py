"""The diagnostics store: everything that is wrong with the patch and its kernels now, by where it was found."""

import time
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

from warploom.engine.compiler.description import GraphDescription
from warploom.engine.compiler.executable.compiled_graph import CompiledGraph
from warploom.engine.compiler.inlining.inline import Inlined
from warploom.engine.compiler.plan import Plan
from warploom.engine.descriptions.description import BlockDescription
from warploom.engine.descriptions.entries import ParameterArgument, StatusKind
from warploom.engine.diagnostics import Diagnostic, Sighting, Source, warning
from warploom.engine.patch.changes import PortRef
from warploom.engine.runtime.memory.graph_memory import status_words
from warploom.engine.runtime.model.context import CudaContext
from warploom.engine.runtime.report.diagnostics_log import DiagnosticsLog
from warploom.engine.runtime.report.sentinel_diagnostics import sentinel_diagnostics
from warploom.engine.runtime.report.sightings import Identity, Sightings, identity

#: Times, states and numbers that a person reads change no faster than this while the engine runs freely.
REPORT_INTERVAL_NS = 100_000_000
#: Time for which a frame's diagnostic is shown after the last frame that found it.
FADE_NS = 3_000_000_000
#: An append buffer that is fuller than this share of its capacity is about to overflow.
NEARLY_FULL = 0.9
_STATUS = "status words"


class DiagnosticsStore:
    """Diagnostics by where they were found, and all together as `all`, a new tuple after each `renew`.

    `blocks` are errors of the patch, `stale` kernels whose newest version doesn't compile, `launches` advice on
    launches, `refused` actions for which the patch must be trusted, `pictures` reasons for missing pictures,
    `measuring` measurements that are impossible; all these stay until someone fixes them. `follow_frame` takes the
    findings of single frames. `inlined` leads from blocks inside composites to the patch's nodes.
    """

    def __init__(self, context: CudaContext) -> None:
        self._context = context
        self.all: tuple[Diagnostic, ...] = ()
        #: When each diagnostic was found.
        self.sightings: tuple[Sighting, ...] = ()
        self.blocks: Sequence[Diagnostic] = ()
        self.stale: Sequence[Diagnostic] = ()
        self.launches: Sequence[Diagnostic] = ()
        self.refused: Sequence[Diagnostic] = ()
        self.pictures: Sequence[Diagnostic] = ()
        self.measuring: Sequence[Diagnostic] = ()
        self.inlined = Inlined(GraphDescription((), ()))
        #: The status words of the last launch, by buffer.
        self.status: dict[PortRef, int] = {}
        #: The findings of the last launch that freeze its frame.
        self.freezing: tuple[Diagnostic, ...] = ()
        #: The findings of the last frames, by their source.
        self._in_frames: dict[str, dict[Identity, Diagnostic]] = {}
        self._frames_shown_ns = 0
        #: Findings that frames no longer have, and the time until which they are shown.
        self.fading: dict[Identity, tuple[Diagnostic, int]] = {}
        self._sightings = Sightings()
        self._status_seen = b""
        #: The plan of the graph whose status words were read last; None when the last graph had none.
        self.status_plan: Plan | None = None
        self.log = DiagnosticsLog()

    def renew(self) -> None:
        """Put all diagnostics together again."""
        values = self._context.value_graph.diagnostics
        misfits = self._context.parameters.misfits_beside(values)
        in_frames = chain(
            *(found.values() for found in self._in_frames.values()), (item for item, _ in self.fading.values())
        )
        found = (
            *misfits,
            *self.blocks,
            *self.stale,
            *in_frames,
            *self.launches,
            *self.refused,
            *self.pictures,
            *self.measuring,
            *values,
            *self._context.muted.reasons.values(),
        )
        before, self.all = self.all, tuple(dict.fromkeys(self.inlined.shown(item) for item in found))
        if before != self.all:
            self.log.follow(before, self.all)
        self.sightings = self._sightings.follow(self.all, self.fading)

    def follow_measuring(self, problem: Diagnostic | None) -> None:
        """Take the reasons for impossible measurements at the current level; None when all are possible."""
        measuring = () if problem is None else (problem,)
        if measuring != self.measuring:
            self.measuring = measuring
            self.renew()

    def follow_pictures(self, problems: tuple[Diagnostic, ...]) -> None:
        """Take the reasons why visible pictures are missing or slow."""
        self.pictures = problems
        self.renew()

    def follow_frame(self, source: str, diagnostics: Iterable[Diagnostic], *, fresh: bool) -> None:
        """Take the findings of the last frame, such as a full buffer, in place of the previous frame's.

        Findings that are gone fade. While the findings stay the same, only their numbers change, at an interval that
        people can read. When `fresh`, all is shown at once and nothing fades.
        """
        before = self._in_frames.get(source, {})
        now = {identity(item): item for item in map(self.inlined.shown, diagnostics)}
        if not (now or before or (fresh and self.fading)):
            return
        time_ns = time.perf_counter_ns()
        for which in now:
            self._sightings.count(which)
            self.fading.pop(which, None)
        is_other = now.keys() != before.keys() or bool(fresh and self.fading)
        if fresh:
            self.fading.clear()
        else:
            end_ns = time_ns + FADE_NS
            self.fading |= {which: (item, end_ns) for which, item in before.items() if which not in now}
        self._in_frames[source] = now
        if not (is_other or self._is_due(fresh)):
            return
        self._frames_shown_ns = time_ns
        if is_other or not set(now.values()) <= set(self.all):
            self.renew()
        else:
            self.sightings = self._sightings.follow(self.all, self.fading)

    def _is_due(self, fresh: bool) -> bool:
        """True when it is time to show the findings of frames, even if they have not changed."""
        if not (self.fading or any(self._in_frames.values())):
            return False
        return fresh or time.perf_counter_ns() - self._frames_shown_ns >= REPORT_INTERVAL_NS

    def fade(self) -> None:
        """Drop findings that frames no longer have, once they were shown long enough."""
        now_ns = time.perf_counter_ns()
        over = [which for which, (_, end_ns) in self.fading.items() if end_ns <= now_ns]
        for which in over:
            del self.fading[which]
        if over:
            self.renew()

    def read_status(self, compiled: CompiledGraph | None, *, fresh: bool) -> None:
        """Read the status words of the last launch."""
        diagnostics: list[Diagnostic] = []
        is_other = self.status_plan is not (compiled.plan if compiled is not None else None)
        if compiled is not None and compiled.status is not None:
            plan, words = compiled.plan, compiled.status.array.tobytes()
            if self._status_seen == words and not is_other and not self._is_due(fresh):
                for which in self._in_frames.get(_STATUS, ()):
                    self._sightings.count(which)
                return
            self._status_seen, self.status_plan = words, plan
            self.status = status_words(plan, compiled.status.array)
            sentinels = list(sentinel_diagnostics(plan, compiled.status.array))
            diagnostics = [*status_diagnostics(plan, self.status, self._context.parameters.values), *sentinels]
            self.freezing = tuple(item for item in sentinels if self._freezes(plan, item))
        elif self.status_plan is not None:
            self.status, self.status_plan, self.freezing = {}, None, ()  # the old words belong to a graph that is gone
        self.follow_frame(_STATUS, diagnostics, fresh=fresh or is_other)

    def _freezes(self, plan: Plan, found: Diagnostic) -> bool:
        """True when a sentinel's finding freezes the frame, by the running graph and by the current patch."""
        port = PortRef(found.node or "", found.port or "")
        known = (plan.inlined.original.sentinels.get(port), self._context.sentinels.get(port))
        return all(sentinel is not None and sentinel.freezes for sentinel in known)


def _has_own_size(description: BlockDescription, port: str) -> bool:
    """True unless an output's size follows from inputs alone: then it can be full, and there is nothing to raise."""
    rule = description.rules.output_of[port]
    return not rule.shape_from or any(name in description.rules.parameters for name in rule.shape_from)


def status_diagnostics(
    plan: Plan, words: Mapping[PortRef, int], values: Mapping[str, Mapping[str, object]]
) -> list[Diagnostic]:
    """Return warnings: for append buffers that are nearly full, loops ended by their limit, library calls that failed.

    `words` are the status words by buffer; `values` the parameter values of the patch's nodes.
    """
    found = []
    for node, status in plan.statuses:
        word = words.get(PortRef(node, status.buffer))  # None for a sentinel's finding
        if not word:
            continue
        if status.call is not None:
            text, remedy = status.call.problem(word)
            found.append(warning(text, node=node, port=status.port, remedy=remedy, source=Source.LAUNCH))
            continue
        if isinstance(status.capacity, ParameterArgument):
            number: Any = plan.inlined.all_values(values).get(node, {}).get(status.capacity.name)
            if number is None:  # of a block that runs on although it was removed
                continue
            capacity = int(number)
        else:
            assert status.capacity is not None
            capacity = status.capacity.extent.evaluate(plan.checked.nodes[node].context)
        source = Source.CAPACITY
        if status.kind is StatusKind.STOPPED:
            text = f"loop must end by itself, got more than {capacity:,} turns, where it was stopped"
            remedy, source = "correct its condition, or raise its limit", Source.LAUNCH
        elif word > capacity:
            text = f"append buffer must hold all appended elements, got {word:,} for {capacity:,} places"
            remedy = f"{word - capacity:,} were left out; raise its capacity"
        elif word > NEARLY_FULL * capacity and _has_own_size(plan.checked.nodes[node].description, status.port):
            text = f"append buffer is at {100 * word / capacity:.0f} % of its capacity ({word:,} of {capacity:,})"
            remedy = "raise its capacity before it overflows"
        else:
            continue
        found.append(warning(text, node=node, port=status.port, remedy=remedy, source=source))
    return found
