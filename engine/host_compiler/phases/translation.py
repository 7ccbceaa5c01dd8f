"""The functions of all phases of a waiting kernel.

A phase without loops has two: one whose accesses are checked for all threads before they run, and its twin, which
checks each and runs when one of them may be outside. Where a chain begins, a third one runs the whole chain. Code that
is compiled quickly has only the twin, for one thread after the other.
"""

from warploom.engine.host_compiler import abi
from warploom.engine.host_compiler.analysis.control_flow import ControlFlow
from warploom.engine.host_compiler.memory_layout import MemoryLayout
from warploom.engine.host_compiler.phases.phase import Phase
from warploom.engine.host_compiler.phases.phase_ends import PhaseEnds
from warploom.engine.host_compiler.phases.phase_function import NoFunction, PhaseFunction, PhaseStep
from warploom.engine.host_compiler.phases.waiting_kernel import WaitingKernel
from warploom.engine.host_compiler.phases.warp_chains import Link, PhaseChain, chains
from warploom.engine.host_compiler.runtime import scheduler
from warploom.engine.ptx.tree import Function


def translate_waiting(
    kernel: Function, layout: MemoryLayout, callees: dict[str, Function], flow: ControlFlow, *, quickly: bool
) -> tuple[str, int]:
    """Return the LLVM text of a kernel whose threads wait, and the scratch bytes that a worker needs to run it.

    The kernel is cut at its suspension points. Each piece, a *phase*, runs from the start or from one point to the next
    points, for all threads of a thread block in a plain loop. The scheduler then runs the phase that follows the point
    which the threads have reached.

    `quickly`: each phase has one function, in which each access is checked. Writing and compiling it takes less time.
    """
    shared = WaitingKernel(kernel, layout, callees, flow)
    phases = [Phase(shared, number) for number in range(len(shared.waiting) + 1)]
    text = [_one_by_one(shared, phase) for phase in phases] if quickly else _functions(shared, phases)
    plan = [phase.plan() for phase in phases]
    text += shared.definitions
    text.append(scheduler.text(kernel.name, plan, shared.limits_text(), parts_at_barriers=shared.parts_at_barriers))
    return "\n".join(text), shared.spills.size + 64


def _one_by_one(shared: WaitingKernel, phase: Phase, suffix: str = "") -> str:
    """Return the function of a phase whose threads run one after the other."""
    steps = [PhaseStep(phase, Link(phase.number))]
    return PhaseFunction(shared, steps, is_parallel=False, is_hoisted=False).text(suffix, "")[0]


def _functions(shared: WaitingKernel, phases: list[Phase]) -> list[str]:
    """Return the functions of all phases: chains where whole warps are together, and each phase by itself."""
    text: list[str] = []
    pending, begun = [0], set[int]()
    while pending:
        number = pending.pop()
        if number in begun:
            continue
        begun.add(number)
        found = _chained(shared, phases, number)
        if found is None:
            text.append(_alone(shared, phases[number]))
            pending += phases[number].following()
        else:
            chain, text_of_chain = found
            text += [text_of_chain, _alone(shared, phases[number], "|alone")]
            pending += [chain.final] if chain.final != abi.EXITED else []
    inner = (phase for phase in phases if phase.number not in begun)
    return text + [_alone(shared, phase, is_inner=True) for phase in inner]


def _chained(shared: WaitingKernel, phases: list[Phase], first: int) -> tuple[PhaseChain, str] | None:
    """Return the longest chain that begins with a phase, and its function; None when there is none."""
    if shared.parts_at_barriers:
        return None

    def ends(number: int) -> PhaseEnds | None:
        return phases[number].ends if phases[number].is_parallel else None

    most = len(phases)
    for chain in chains(first, ends, shared.points, shared.numbers):
        if len(chain.links) > most:  # it would fail at the same link as the chain before it
            continue
        steps = [PhaseStep(phases[link.phase], link) for link in chain.links]
        function = PhaseFunction(shared, steps, is_parallel=True, is_hoisted=True, final=chain.final)
        try:
            text, _ = function.text("", "|alone")
        except NoFunction:
            most = function.written
            continue
        phases[first].chained = function.common
        return chain, text
    return None


def _alone(shared: WaitingKernel, phase: Phase, suffix: str = "", *, is_inner: bool = False) -> str:
    """Return the functions of one phase; `is_inner`: a chain runs it wherever whole warps are together."""
    steps = [PhaseStep(phase, Link(phase.number))]
    if phase.has_loop:
        return _with_loop(shared, phase, suffix)
    text, twin, may_run_often = "", suffix, True
    if not (is_inner and phase.is_parallel and phase.reads_neighbours):
        twin = "|checked"
        hoisted = PhaseFunction(shared, steps, is_parallel=phase.is_parallel, is_hoisted=True)
        text, needs_twin = hoisted.text(suffix, twin)
        may_run_often = hoisted.is_hopeful
        if not needs_twin:
            return text
    is_parallel = phase.is_parallel and may_run_often
    return text + PhaseFunction(shared, steps, is_parallel=is_parallel, is_hoisted=False).text(twin, "")[0]


def _with_loop(shared: WaitingKernel, phase: Phase, suffix: str) -> str:
    """Return the functions of a phase with loops; if only one thread runs the loops, the others run the rest in one
    function.
    """
    calm = phase.without_yields()
    text, twin = "", suffix
    try:
        steps = [PhaseStep(calm, Link(phase.number))]
        text, needs_twin = PhaseFunction(shared, steps, is_parallel=True, is_hoisted=True).text(suffix, "|checked")
    except NoFunction:
        pass
    else:
        phase.chained = calm.ends.shared() if calm is not phase else ()
        twin = "|checked"
        if not needs_twin:
            return text
    return text + _one_by_one(shared, phase, twin)
