"""`Amendment`: in what a plan is other than the earlier one that it was made from."""

from __future__ import annotations

from dataclasses import dataclass

from engine.compiler.operations import Operation


@dataclass(frozen=True)
class Amendment:
    """What became of the operations of an earlier plan, `base`; `earlier` has the index there of each, or -1.

    `renewed` operations may touch other bytes or be launched otherwise than before, `retied` ones wait for others.
    `blocks` are those that were looked at again.
    """

    base: tuple[Operation, ...]
    earlier: list[int]
    renewed: frozenset[int]
    retied: frozenset[int]
    blocks: frozenset[str]

    @property
    def gone(self) -> list[int]:
        """The operations of the earlier plan that are in this one no more."""
        kept = set(self.earlier)
        return [index for index in range(len(self.base)) if index not in kept]
