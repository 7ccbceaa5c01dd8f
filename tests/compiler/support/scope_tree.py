"""Which regions contain which blocks, and which region stands for a block in each scope around it."""

from warploom.engine.compiler.description import GraphDescription


class ScopeTree:
    """The regions of a description."""

    def __init__(self, description: GraphDescription) -> None:
        self._region_of = {node.id: node.region for node in description.nodes}

    def around(self, node: str) -> list[tuple[str, str]]:
        """Return (scope, the block or its region in that scope) from the outermost scope down to the block's own."""
        scope = self._region_of[node]
        above = self.around(scope.split(".")[0]) if scope else []
        return [*above, (scope, node)]

    def common(self, first: str, second: str) -> tuple[str, str, str] | None:
        """Return the innermost scope around two blocks and, for each, the block or its region there; None if equal."""
        found = None
        for (scope, one), (other_scope, other) in zip(self.around(first), self.around(second), strict=False):
            if scope != other_scope:
                break
            found = (scope, one, other) if one != other else None
        return found

    def region_with_branches(self, first: str, second: str) -> str:
        """Return the region that contains two blocks in different branches, or None."""
        region = ""
        for (scope, one), (other_scope, other) in zip(self.around(first), self.around(second), strict=False):
            if scope != other_scope:
                return region
            if one != other:
                return ""
            region = one
        return ""
