"""The reference for updates: engines that build a patch from scratch and continue with the state of earlier ones."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from tests.device.lenders import interface_of
from warploom import Engine, Patch, ProfilingLevel
from warploom.engine.compiler.buffers import Lifetime
from warploom.engine.compiler.executable.compiled_graph import CompiledGraph
from warploom.engine.device.arguments import KernelArguments
from warploom.engine.device.device import Device
from warploom.engine.device.protocol import Memory
from warploom.engine.diagnostics import Diagnostic, PatchError, Severity, WarploomError
from warploom.engine.patch.changes import PortRef
from warploom.engine.protocol.messages import FrameReport, KernelFilesChanged, UpdateLevel

#: A port's element type, shape and bytes, or the reason why it can't be read.
Contents = dict[str, tuple[str, tuple[int, ...], bytes] | str]
#: A buffer that outlives a frame: element type and shape, and its bytes.
Kept = tuple[object, bytes]


def argument_blocks(engine: Engine) -> dict[int, KernelArguments]:
    """Return the argument blocks of the running graph by identity; a graph that is made from another shares some."""
    compiled = engine.core.updates.compiled
    return {id(kernel.arguments): kernel.arguments for kernel in compiled.kernels} if compiled is not None else {}


def outputs(patch: Patch) -> set[PortRef]:
    """Return every output port of a patch."""
    types = {node: patch.block_type(node) for node in patch.nodes}
    return {PortRef(node, spec.name) for node, block in types.items() if block for spec in block.outputs()}


def contents(engine: Engine, ports: Iterable[PortRef]) -> Contents:
    """Return the contents of these output ports in the last frame, if they are in the running graph."""
    found: Contents = {}
    for port in sorted(ports, key=str):
        try:
            array = engine.read(port)
        except PatchError:
            continue  # the port is not in the running graph
        except WarploomError as problem:
            found[str(port)] = str(problem)
        else:
            found[str(port)] = (str(array.dtype), array.shape, array.tobytes())
    return found


def differences(lived: Contents, fresh: Contents) -> list[str]:
    """Return the differences between two engines, in words."""
    found = [f"{port} is there only in one" for port in sorted(lived.keys() ^ fresh.keys())]
    both = sorted(lived.keys() & fresh.keys())
    found += [f"{p}: {_told(lived[p])} against {_told(fresh[p])}" for p in both if lived[p] != fresh[p]]
    return found


def _told(held: tuple[str, tuple[int, ...], bytes] | str) -> str:
    if isinstance(held, str):
        return held
    dtype, shape, data = held
    return f"{dtype}{list(shape)} {np.frombuffer(data, dtype)[:6].tolist()}"


def errors(report: FrameReport) -> list[Diagnostic]:
    """Return the errors that keep blocks from running; a kernel whose last good version runs causes none."""
    return [item for item in report.diagnostics if item.severity is Severity.ERROR and item.file is None]


def check_records(report: FrameReport) -> None:
    """Check that each update above HOT, and no other, is reported with its level, cause, cost and frame."""
    levels = [record.level for record in report.updates]
    assert all(level > UpdateLevel.HOT for level in levels)
    assert max(levels, default=UpdateLevel.NONE) == (report.update_level if report.update_level > 1 else 0)
    for record in report.updates:
        assert record.cause and record.cost_ns > 0 and record.frame == report.frame


class Reference:
    """A patch that a new engine builds from scratch after each edit.

    State is kept by one rule: a buffer keeps its contents if owner, type and shape are the same. Call `follow` after
    every edit, with the patch that should run.
    """

    def __init__(self, device: Device, profiling: ProfilingLevel) -> None:
        self._device = device
        self._profiling = profiling
        self._kept: dict[PortRef, Kept] = {}
        self._engine: Engine | None = None
        self.patch = Patch()

    def follow(self, patch: Patch, placed: Iterable[str]) -> None:
        """Build a patch from scratch; keep the state of the nodes `placed`, also of those that cannot run yet."""
        living = {*placed, *patch.nodes}
        state = self._kept | self._leave()
        state = {owner: kept for owner, kept in state.items() if owner.node.partition("/")[0] in living}
        self.patch = copy_of(patch)
        self._engine = Engine(self.patch, device=self._device, profiling=self._profiling, share=False)
        inner = self._engine.core
        inner.read_inbox()
        inner.updates.run(0, wait=True)
        compiled = inner.updates.compiled
        assert compiled is not None, inner.updates.diagnostics.all
        for owner, buffer in compiled.plan.buffers.allocations.items():
            if buffer.lifetime is Lifetime.STATE and owner in state and state[owner][0] == buffer.layout:
                write_bytes(self._device, compiled.memory[owner], state[owner][1])
        self._kept = {o: k for o, k in state.items() if o not in compiled.plan.buffers.allocations}

    def step(self, frame: int) -> FrameReport:
        """Run the frame with this number."""
        assert self._engine is not None
        self._engine.core.clock.moment.frame = frame
        return self._engine.step()

    def forget(self) -> None:
        """Drop the state, as Reset does."""
        self._kept.clear()
        if self._engine is not None:
            self._engine.close()
            self._engine = None

    def contents(self, ports: Iterable[PortRef]) -> Contents:
        """Return the contents of these outputs in the last frame."""
        assert self._engine is not None
        return contents(self._engine, ports)

    def compiled(self) -> CompiledGraph:
        """Return the running graph."""
        assert self._engine is not None and self._engine.core.updates.compiled is not None
        return self._engine.core.updates.compiled

    def close(self) -> None:
        """Free all resources."""
        self.forget()

    def _leave(self) -> dict[PortRef, Kept]:
        """Return the state for the next graph, and close this one."""
        if self._engine is None:
            return {}
        compiled = self.compiled()
        buffers = compiled.plan.buffers
        following = compiled.variants[compiled.next_phase].memory
        state: dict[PortRef, Kept] = {}
        for owner, buffer in buffers.allocations.items():
            if buffer.lifetime is Lifetime.STATE and owner not in buffers.swaps.values():
                memory = following[owner] if owner in buffers.swaps else compiled.memory[owner]
                state[owner] = (buffer.layout, read_bytes(self._device, memory, buffer.layout.size_bytes))
        self._engine.close()
        self._engine = None
        return state


def read_bytes(device: Device, memory: Memory, size_bytes: int) -> bytes:
    """Return the first bytes of a buffer."""
    array = np.empty(size_bytes, np.uint8)
    device.read(memory, array)
    return array.tobytes()


def write_bytes(device: Device, memory: Memory, data: bytes) -> None:
    """Write the first bytes of a buffer."""
    device.write(memory, np.frombuffer(data, np.uint8))


def copy_of(patch: Patch) -> Patch:
    """Return a patch of the same nodes and connections, with an empty history."""
    copy = Patch(patch.catalogue)
    copy.restore(patch.as_changes())
    copy.path = patch.path
    return copy


class OwnArrays:
    """A user's arrays on a device, for patches to adopt; their contents can be restored for a second engine."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self._memories: list[tuple[Memory, int]] = []
        self.lent: list[object] = []

    def add(self, values: np.ndarray[Any, Any]) -> None:
        """Upload an array; `lent` then has another library's object that lends it."""
        memory = self._device.upload(values).memory
        self._memories.append((memory, values.nbytes))
        self.lent.append(interface_of(self._device, memory, values.dtype, values.shape))

    def save(self) -> list[bytes]:
        """Return the contents of all arrays."""
        return [read_bytes(self._device, memory, size) for memory, size in self._memories]

    def restore(self, saved: list[bytes]) -> None:
        """Restore the contents of all arrays."""
        for (memory, _), data in zip(self._memories, saved, strict=True):
            write_bytes(self._device, memory, data)

    def close(self) -> None:
        """Free all arrays."""
        for memory, _ in self._memories:
            memory.free()


class Sources:
    """Kernel files that are saved again and again, with the version of each that runs."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        #: The version of each file that runs; a version that could not be swapped in yet does not count.
        self.running = {path.name: path.read_text() for path in folder.glob("*.cu")}
        self.broken: set[str] = set()

    def save(self, name: str, text: str, *, compiles: bool = True) -> KernelFilesChanged:
        """Write a file and return the watcher's message."""
        path = self.folder / name
        path.write_text(text)
        (self.broken.discard if compiles else self.broken.add)(name)
        return KernelFilesChanged(frozenset({path.resolve()}))

    def text(self, name: str) -> str:
        """Return the current text of a file."""
        return (self.folder / name).read_text()

    def follow(self) -> None:
        """Note that an engine now runs the files that compile."""
        self.running.update({name: self.text(name) for name in self.running.keys() - self.broken})

    @contextmanager
    def as_running(self) -> Iterator[None]:
        """Restore each file's running version while something is built from scratch."""
        there = {name: text for name in self.running if (text := self.text(name)) != self.running[name]}
        for name in there:
            (self.folder / name).write_text(self.running[name])
        try:
            yield
        finally:
            for name, text in there.items():
                (self.folder / name).write_text(text)
