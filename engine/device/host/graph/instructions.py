"""Linearising a graph: its nodes, with loops and branches, as a list of instructions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from engine.device.host.graph import stepper
from engine.device.nodes import (
    ChildWork,
    ConditionalWork,
    CopyWork,
    EventWork,
    KernelWork,
    MemsetWork,
    NodeRecord,
    execution_order,
)
from engine.device.protocol import Condition, ConditionalKind, GraphNode
from engine.device.tree import ROOT


class GraphInstruction(NamedTuple):
    """An operation of `stepper` with its first fields; `Program` fills in those of kernels, fills and copies."""

    operation: int
    node: GraphNode | None = None  # None for the stores with which every launch begins
    a: int = 0
    b: int = 0


def instructions(nodes: Sequence[NodeRecord], defaults: Mapping[Condition, int]) -> list[GraphInstruction]:
    """Return what a launch of the graph does, in an order that respects every dependency.

    That is the order in which the nodes were added to their graph or body, unless one waits for a later one.
    """
    writer = _Writer(nodes)
    for condition, default in defaults.items():
        writer.done.append(GraphInstruction(stepper.STORE, None, condition, default))
    writer.graph(ROOT, in_loop=False)
    return writer.done


class _Writer:
    def __init__(self, nodes: Sequence[NodeRecord]) -> None:
        self.done: list[GraphInstruction] = []
        self._nodes = nodes
        self._members: dict[int, list[GraphNode]] = {}
        for node in execution_order(nodes):
            self._members.setdefault(nodes[node].graph, []).append(node)

    def graph(self, number: int, *, in_loop: bool) -> None:
        """Append the instructions of a graph of the tree."""
        for node in self._members.get(number, ()):
            match self._nodes[node].work:
                case KernelWork():
                    self._write(stepper.KERNEL, node)
                case MemsetWork(size_bytes=size):
                    if size:
                        self._write(stepper.FILL, node)
                case CopyWork(size_bytes=size):
                    if size:
                        self._write(stepper.COPY, node)
                case EventWork():
                    self._write(stepper.PYTHON, node)
                case ChildWork(graph=child):
                    self.graph(child, in_loop=in_loop)
                case ConditionalWork() as work if work.kind is ConditionalKind.WHILE:
                    self._while(node, work, in_loop=in_loop)
                case ConditionalWork() as work:
                    self._if(node, work, in_loop=in_loop)

    def _while(self, node: GraphNode, work: ConditionalWork, *, in_loop: bool) -> None:
        if not in_loop:
            self._write(stepper.ENTER, node, node)
        begin = self._write(stepper.SKIP, node, work.condition)
        self.graph(work.first_body, in_loop=True)
        self._write(stepper.BACK, node, node, begin)
        self._aim(begin)
        if not in_loop:
            self._write(stepper.LEAVE, node)

    def _if(self, node: GraphNode, work: ConditionalWork, *, in_loop: bool) -> None:
        choice = self._write(stepper.SKIP, node, work.condition)
        self.graph(work.bodies[0], in_loop=in_loop)
        if work.kind is ConditionalKind.IF:
            self._aim(choice)
            return
        end = self._write(stepper.JUMP, node)
        self._aim(choice)
        self.graph(work.bodies[1], in_loop=in_loop)
        self.done[end] = self.done[end]._replace(a=len(self.done))

    def _write(self, operation: int, node: GraphNode, a: int = 0, b: int = 0) -> int:
        self.done.append(GraphInstruction(operation, node, a, b))
        return len(self.done) - 1

    def _aim(self, skip: int) -> None:
        """Set the target of a skip to the next instruction."""
        self.done[skip] = self.done[skip]._replace(b=len(self.done))
