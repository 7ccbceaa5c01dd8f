"""Random graphs whose bodies do several things at a time, against a plain interpreter, on every device.

A body is a number of tracks. Each track changes a number of its own, step by step, and no track waits for another, so
that loops and choices lie beside kernels, and beside each other, in any order.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pytest

from engine.device.device import Buffer, Device
from engine.device.graph import Graph
from engine.device.protocol import ConditionalKind, GraphNode
from tests.device.graph_support import Kernels
from tests.fuzzing import seeds

IF, IF_ELSE, WHILE = ConditionalKind.IF, ConditionalKind.IF_ELSE, ConditionalKind.WHILE


@dataclass
class Mix:
    """The track's number becomes 31 times itself plus a value."""

    value: int


@dataclass
class Choice:
    """One of two bodies runs: the first when the track's number is even; the second may be missing."""

    kind: ConditionalKind
    bodies: list[list[Track]]


@dataclass
class Loop:
    """The body runs a number of times; what counts the turns waits for the last steps of some tracks."""

    turns: int
    body: list[Track]
    awaited: int


@dataclass
class Track:
    """Steps that change one number, in sequence."""

    number: int
    steps: list[Mix | Choice | Loop]


class Program:
    """A random program, and how many numbers it has."""

    def __init__(self, seed: int) -> None:
        self._draw = random.Random(seed)
        self.numbers = 0
        self.tracks = self._body(self._draw.choice((1, 2, 3)))

    def _body(self, depth: int, number: int | None = None) -> list[Track]:
        """Return the tracks of a body, maybe none; the first may go on with the number of the track around it."""
        tracks = []
        for at in range(self._draw.choice((0, 1, 1, 2, 3, 5) if number is not None else (1, 2, 4))):
            if at or number is None:
                mine, self.numbers = self.numbers, self.numbers + 1
            else:
                mine = number
            tracks.append(Track(mine, [self._step(depth, mine) for _ in range(self._draw.choice((1, 1, 1, 2, 3)))]))
        return tracks

    def _step(self, depth: int, number: int) -> Mix | Choice | Loop:
        match self._draw.choice(("mix", "mix", "if", "else", "loop") if depth else ("mix",)):
            case "if":
                return Choice(IF, [self._body(depth - 1, number)])
            case "else":
                return Choice(IF_ELSE, [self._body(depth - 1, number) for _ in range(2)])
            case "loop":
                return Loop(self._draw.randint(1, 4), self._body(depth - 1, number), self._draw.randint(0, 3))
        return Mix(self._draw.randint(0, 99))

    def run(self, numbers: list[int]) -> None:
        """Do what a launch does."""
        self._run(self.tracks, numbers)

    def _run(self, tracks: Sequence[Track], numbers: list[int]) -> None:
        for track in tracks:
            for step in track.steps:
                match step:
                    case Mix(value):
                        numbers[track.number] = (31 * numbers[track.number] + value) % 2**32
                    case Choice(_, bodies):
                        taken = numbers[track.number] % 2
                        self._run(bodies[taken] if taken < len(bodies) else (), numbers)
                    case Loop(turns, body, _):
                        for _ in range(turns):
                            self._run(body, numbers)


class Builder:
    """Makes a graph of tracks."""

    def __init__(self, kernels: Kernels, numbers: Sequence[Buffer]) -> None:
        self._kernels, self._numbers = kernels, numbers

    def build(self, graph: Graph, tracks: Sequence[Track]) -> list[list[GraphNode]]:
        """Add the tracks of a body and return what comes last in each."""
        return [self._track(graph, track) for track in tracks]

    def _track(self, graph: Graph, track: Track) -> list[GraphNode]:
        after: list[GraphNode] = []
        number = self._numbers[track.number]
        for step in track.steps:
            match step:
                case Mix(value):
                    after = [self._kernels.add(graph, "mix", number, value, after=after)]
                case Choice(kind, bodies):
                    condition = graph.create_condition(0)
                    decided = self._kernels.add(graph, "if_even", condition, number, after=after)
                    node, graphs = graph.add_conditional(kind, condition, [decided])
                    after = [node]
                    for inside, body in zip(graphs, bodies, strict=True):
                        self.build(inside, body)
                case Loop(turns, body, awaited):
                    condition, counter = graph.create_condition(0), self._kernels.number(0)
                    armed = self._kernels.add(graph, "set", condition, 1, after=after)
                    node, (inside,) = graph.add_conditional(WHILE, condition, [armed])
                    after = [node]
                    ends = self.build(inside, body)[:awaited]
                    last = [end for each in ends for end in each]
                    self._kernels.add(inside, "turn", condition, counter, turns, after=last)
        return after


@pytest.fixture(scope="module")
def kernels(device: Device) -> Kernels:
    """The kernels on each device in turn."""
    return Kernels(device)


def check(kernels: Kernels, seed: int) -> None:
    """Compare what a random graph leaves with what an interpreter does, launch by launch."""
    program = Program(seed)
    held = [kernels.number(at, np.uint32) for at in range(program.numbers)]
    graph, expected = kernels.device.create_graph(), list(range(program.numbers))
    Builder(kernels, held).build(graph, program.tracks)
    executable = graph.instantiate()
    for _ in range(3):
        program.run(expected)
        assert kernels.run(executable, *held) == expected
    executable.destroy()
    graph.destroy()
    for buffer in held:
        buffer.free()


@pytest.mark.parametrize("seed", seeds(40))
def test_what_lies_beside_each_other_does_not_meet(kernels: Kernels, seed: int) -> None:
    """Each track's number is what its own steps make of it, and every loop ends."""
    check(kernels, seed)
