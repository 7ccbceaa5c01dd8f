"""A phase of a waiting kernel: its start, the registers that it restores, and its end."""

from collections.abc import Collection
from functools import cached_property, partial

from warploom.engine.host_compiler import parallel
from warploom.engine.host_compiler.analysis.control_flow import loops
from warploom.engine.host_compiler.analysis.phase_values import PhaseValues, phase_values
from warploom.engine.host_compiler.analysis.suspension_points import YIELD, SuspensionPoint
from warploom.engine.host_compiler.code import quoted
from warploom.engine.host_compiler.phases.phase_ends import PhaseEnds
from warploom.engine.host_compiler.phases.waiting_kernel import WaitingKernel
from warploom.engine.host_compiler.runtime.scheduler import PhasePlan


class Phase:
    """A phase of a kernel: number 0 runs from the start, any other from after the point of that number.

    `passed` are the blocks with yields at which a thread does not stop.
    """

    def __init__(self, shared: WaitingKernel, number: int, passed: frozenset[int] = frozenset()) -> None:
        self._shared, self.number, self.passed = shared, number, passed
        self.start, self.line = 0, 0
        self.point: SuspensionPoint | None = None
        self.restored = frozenset[str]()
        if number:
            waited = shared.waiting[number - 1]
            self.start, self.line = waited.index + 1, waited.instructions[-1].line
            self.point = shared.points[waited.index]
            self.restored = shared.flow.live_in(self.start) - self.point.registers
        #: Uniform registers that a chain from here spills once, beside those of the phase.
        self.chained: Collection[str] = ()
        self.ends = PhaseEnds(
            shared.flow, shared.points, shared.numbers, shared.spills, self.start, self.restored, passed
        )
        self.has_loop = bool(passed) or parallel.has_loop(shared.flow, self.ends.pieces)

    @cached_property
    def is_parallel(self) -> bool:
        """Whether many threads may run at once, and gain from it."""
        shared, pieces = self._shared, self.ends.pieces
        return parallel.is_parallel(shared.flow, pieces, shared.provenance) and parallel.is_worthwhile(
            shared.kernel, shared.layout, shared.flow, pieces, self._values
        )

    def _values(self) -> PhaseValues:
        """Return the facts of registers when the phase runs by itself."""
        shared = self._shared
        facts = shared.spills.facts(shared.body(), self.restored)
        available = partial(shared.available, self.start)
        return phase_values(shared.kernel, shared.flow, self.ends.pieces, self.start, facts, available)

    @property
    def is_repeated(self) -> bool:
        """Whether the phase starts inside a loop."""
        return bool(self.number) and any(self.start in loop.blocks for loop in loops(self._shared.flow))

    @property
    def reads_neighbours(self) -> bool:
        """Whether the phase begins by reading values from other threads of a warp."""
        return self.point is not None and self.point.shuffle is not None

    def name(self, suffix: str = "") -> str:
        """Return the LLVM name of a function of the phase."""
        return f"@{quoted(f'{self._shared.kernel.name}|phase.{self.number}{suffix}')}"

    def without_yields(self) -> "Phase":
        """Return the phase of threads that do not stop to yield."""
        points = self._shared.points
        sites = frozenset(site.index for site in self.ends.sites if site.suspends and points[site.index].kind == YIELD)
        return Phase(self._shared, self.number, self.passed | sites).without_yields() if sites else self

    def following(self) -> set[int]:
        """Return the numbers of the phases that may run next."""
        return {self._shared.numbers[block.index] for site in self.ends.sites for block in self.ends.points(site)}

    def plan(self) -> PhasePlan:
        """Return the facts about the phase for the scheduler."""
        spills, body = self._shared.spills, self._shared.body()
        common = self.ends.shared()
        once = sorted({*(common if self.ends.is_single else []), *self.chained})
        shared, once_arrays, each = (
            [spills.array(body, name) for name in names]
            for names in (spills.uniform(self.restored), once, [] if self.ends.is_single else common)
        )
        return PhasePlan(self.name(), self.point, self.line, shared, once_arrays, each)
