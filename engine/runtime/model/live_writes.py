"""Hot parameters: live parameters that a person is changing, so that the next change is a write and a driver call."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from engine.compiler.executable.compiled_graph import Write, together
from engine.device.arguments import ArgumentError
from engine.patch.changes import ParameterChanged

if TYPE_CHECKING:
    from engine.compiler.executable.compiled_graph import CompiledGraph
    from engine.protocol.messages import Message
    from engine.runtime.model.block_creation import PlacedBlock

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
            write = together([compiled.live.find(p) for p in compiled.plan.inlined.set_places({(node, name): None})])
            if is_driven(node, name):
                self._driven[node, name] = write
            elif name in placed[node].given and name not in placed[node].misfits:  # else the registry has to hear of it
                self._known[node, name] = block.values, name, write

    def read(self, inbox: deque[Message]) -> Message | None:
        """Write the values of known parameters at the front of an inbox; return the first other message, or None.

        There may be a thousand a frame.
        """
        known, take = self._known, inbox.popleft
        while inbox:
            message = take()
            if type(message) is not ParameterChanged:
                return message
            key, value = (message.node, message.parameter), message.value
            hot = known.get(key)
            if hot is None:
                return message
            if value is None:  # which stands for a default, and has to be looked up
                del known[key]
                return message
            values, name, write = hot
            values[name] = value
            self.is_written = True
            try:
                write(value)
            except ArgumentError as problem:
                self.refused = problem
        return None

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
