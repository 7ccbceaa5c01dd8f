"""Live parameters: where a value goes in a graph that runs, found once so that a change is one write and one call."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from engine.device.protocol import Node

if TYPE_CHECKING:
    from engine.compiler.instantiate import Variant
    from engine.compiler.node_making import KernelNode

#: Kernel nodes of one executable whose argument blocks were written to and which were not refreshed since.
Written = dict[Node, None]
Refresh = Callable[[Iterable[Node]], None]
#: Writes a value wherever it goes, to be passed on by `refresh`; ArgumentError when a kernel can't take it.
Write = Callable[[object], None]


class LiveParameters:
    """The live parameters of a graph, by node and name; each is put together when it is first asked for."""

    def __init__(self, variants: Iterable[Variant]) -> None:
        self._kernels: dict[str, list[tuple[Written, KernelNode]]] = {}
        self._executables: list[tuple[Refresh, Written]] = []
        for variant in variants:
            written: Written = {}
            self._executables.append((variant.executable.refresh, written))
            for kernel in variant.kernels:
                if kernel.parameters:
                    self._kernels.setdefault(kernel.node, []).append((written, kernel))
        self._found: dict[tuple[str, str], Write] = {}

    def find(self, place: tuple[str, str]) -> Write:
        """Return what writes a parameter's value; it does nothing when no kernel takes it."""
        found = self._found.get(place)
        if found is None:
            found = self._found[place] = self._make(*place)
        return found

    def refresh(self) -> int:
        """Pass on what was written since the last call, each kernel node once; return how many there were."""
        count = 0
        for refresh, written in self._executables:
            if written:
                count += len(written)
                refresh(written)
                written.clear()
        return count

    def _make(self, node: str, name: str) -> Write:
        return together(
            [
                kernel.arguments.writer(index, written, kernel.handle)
                for written, kernel in self._kernels.get(node, ())
                for index in kernel.parameters.get(name, ())
            ]
        )


def together(writes: Sequence[Write]) -> Write:
    """Return what writes one value to several places."""
    if len(writes) == 1:
        return writes[0]

    def write(value: object) -> None:
        for write_one in writes:
            write_one(value)

    return write
