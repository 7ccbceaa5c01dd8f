"""Hot parameters: live parameters that a person is changing, so that the next change is a write and a driver call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from engine.compiler.live_parameters import LiveParameter
from engine.device.arguments import ArgumentError
from engine.patch.changes import ParameterChanged

#: Where a block keeps a parameter's value, under which name, and where the running graph does.
_Hot = tuple[dict[str, Any], str, LiveParameter]


class HotParameters:
    """Parameters of one running graph, by node and name, that were changed since it began to run.

    `refused` is why a kernel could not take a value, until somebody has seen to it.
    """

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], _Hot] = {}
        self._driven: dict[tuple[str, str], LiveParameter] = {}
        #: True when something was written that the device has not been told of.
        self.is_written = False
        self.refused: ArgumentError | None = None

    def know(self, place: tuple[str, str], values: dict[str, Any], graph: Sequence[LiveParameter]) -> None:
        """Take in a parameter that edits set: `values` is where its block keeps it, `graph` where the running graph."""
        self._known[place] = values, place[1], _together(graph)

    def know_driven(self, place: tuple[str, str], graph: Sequence[LiveParameter]) -> None:
        """Take in a parameter that a value connection drives, which edits do not reach."""
        self._driven[place] = _together(graph)

    def take(self, change: ParameterChanged) -> bool:
        """Write the value of a parameter that is known; False, and nothing done, for any other."""
        key = change.node, change.parameter
        hot, value = self._known.get(key), change.value
        if hot is None:
            return False
        if value is None:  # which stands for a default, and has to be looked up
            del self._known[key]
            return False
        values, name, graph = hot
        values[name] = value
        self.is_written = True
        try:
            for place in graph.places:  # as `graph.write` does, without a call
                place.write(value)
            for written, node in graph.nodes:
                written[node] = None
        except ArgumentError as problem:
            self.refused = problem
        return True

    def drive(self, node: str, name: str, value: object) -> bool:
        """Write the value that drives a parameter; False, and nothing done, when the parameter is not known."""
        graph = self._driven.get((node, name))
        if graph is None:
            return False
        self.is_written = True
        try:
            graph.write(value)
        except ArgumentError as problem:
            self.refused = problem
        return True

    def leave(self, node: str, name: str) -> None:
        """Look one parameter up again: a value of it waits elsewhere, and a newer one must not overtake that."""
        self._known.pop((node, name), None)

    def forget(self) -> None:
        """Look parameters up again from now on: blocks, connections or the graph are others."""
        self._known.clear()
        self._driven.clear()


def _together(graph: Sequence[LiveParameter]) -> LiveParameter:
    """Return the places of parameters that have one value: those inside a composite that one of it sets."""
    if len(graph) == 1:
        return graph[0]
    return LiveParameter([p for g in graph for p in g.places], [node for g in graph for node in g.nodes])
