"""Nesting: which regions lie in which, and what a connection across their borders orders.

A connection from a block in one region to a block outside it orders the whole region before that block: both ends are
lifted to the scope that they have in common, where each is either the block itself or the region around it.
"""

from __future__ import annotations

from engine.compiler.description import TOP, GraphDescription, region_of


class Nesting:
    """The scope of each block that is in a region, and the way from each scope up to the top."""

    def __init__(self, description: GraphDescription) -> None:
        self._scope_of = {node.id: node.region for node in description.nodes if node.region}
        self._chains: dict[str, tuple[str, ...]] = {TOP: (TOP,)}

    @property
    def is_flat(self) -> bool:
        """True when there is no block in a region."""
        return not self._scope_of

    def scope_of(self, node: str) -> str:
        """Return the scope that a block lies in."""
        return self._scope_of.get(node, TOP)

    def chain(self, scope: str) -> tuple[str, ...]:
        """Return the scopes from the top down to `scope`, both included."""
        known = self._chains.get(scope)
        if known is None:
            known = self._chains[scope] = (*self.chain(self.scope_of(region_of(scope))), scope)
        return known

    def lift(self, a: str, b: str) -> tuple[str, str]:
        """Return what stands for each of two blocks in the innermost scope that holds both."""
        if not self._scope_of:
            return a, b
        scope_a, scope_b = self.scope_of(a), self.scope_of(b)
        if scope_a == scope_b:
            return a, b
        up, down = self.chain(scope_a), self.chain(scope_b)
        depth = 0
        while depth < min(len(up), len(down)) and up[depth] == down[depth]:
            depth += 1
        return (region_of(up[depth]) if depth < len(up) else a, region_of(down[depth]) if depth < len(down) else b)

    def holds(self, region: str, node: str) -> bool:
        """True when a block lies inside a region block, at any depth."""
        return any(region_of(scope) == region for scope in self.chain(self.scope_of(node))[1:])

    def regions_between(self, inner: str, outer: str) -> list[str]:
        """Return the region blocks around scope `inner` that do not hold scope `outer`, the outermost first."""
        other = self.chain(outer)
        return [region_of(s) for depth, s in enumerate(self.chain(inner)) if depth >= len(other) or other[depth] != s]
