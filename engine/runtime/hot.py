"""Hot parameters: live parameters that a person is changing, so that the next change is a write and a driver call."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from engine.compiler.live_parameters import Write
from engine.device.arguments import ArgumentError
from engine.patch.changes import ParameterChanged

if TYPE_CHECKING:
    from engine.compiler.instantiate import CompiledGraph
    from engine.runtime.placing import PlacedBlock

#: Where a block keeps a parameter's value, under which name, and what writes it into the running graph.
_Hot = tuple[dict[str, Any], str, Write]


class HotParameters:
    """Parameters of one running graph, by node and name, that were changed since it began to run.

    `refused` is why a kernel could not take a value, until somebody has seen to it.
    """

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], _Hot] = {}
        self._driven: dict[tuple[str, str], Write] = {}
        #: True when something was written that the device has not been told of.
        self.is_written = False
        self.refused: ArgumentError | None = None

    def learn(
        self,
        places: Iterable[tuple[str, str]],
        compiled: CompiledGraph,
        placed: Mapping[str, PlacedBlock],
        is_driven: Callable[[str, str], bool],
    ) -> None:
        """Take in parameters of the running graph, so that their next values go straight there."""
        for node, name in places:
            block = placed[node].block if node in placed else None
            if block is None:
                continue
            write = _together([compiled.live.find(p) for p in compiled.plan.inlined.set_places({(node, name): None})])
            if is_driven(node, name):
                self._driven[node, name] = write
            elif name in placed[node].given and name not in placed[node].misfits:  # else the registry has to hear of it
                self._known[node, name] = block.values, name, write

    def take(self, change: ParameterChanged) -> bool:
        """Write the value of a parameter that is known; False, and nothing done, for any other."""
        key = change.node, change.parameter
        hot, value = self._known.get(key), change.value
        if hot is None:
            return False
        if value is None:  # which stands for a default, and has to be looked up
            del self._known[key]
            return False
        values, name, write = hot
        values[name] = value
        self.is_written = True
        try:
            write(value)
        except ArgumentError as problem:
            self.refused = problem
        return True

    def drive(self, node: str, name: str, value: object) -> bool:
        """Write the value that drives a parameter; False, and nothing done, when the parameter is not known."""
        write = self._driven.get((node, name))
        if write is None:
            return False
        self.is_written = True
        try:
            write(value)
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


def _together(writes: Sequence[Write]) -> Write:
    """Return what writes one value to several parameters: those inside a composite that one of it sets."""
    if len(writes) == 1:
        return writes[0]

    def write_all(value: object) -> None:
        for write in writes:
            write(value)

    return write_all
