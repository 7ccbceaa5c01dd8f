"""A launch of a graph as a list of instructions, with jumps for loops and branches, and as sections of that list."""

from collections.abc import Mapping
from typing import NamedTuple

from warploom.engine.device.host.graph import stepper
from warploom.engine.device.host.graph.sections import Section
from warploom.engine.device.nodes import CapturedWork, ChildWork, ConditionalWork, CopyWork, KernelWork, MemsetWork
from warploom.engine.device.protocol import Condition, ConditionalKind, GraphNode
from warploom.engine.device.tree import ROOT, GraphTree

#: Python runs longer fills and copies, where one more microsecond makes no difference.
MOST_BYTES = 1 << 20

#: A `stepper` operation, its node, and its first two fields; `GraphProgram` fills in those of kernels, fills and
#: copies. Every launch begins with stores, which have no node.
GraphInstruction = tuple[int, GraphNode | None, int, int]


class Choice(NamedTuple):
    """Where a SWITCH goes on: the first instruction of each body, and that after all of them."""

    condition: Condition
    bodies: tuple[int, ...]
    end: int


class GraphInstructions(NamedTuple):
    """The instructions of a launch and their sections.

    `choices` are those of Python's instructions that set the target of the jump behind them.
    """

    rows: list[GraphInstruction]
    sections: list[Section]
    choices: dict[int, Choice]


def instructions(tree: GraphTree, defaults: Mapping[Condition, int]) -> GraphInstructions:
    """Return the instructions of a launch, in an order that respects every dependency.

    The order is that in which nodes were added to their graph or body, unless a node waits for a later one.
    """
    writer = _GraphWriter(tree)
    for condition, default in defaults.items():
        writer.done.append((stepper.STORE, None, condition, default))
    writer.graph(ROOT, (), in_loop=False)
    return GraphInstructions(writer.done, writer.sections, writer.choices)


class _GraphWriter:
    def __init__(self, tree: GraphTree) -> None:
        self.done: list[GraphInstruction] = []
        self.sections: list[Section] = []
        self.choices: dict[int, Choice] = {}
        self._section: Section | None = None  # the section that the next instruction may join
        #: The instructions in that section after which each node is done. Older nodes are done before the section
        #: begins.
        self._ends: dict[GraphNode, tuple[int, ...]] = {}
        self._nodes = nodes = tree.nodes
        self._members: list[list[GraphNode]] = [[] for _ in tree.owners]
        for node in tree.order():
            self._members[nodes[node].graph].append(node)

    def graph(self, number: int, after: tuple[int, ...], *, in_loop: bool) -> None:
        """Append the instructions of a graph of the tree; all of them wait for the instructions `after`."""
        for node in self._members[number]:
            record = self._nodes[node]
            match record.work:
                case KernelWork():
                    self._step(stepper.KERNEL, node, after)
                case MemsetWork(size_bytes=size, width=1) if 0 < size <= MOST_BYTES:
                    self._step(stepper.FILL, node, after)
                case CopyWork(size_bytes=size) if 0 < size <= MOST_BYTES:
                    self._step(stepper.COPY, node, after)
                case MemsetWork(size_bytes=size) | CopyWork(size_bytes=size) if size:
                    self._write(stepper.PYTHON, node)
                case CapturedWork():
                    self._write(stepper.PYTHON, node)
                case ChildWork(graph=child):
                    self.graph(child, self._before(node, after), in_loop=in_loop)
                    self._ends[node] = self._ends_of(child) or self._before(node, after)
                case ConditionalWork(kind=ConditionalKind.WHILE) as work:
                    self._while(node, work, in_loop=in_loop)
                case ConditionalWork(kind=ConditionalKind.SWITCH) as work:
                    self._switch(node, work, in_loop=in_loop)
                case ConditionalWork() as work:
                    self._if(node, work, in_loop=in_loop)
                case _:
                    self._ends[node] = self._before(node, after)

    def _before(self, node: GraphNode, after: tuple[int, ...]) -> tuple[int, ...]:
        """Return the instructions in this section that a node waits for."""
        first = self._section.first if self._section is not None else len(self.done)
        order = self._nodes[node].after
        found = {end for other in order for end in self._ends.get(other, ())} if order else after
        return tuple(sorted(end for end in found if end >= first))

    def _ends_of(self, graph: int) -> tuple[int, ...]:
        """Return the instructions after which a child graph is done."""
        members = self._members[graph]
        waited_for = {other for node in members for other in self._nodes[node].after}
        return tuple({end for node in members if node not in waited_for for end in self._ends.get(node, ())})

    def _step(self, operation: int, node: GraphNode, after: tuple[int, ...]) -> None:
        """Append an instruction of a section."""
        if self._section is None:
            self._section = Section(len(self.done))
            self.sections.append(self._section)
            self.done.append((stepper.JUMP, None, len(self.done) + 1, 0))
        self._section.add(self._before(node, after))
        self._ends[node] = (len(self.done),)
        self.done.append((operation, node, 0, 0))

    def _while(self, node: GraphNode, work: ConditionalWork, *, in_loop: bool) -> None:
        if not in_loop:
            self._write(stepper.ENTER, node, node)
        begin = self._write(stepper.SKIP, node, work.condition)
        self.graph(work.first_body, (), in_loop=True)
        self._write(stepper.BACK, node, node, begin)
        self._aim(begin)
        if not in_loop:
            self._write(stepper.LEAVE, node)

    def _if(self, node: GraphNode, work: ConditionalWork, *, in_loop: bool) -> None:
        choice = self._write(stepper.SKIP, node, work.condition)
        self.graph(work.bodies[0], (), in_loop=in_loop)
        if work.kind is ConditionalKind.IF:
            self._aim(choice)
            return
        end = self._write(stepper.JUMP, node)
        self._aim(choice)
        self.graph(work.bodies[1], (), in_loop=in_loop)
        self._section = None
        self.done[end] = stepper.JUMP, node, len(self.done), 0

    def _switch(self, node: GraphNode, work: ConditionalWork, *, in_loop: bool) -> None:
        choice = self._write(stepper.PYTHON, node)
        ends, begins = [self._write(stepper.JUMP, node)], []
        for body in work.bodies:
            self._section = None
            begins.append(len(self.done))
            self.graph(body, (), in_loop=in_loop)
            ends.append(self._write(stepper.JUMP, node))
        for end in ends:
            self.done[end] = stepper.JUMP, node, len(self.done), 0
        self.choices[choice] = Choice(work.condition, tuple(begins), len(self.done))

    def _write(self, operation: int, node: GraphNode, a: int = 0, b: int = 0) -> int:
        """Append an instruction that belongs to no section, and return its index."""
        self._section = None
        self.done.append((operation, node, a, b))
        return len(self.done) - 1

    def _aim(self, skip: int) -> None:
        """Set the target of a skip to the next instruction."""
        self._section = None
        operation, node, condition, _ = self.done[skip]
        self.done[skip] = operation, node, condition, len(self.done)
