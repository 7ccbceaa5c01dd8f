"""Descriptions made by hand, a check of every plan, and a fake device that records the nodes of graphs."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from warploom.engine.compiler import planning
from warploom.engine.compiler.description import BlockNode, GraphDescription
from warploom.engine.compiler.plan import Plan
from warploom.engine.compiler.verifying.verify import verify
from warploom.engine.descriptions.description import BlockDescription
from warploom.engine.descriptions.entries import (
    Argument,
    BufferArgument,
    Display,
    Entry,
    InternalBuffer,
    Kernel,
    KernelEntry,
    Size,
)
from warploom.engine.descriptions.ports import PortSpec
from warploom.engine.descriptions.shapes.extents import Extent
from warploom.engine.device.device import DeviceInfo
from warploom.engine.patch.changes import Connection, PortRef
from warploom.engine.ptx.tree import KernelParameter
from warploom.engine.types import DType, f32

K = Kernel("k.cu", "k")
#: The number of operations in the largest plan that is verified automatically.
_MOST_VERIFIED = 400


def verified_plans(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Verify every plan that is made until the test ends; a plan that breaks a rule fails the test."""
    problems: list[str] = []

    def note_problems(plan: Plan) -> None:
        if len(plan.operations) <= _MOST_VERIFIED:
            problems.extend(verify(plan))

    with monkeypatch.context() as patched:
        patched.setenv("WARPLOOM_VERIFY", "1")
        patched.setattr(planning, "require_sound", note_problems)
        yield
    assert not problems, f"every plan must break no rule, got {'; '.join(problems)}"


def ref(text: str) -> PortRef:
    """Return the port "node.port"."""
    return PortRef(*text.split("."))


def i(name: str = "x", dtype: DType = f32, **more: Any) -> PortSpec:
    """Return an input port."""
    return PortSpec(name, "in", dtype, "An input.", more.pop("shape", "same"), **more)


def o(name: str = "out", dtype: DType = f32, **more: Any) -> PortSpec:
    """Return an output port."""
    return PortSpec(name, "out", dtype, "An output.", more.pop("shape", "same"), **more)


def access(ports: Sequence[PortSpec], name: str) -> BufferArgument:
    """Return how a kernel accesses a port."""
    spec = next(p for p in ports if p.name == name)
    changed = any(p.inplace == name for p in ports)
    return BufferArgument(name, spec.is_input or spec.state or bool(spec.inplace), changed or not spec.is_input)


def launch(
    ports: Sequence[PortSpec],
    *names: str,
    threads: tuple[Size, ...] = (Extent("out.size"),),
    block: tuple[int, int, int] = (256, 1, 1),
    more: Sequence[Argument] = (),
    kernel: Kernel = K,
) -> KernelEntry:
    """Return a launch with these ports as arguments, then `more`."""
    return KernelEntry(kernel, threads, block, (*(access(ports, n) for n in names), *more))


def node(
    name: str,
    *ports: PortSpec,
    entries: Sequence[Entry] | None = None,
    buffers: Sequence[InternalBuffer] = (),
    contents: dict[str, np.ndarray[Any, Any]] | None = None,
    displays: Sequence[Display] = (),
    **sizes: int,
) -> BlockNode:
    """Return a block with the given entries, or with one launch over all of its ports."""
    if entries is None:
        size = next((p.name for p in ports if not p.is_input), "x")
        entries = [launch(ports, *(p.name for p in ports), threads=(Extent(f"{size}.size"),))]
    made = BlockDescription(
        ports, tuple(entries), tuple(buffers), tuple(displays), tuple(sizes.items()), contents or {}
    )
    return BlockNode(name, made)


def array(name: str, *shape: int, dtype: str = "float32") -> BlockNode:
    """Return a block that provides contents of this shape."""
    return node(name, o(shape="data", dtype_rule="data"), entries=(), contents={"out": np.ones(shape, dtype)})


def source(name: str, *shape: int) -> BlockNode:
    """Return a block that computes an output of this shape without inputs."""
    return node(name, o(shape=str(list(shape))))


def graph(*nodes: BlockNode, wires: Sequence[str] = ()) -> GraphDescription:
    """Return a description; wires are texts such as "a.out b.x"."""
    pairs = (wire.split() for wire in wires)
    return GraphDescription(nodes, tuple(Connection(ref(a), ref(b)) for a, b in pairs))


@dataclass
class Recorded:
    """One node of a recorded graph: its kind ("kernel", "memset", "copy", "event", "conditional") and its arguments."""

    kind: str
    what: tuple[Any, ...]
    after: tuple[int, ...]


@dataclass
class FakeEvent:
    """An event with a number."""

    number: int
    destroyed: bool = False

    def destroy(self) -> None:
        self.destroyed = True


@dataclass
class FakeMemory:
    """An allocation at an address of its own."""

    pointer: int
    size_bytes: int

    def free(self) -> None: ...


@dataclass
class FakePinned:
    """A host array."""

    array: np.ndarray[Any, Any]

    def free(self) -> None: ...


@dataclass
class FakeKernel:
    """A kernel with given parameters."""

    name: str
    parameters: tuple[KernelParameter, ...]
    max_threads: int = 1024


@dataclass
class FakeExecutable:
    """An executable that records its updates."""

    updates: list[tuple[Any, ...]] = field(default_factory=list)
    destroyed: bool = False

    def launch(self, stream: Any) -> None: ...

    def upload(self, stream: Any) -> None: ...

    def update_kernel(self, *what: Any) -> None:
        self.updates.append(what)

    def refresh(self, nodes: Any) -> None:
        self.updates += [(node,) for node in nodes]

    def destroy(self) -> None:
        self.destroyed = True


@dataclass
class FakeGraph:
    """A graph that records its nodes."""

    nodes: list[Recorded] = field(default_factory=list)
    destroyed: bool = False
    refuses: Exception | None = None

    def _add(self, kind: str, after: Sequence[int], *what: Any) -> Any:
        assert all(0 <= index < len(self.nodes) for index in after)
        self.nodes.append(Recorded(kind, what, tuple(after)))
        return len(self.nodes) - 1

    def add_kernel(self, kernel: Any, config: Any, arguments: Any, after: Sequence[Any]) -> Any:
        return self._add("kernel", after, kernel, config, arguments)

    def add_memset(self, target: Any, value: int, size_bytes: int, after: Sequence[Any], width: int = 1) -> Any:
        assert width == 1
        return self._add("memset", after, target, value, size_bytes)

    def add_copy(self, target: Any, source: Any, size_bytes: int, after: Sequence[Any]) -> Any:
        return self._add("copy", after, target, source, size_bytes)

    def create_condition(self, default: int) -> Any:
        return 0x1000 + default

    def add_conditional(self, kind: Any, condition: Any, after: Sequence[Any], *, bodies: int) -> Any:
        inside = tuple(FakeGraph() for _ in range(bodies))
        return self._add("conditional", after, kind, condition, inside), inside

    def instantiate(self) -> Any:
        if self.refuses:
            raise self.refuses
        return FakeExecutable()

    def destroy(self) -> None:
        self.destroyed = True

    def reaches(self, later: int, earlier: int) -> bool:
        """Return whether `later` comes after `earlier` by dependencies."""
        return any(index == earlier or self.reaches(index, earlier) for index in self.nodes[later].after)


@dataclass
class FakeDevice:
    """A device whose graphs and events record their use."""

    graphs: list[FakeGraph] = field(default_factory=list)
    events: list[FakeEvent] = field(default_factory=list)
    refuses: Exception | None = None
    info: DeviceInfo = field(
        default_factory=lambda: DeviceInfo("host", "A test's device", "none", 0, 1, checks_accesses=True)
    )

    def create_graph(self) -> Any:
        self.graphs.append(FakeGraph(refuses=self.refuses))
        return self.graphs[-1]

    def create_event(self) -> Any:
        self.events.append(FakeEvent(len(self.events)))
        return self.events[-1]
