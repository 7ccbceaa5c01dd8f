"""Regions: the scope of each block, and the order that a connection across a region's border requires.

A *scope* is a text: `TOP` outside all regions, a region block's id for its body or its first branch, "id.else" for the
other branch of an IfElse, or "id.2" for a branch of a Switch. A connection from inside a region to a block outside
orders the whole region before that block: both ends are lifted to their common scope.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from warploom.engine.blocktypes.block import Block
from warploom.engine.diagnostics import PatchError
from warploom.engine.ops.graph import OTHERWISE

#: The scope outside all regions.
TOP = ""
#: The deepest nesting of regions that is compiled: the operations grow with its square. A person would draw less.
DEEPEST = 64
#: The deepest nesting that a file may have, so that a patch that is too deep can still be opened and mended.
DEEPEST_IN_FILE = 1000


class RegionRefused(PatchError):
    """A block can't be in a region, for the reason in the text."""


def region_of(scope: str) -> str:
    """Return the region block of a scope: "choice" for "choice" and for "choice.else", `TOP` for `TOP`."""
    return scope.partition(".")[0]


def branch_of(scope: str) -> str:
    """Return the branch of a scope: "else" for "choice.else", "" for "choice"."""
    return scope.partition(".")[2]


def branch_note(branch: str) -> str:
    """Return what a list of blocks adds to those in a branch: "otherwise", "branch 2", or "" for a first branch."""
    return "otherwise" if branch == OTHERWISE else branch and f"branch {branch}"


def scope_text(region: str, branch: str = "") -> str:
    """Return the scope of one branch of a region block."""
    return f"{region}.{branch}" if branch else region


@dataclass(frozen=True)
class Scopes:
    """The scope of every block in a region, by id; blocks outside all regions may be left out."""

    scope_of: Mapping[str, str]
    _chains: dict[str, tuple[str, ...]] = field(default_factory=lambda: {TOP: ()}, init=False, repr=False)

    def chain(self, scope: str) -> tuple[str, ...]:
        """Return `scope` and the scopes around it, outermost first. Raise RegionRefused if one lies inside itself."""
        known = self._chains.get(scope)
        if known is not None:
            return known
        below: dict[str, None] = {}
        around = scope
        while around not in self._chains:
            if around in below:
                circle = [region_of(s) for s in below]
                way = " in ".join([*circle[circle.index(region_of(around)) :], region_of(around)])
                raise RegionRefused(f"region must not lie inside itself, got {way}")
            below[around] = None
            around = self.scope_of.get(region_of(around), TOP)
        chain = self._chains[scope] = (*self._chains[around], *reversed(below))
        return chain

    def lift(self, source: str, target: str) -> tuple[str, str]:
        """Return the representative of each of two blocks in their innermost common scope: the block or its region.

        The two are equal if one block is a region around the other, and if the blocks lie in different branches of one
        region. Such a connection orders nothing.
        """
        scope_a, scope_b = self.scope_of.get(source, TOP), self.scope_of.get(target, TOP)
        if scope_a == scope_b:
            return source, target
        a, b = self.chain(scope_a), self.chain(scope_b)
        shared = _shared(a, b)
        return (
            region_of(a[shared]) if shared < len(a) else source,
            region_of(b[shared]) if shared < len(b) else target,
        )

    def common(self, scopes: Iterable[str]) -> str:
        """Return the innermost scope that is, or contains, all of these; `TOP` for none."""
        chains = [self.chain(scope) for scope in scopes]
        around = chains[0][: min(_shared(chains[0], chain) for chain in chains)] if chains else ()
        return around[-1] if around else TOP

    def lifted(self, pairs: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
        """Return the pairs of blocks that are ordered, each lifted to the common scope of its two blocks."""
        for source, target in pairs:
            a, b = self.lift(source, target)
            if a != b or source == target:
                yield a, b


def _shared(a: tuple[str, ...], b: tuple[str, ...]) -> int:
    """Return the number of leading scopes that two chains share."""
    return next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))


def check_region(node: str, region: str, block_type: type[Block] | None, branch: str) -> None:
    """Raise RegionRefused unless blocks may lie in this branch of a region block. An unknown type may be a region."""
    if block_type is None or branch in block_type.regions:
        return
    if not block_type.regions:
        raise RegionRefused(f"region of {node} must be a block that holds others, got {region} ({block_type.id})")
    names = " or ".join(scope_text(region, name) for name in block_type.regions)
    raise RegionRefused(f"region of {node} must be {names} ({block_type.id}), got {scope_text(region, branch)}")
