"""Live parameters: where a value goes in a graph that runs, found once so that a change is one write and one call."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from engine.device.arguments import ArgumentPlace
from engine.device.protocol import Node

if TYPE_CHECKING:
    from engine.compiler.instantiate import Variant
    from engine.compiler.node_making import KernelNode

#: Kernel nodes of one executable whose argument blocks were written to and which were not refreshed since.
Written = dict[Node, None]
Refresh = Callable[[Iterable[Node]], None]


class LiveParameter:
    """The arguments that take one parameter's value, and the kernel nodes that they are of."""

    __slots__ = ("nodes", "places")

    def __init__(self, places: Iterable[ArgumentPlace], nodes: Iterable[tuple[Written, Node]]) -> None:
        self.places = tuple(places)
        self.nodes = tuple(nodes)

    def write(self, value: object) -> None:
        """Write a value to all its places, to be passed on by `refresh`; ArgumentError when a kernel can't take it."""
        for place in self.places:
            place.write(value)
        for written, node in self.nodes:
            written[node] = None


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
        self._found: dict[tuple[str, str], LiveParameter] = {}

    def find(self, place: tuple[str, str]) -> LiveParameter:
        """Return where the value of a parameter goes: nowhere, when no kernel takes it."""
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

    def _make(self, node: str, name: str) -> LiveParameter:
        taking = [
            (w, kernel, kernel.parameters[name])
            for w, kernel in self._kernels.get(node, ())
            if name in kernel.parameters
        ]
        return LiveParameter(
            [kernel.arguments.place(position) for _, kernel, positions in taking for position in positions],
            [(written, kernel.handle) for written, kernel, _ in taking],
        )
