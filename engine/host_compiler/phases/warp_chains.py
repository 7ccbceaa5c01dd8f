"""Chains of phases that a warp runs one after the other before the next warp starts.

Threads that meet at a warp operation wait for their warp only. So where whole warps are together, each may go from one
phase to the next until it comes to a barrier: its values stay in the nearest cache, and the scheduler does not run in
between. A warp may also reach that barrier by a shorter path, by a comparison with the same result in all its threads.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from warploom.engine.host_compiler import abi
from warploom.engine.host_compiler.analysis.suspension_points import BARRIER, WARP, SuspensionPoint
from warploom.engine.host_compiler.phases.phase_ends import PhaseEnds
from warploom.engine.ptx.tree import Integer

#: The most links, since the optimiser's time for a function grows with the square of its loops, of which each link has
#: one. Shorter chains make a sort of 120 shuffles 5 % slower.
_MOST = 128
#: The links that a product of matrices counts as. Its fragments lie in memory, so a chain gains less from it.
_PRODUCT = 4


@dataclass(frozen=True)
class Link:
    """A phase of a chain, by its number, and how warps come to it.

    `way` is the block with which the phase before it ends, -1 for the first phase. From the blocks `others` warps leave
    out the rest of the chain; there are none where all go on.
    """

    phase: int
    way: int = -1
    others: frozenset[int] = frozenset()


@dataclass(frozen=True)
class PhaseChain:
    """Phases in order, and the number of the point that every warp reaches, or EXITED where all threads end."""

    links: tuple[Link, ...]
    final: int


def chains(
    first: int,
    ends: Callable[[int], PhaseEnds | None],
    points: Mapping[int, SuspensionPoint],
    numbers: Mapping[int, int],
) -> list[PhaseChain]:
    """Return the chains of two phases and more that start with the phase `first`, the longest first.

    `ends` gives the ends of a phase, None when it can be in no chain; `points` are the points by their blocks, and
    `numbers` their numbers.
    """
    found: list[PhaseChain] = []
    links, aside = [Link(first)], set[int]()
    length = 1
    while length <= _MOST and (phase := ends(links[-1].phase)) is not None:
        ways = {site.index: numbers.get(site.index, 0) for site in phase.sites}
        if not all(ways.values()):
            break  # a branch that leads straight to two points
        seen = {link.phase for link in links}
        inner = [index for index, number in ways.items() if number not in seen and _is_free(points[index])]
        aside |= {number for index, number in ways.items() if index not in inner}
        aside |= {abi.EXITED} if phase.leaving else set()
        if len(inner) > 1 or len(aside) > 1:
            break
        if not inner:
            found.append(PhaseChain(tuple(links), *aside))
            break
        (way,) = inner
        others = phase.leaving | ways.keys() - {way}
        if not others and aside <= {ways[way]}:
            found.append(PhaseChain(tuple(links), ways[way]))
        links.append(Link(ways[way], way, frozenset(others)))
        length += 1 if points[way].matrices is None else _PRODUCT
    counted = {numbers[index] for index, point in points.items() if point.kind == BARRIER and point.collective}
    # Reductions at barriers check the state of each thread.
    return [chain for chain in reversed(found) if len(chain.links) > 1 and chain.final not in counted]


def _is_free(point: SuspensionPoint) -> bool:
    """Whether a whole warp may go on from a point at once: its threads are waited for, and no others."""
    members = point.operand(abi.MEMBERS) if point.kind == WARP else None
    return isinstance(members, Integer) and members.value & 0xFFFFFFFF in (0, 0xFFFFFFFF)
