"""Random graphs of loops, choices and child graphs, against a plain interpreter, on every device."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pytest

from tests.device.graph_support import Kernels
from warploom.engine.device.device import Buffer, Device
from warploom.engine.device.graph import Graph
from warploom.engine.device.protocol import ConditionalKind, GraphNode


@dataclass
class Mix:
    """Multiplies the number by 31 and adds a value."""

    value: int
    node: int = -1


@dataclass
class Child:
    """Runs some steps in a child graph."""

    steps: list[Mix]


#: Kinds of conditional nodes that are no loops, with a number of bodies.
CHOICES = (
    (ConditionalKind.IF, 1),
    (ConditionalKind.IF_ELSE, 2),
    (ConditionalKind.SWITCH, 1),
    (ConditionalKind.SWITCH, 3),
)


@dataclass
class Choice:
    """Runs the first of two bodies if the number is even, else the second, which may be missing.

    A SWITCH runs the body of the number's remainder by one more than there are bodies, which may have none.
    """

    kind: ConditionalKind
    bodies: list[list[Step]]


@dataclass
class Loop:
    """Runs its body a number of times."""

    turns: int
    body: list[Step] = field(default_factory=list)


Step = Mix | Child | Choice | Loop


def steps(draw: random.Random, depth: int) -> list[Step]:
    """Return random steps, nested up to `depth`."""
    found: list[Step] = []
    for _ in range(draw.randint(0 if depth < 3 else 2, 4)):
        match draw.choice(("mix", "mix", "child", "choice", "loop") if depth else ("mix", "child")):
            case "mix":
                found.append(Mix(draw.randint(0, 99)))
            case "child":
                found.append(Child([Mix(draw.randint(0, 99)) for _ in range(draw.randint(0, 3))]))
            case "choice":
                kind, count = draw.choice(CHOICES)
                found.append(Choice(kind, [steps(draw, depth - 1) for _ in range(count)]))
            case _:
                found.append(Loop(draw.randint(1, 3), steps(draw, depth - 1)))
    return found


def interpret(program: Sequence[Step], number: int) -> int:
    """Return the number that the steps make of another."""
    for step in program:
        match step:
            case Mix(value):
                number = (31 * number + value) % 2**32
            case Child(inner):
                number = interpret(inner, number)
            case Choice(kind, bodies):
                index = number % (len(bodies) + 1 if kind is ConditionalKind.SWITCH else 2)
                number = interpret(bodies[index], number) if index < len(bodies) else number
            case Loop(turns, body):
                for _ in range(turns):
                    number = interpret(body, number)
    return number


class Builder:
    """Builds a graph from steps, each of which waits for the one before."""

    def __init__(self, kernels: Kernels, out: Buffer) -> None:
        self.kernels, self.out = kernels, out

    def build(self, graph: Graph, program: Sequence[Step], after: list[GraphNode]) -> list[GraphNode]:
        """Add steps one after the other and return the last nodes."""
        for step in program:
            match step:
                case Mix(value):
                    step.node = self.kernels.add(graph, "mix", self.out, value, after=after)
                    after = [step.node]
                case Child(inner):
                    child = self.kernels.device.create_graph()
                    self.build(child, inner, [])
                    after = [graph.add_child(child, after)]
                    for mix in inner:
                        mix.node += after[0] + 1
                case Choice(kind, bodies):
                    condition = graph.create_condition(0)
                    if kind is ConditionalKind.SWITCH:
                        looked = self.kernels.add(graph, "modulo", condition, self.out, len(bodies) + 1, after=after)
                    else:
                        looked = self.kernels.add(graph, "if_even", condition, self.out, after=after)
                    node, graphs = graph.add_conditional(kind, condition, [looked], bodies=len(bodies))
                    after = [node]
                    for inside, body in zip(graphs, bodies, strict=True):
                        self.build(inside, body, [])
                case Loop(turns, body):
                    condition, counter = graph.create_condition(0), self.kernels.number(0)
                    armed = self.kernels.add(graph, "set", condition, 1, after=after)
                    node, (inside,) = graph.add_conditional(ConditionalKind.WHILE, condition, [armed])
                    after = [node]
                    last = self.build(inside, body, [])
                    self.kernels.add(inside, "turn", condition, counter, turns, after=last)
        return after


def mixes(program: Sequence[Step]) -> list[Mix]:
    """Return all mixes among the steps and inside them."""
    found = []
    for step in program:
        match step:
            case Mix():
                found.append(step)
            case Child(inner):
                found += inner
            case Choice(_, bodies):
                found += [mix for body in bodies for mix in mixes(body)]
            case Loop(_, body):
                found += mixes(body)
    return found


@pytest.fixture(scope="module")
def kernels(device: Device) -> Kernels:
    """The kernels on each device in turn."""
    return Kernels(device)


@pytest.mark.parametrize("seed", range(25))
def test_random_graphs_do_what_their_steps_say(kernels: Kernels, seed: int) -> None:
    """At every launch, random graphs compute what their steps describe, also after updates of nested kernels."""
    draw = random.Random(seed)
    program, out = steps(draw, 3), kernels.number(seed, np.uint32)
    graph, expected = kernels.device.create_graph(), seed
    Builder(kernels, out).build(graph, program, [])
    executable = graph.instantiate()
    for _ in range(4):
        expected = interpret(program, expected)
        assert kernels.run(executable, out) == [expected]
        for mix in mixes(program):
            if draw.random() < 0.3:
                mix.value = draw.randint(0, 99)
                kernels.update(executable, GraphNode(mix.node), "mix", out, mix.value)
