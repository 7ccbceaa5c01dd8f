"""Nesting: which regions lie in which, as the compiler asks it of a description; see `engine.patch.regions`."""

from __future__ import annotations

from engine.compiler.description import GraphDescription
from engine.patch.regions import TOP, Scopes, region_of


class Nesting:
    """The scope of each block that is in a region, and the way from each scope up to the top."""

    def __init__(self, description: GraphDescription) -> None:
        self._scopes = Scopes({node.id: node.region for node in description.nodes if node.region})

    @property
    def is_flat(self) -> bool:
        """True when there is no block in a region."""
        return not self._scopes.scope_of

    def scope_of(self, node: str) -> str:
        """Return the scope that a block lies in."""
        return self._scopes.scope_of.get(node, TOP)

    def chain(self, scope: str) -> tuple[str, ...]:
        """Return the scopes from the top down to `scope`, both included."""
        return (TOP, *self._scopes.chain(scope))

    def lift(self, a: str, b: str) -> tuple[str, str]:
        """Return what stands for each of two blocks in the innermost scope that holds both."""
        return self._scopes.lift(a, b) if self._scopes.scope_of else (a, b)

    def holds(self, region: str, node: str) -> bool:
        """True when a block lies inside a region block, at any depth."""
        return any(region_of(scope) == region for scope in self._scopes.chain(self.scope_of(node)))

    def regions_between(self, inner: str, outer: str) -> list[str]:
        """Return the region blocks around scope `inner` that do not hold scope `outer`, the outermost first."""
        other = self.chain(outer)
        return [region_of(s) for depth, s in enumerate(self.chain(inner)) if depth >= len(other) or other[depth] != s]
