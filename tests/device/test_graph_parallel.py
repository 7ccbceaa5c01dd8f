"""Random graphs with parallel nodes in their bodies, against a plain interpreter, on every device.

A body has several tracks. Each track changes its own number step by step, and no track waits for another. So loops and
choices run beside kernels, fills, copies, captures, child graphs and each other, in any order.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import pytest

from tests.device.graph_support import Kernels
from tests.fuzzing import seeds
from warploom.engine.device.device import Buffer, Device
from warploom.engine.device.graph import Graph
from warploom.engine.device.protocol import ConditionalKind, GraphNode, Stream

_PUTS = ("fill", "copy", "capture")
IF, IF_ELSE, WHILE = ConditionalKind.IF, ConditionalKind.IF_ELSE, ConditionalKind.WHILE


@dataclass
class Mix:
    """Multiplies the track's number by 31 and adds a value."""

    value: int


@dataclass
class Put:
    """Replaces the track's number, with a fill of its bytes, a copy or a captured copy."""

    how: str
    value: int


@dataclass
class Child:
    """Runs some mixes in sequence, in a child graph or as one captured call."""

    values: list[int]
    is_captured: bool


@dataclass
class Choice:
    """Runs the first of two bodies if the track's number is even, else the second, which may be missing."""

    kind: ConditionalKind
    bodies: list[list[Track]]


@dataclass
class Loop:
    """Runs its body a number of times.

    The node that counts turns is first, or waits for the last steps of some tracks.
    """

    turns: int
    body: list[Track]
    awaited: int
    is_counted_first: bool


@dataclass
class Track:
    """Steps that change one number in sequence."""

    number: int
    steps: list[Step]


Step = Mix | Put | Child | Choice | Loop


class Program:
    """A random program, and the count of its numbers."""

    def __init__(self, seed: int) -> None:
        self._draw = random.Random(seed)
        self.numbers = 0
        self.tracks = self._body(self._draw.choice((1, 2, 3)))

    def _body(self, depth: int, number: int | None = None) -> list[Track]:
        """Return the tracks of a body, possibly none; the first may continue the enclosing track's number."""
        tracks = []
        for at in range(self._draw.choice((0, 1, 1, 2, 3, 5) if number is not None else (1, 2, 4))):
            if at or number is None:
                mine, self.numbers = self.numbers, self.numbers + 1
            else:
                mine = number
            tracks.append(Track(mine, [self._step(depth, mine) for _ in range(self._draw.choice((1, 1, 1, 2, 3)))]))
        return tracks

    def _step(self, depth: int, number: int) -> Step:
        draw = self._draw
        match draw.choice((*["mix"] * 4, *_PUTS, "child", "call", *(["if", "else", "loop"] * 2 if depth else ()))):
            case "if":
                return Choice(IF, [self._body(depth - 1, number)])
            case "else":
                return Choice(IF_ELSE, [self._body(depth - 1, number) for _ in range(2)])
            case "loop":
                return Loop(draw.randint(1, 4), self._body(depth - 1, number), draw.randint(0, 3), draw.random() < 0.5)
            case "child":
                return Child([draw.randint(0, 99) for _ in range(draw.randint(0, 3))], is_captured=False)
            case "call":
                return Child([draw.randint(0, 99) for _ in range(draw.randint(1, 3))], is_captured=True)
            case "mix":
                return Mix(draw.randint(0, 99))
            case how:
                return Put(how, draw.randint(0, 99) * 0x01010101)

    def run(self, numbers: list[int]) -> None:
        """Update the numbers to those after one more launch."""
        self._run(self.tracks, numbers)

    def _run(self, tracks: Sequence[Track], numbers: list[int]) -> None:
        for track in tracks:
            for step in track.steps:
                match step:
                    case Mix(value):
                        numbers[track.number] = (31 * numbers[track.number] + value) % 2**32
                    case Put(_, value):
                        numbers[track.number] = value
                    case Child(values):
                        self._run([Track(track.number, list(map(Mix, values)))], numbers)
                    case Choice(_, bodies):
                        taken = numbers[track.number] % 2
                        self._run(bodies[taken] if taken < len(bodies) else (), numbers)
                    case Loop(turns, body):
                        for _ in range(turns):
                            self._run(body, numbers)


class Builder:
    """Builds a graph from tracks."""

    def __init__(self, kernels: Kernels, numbers: Sequence[Buffer]) -> None:
        self._kernels, self._numbers = kernels, numbers
        self.kept: list[Buffer] = []

    def build(self, graph: Graph, tracks: Sequence[Track]) -> list[list[GraphNode]]:
        """Add the tracks of a body and return the last nodes of each."""
        return [self._track(graph, track) for track in tracks]

    def _put(self, graph: Graph, put: Put, number: Buffer, after: list[GraphNode]) -> GraphNode:
        if put.how == "fill":
            return graph.add_memset(number.memory, put.value & 0xFF, 4, after)
        value = self._kernels.number(put.value, np.uint32)
        self.kept.append(value)
        if put.how == "copy":
            return graph.add_copy(number.memory, value.memory, 4, after)
        copied = self._kernels.device.capture("copy", lambda stream: stream.copy(number.memory, value.memory, 4))
        return graph.add_captured(copied, after)

    def _launch(self, number: Buffer, values: Sequence[int], stream: Stream) -> None:
        for value in values:
            self._kernels.device.launch(self._kernels.module.kernel("mix"), (1,), (1,), (number, value), 0, stream)

    def _track(self, graph: Graph, track: Track) -> list[GraphNode]:
        after: list[GraphNode] = []
        number = self._numbers[track.number]
        for step in track.steps:
            match step:
                case Mix(value):
                    after = [self._kernels.add(graph, "mix", number, value, after=after)]
                case Put():
                    after = [self._put(graph, step, number, after)]
                case Child(values, is_captured=True):
                    issue = partial(self._launch, number, values)
                    after = [graph.add_captured(self._kernels.device.capture("mixes", issue), after)]
                case Child(values):
                    child = self._kernels.device.create_graph()
                    self.build(child, [Track(track.number, list(map(Mix, values)))])
                    after = [graph.add_child(child, after)]
                case Choice(kind, bodies):
                    condition = graph.create_condition(0)
                    decided = self._kernels.add(graph, "if_even", condition, number, after=after)
                    node, graphs = graph.add_conditional(kind, condition, [decided])
                    after = [node]
                    for inside, body in zip(graphs, bodies, strict=True):
                        self.build(inside, body)
                case Loop(turns, body):
                    condition, counter = graph.create_condition(0), self._kernels.number(0)
                    self.kept.append(counter)
                    armed = self._kernels.add(graph, "set", condition, 1, after=after)
                    node, (inside,) = graph.add_conditional(WHILE, condition, [armed])
                    after = [node]
                    if step.is_counted_first:
                        self._kernels.add(inside, "turn", condition, counter, turns)
                    ends = self.build(inside, body)[: step.awaited]
                    if not step.is_counted_first:
                        last = [end for each in ends for end in each]
                        self._kernels.add(inside, "turn", condition, counter, turns, after=last)
        return after


@pytest.fixture(scope="module")
def kernels(device: Device) -> Kernels:
    """The kernels on each device in turn."""
    return Kernels(device)


def check(kernels: Kernels, seed: int) -> None:
    """Compare a random graph's numbers with the interpreter's after each launch."""
    program = Program(seed)
    held = [kernels.number(at, np.uint32) for at in range(program.numbers)]
    graph, expected = kernels.device.create_graph(), list(range(program.numbers))
    builder = Builder(kernels, held)
    builder.build(graph, program.tracks)
    executable = graph.instantiate()
    for _ in range(3):
        program.run(expected)
        assert kernels.run(executable, *held) == expected
    executable.destroy()
    graph.destroy()
    for buffer in (*held, *builder.kept):
        buffer.free()


@pytest.mark.parametrize("seed", seeds(40))
def test_what_lies_beside_each_other_does_not_meet(kernels: Kernels, seed: int) -> None:
    """After each launch, each track's number depends only on the track's own steps."""
    check(kernels, seed)
