"""A plain interpreter of a `GraphDescription` in numpy: what a patch means, with none of the compiler's ideas.

Every output has an array of its own, which lasts; an in-place output is its input's array, a view a numpy view of it.
Blocks run one after the other. A block comes after those that feed it, and one that changes an array comes after all
that read it as it was. What a skipped region leaves is its outputs' default. Delays keep what they are given at the
end of the scope they lie in, all at once and before a loop's turn is counted, and give it when that scope runs next.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from graphlib import TopologicalSorter
from typing import Any

import numpy as np

from engine.blocktypes.entries import (
    Argument,
    BufferArgument,
    CopyEntry,
    DelayEntry,
    Entry,
    ExtentArgument,
    FillEntry,
    FrameArgument,
    KernelEntry,
    ParameterArgument,
    RegionKind,
    ReshapeView,
    SliceView,
    Transform,
    TransposeView,
    ValueArgument,
    buffer_arguments,
)
from engine.compiler.description import GraphDescription
from engine.patch.changes import PortRef
from tests.compiler.support.scope_tree import ScopeTree

Array = np.ndarray[Any, Any]
#: What each kernel does, given its arguments: arrays, numbers, and for the frame uniforms the frame's index.
Kernels = Mapping[str, Callable[..., None]]


class Interpreter:
    """A patch with its arrays; `frame` runs it once."""

    def __init__(
        self, description: GraphDescription, values: Mapping[str, Mapping[str, int]], kernels: Kernels
    ) -> None:
        self._description = description
        self._values = values
        self._kernels = kernels
        self._nodes = {node.id: node for node in description.nodes}
        self._tree = ScopeTree(description)
        self._sources = {c.target: c.source for c in description.connections}
        self._arrays: dict[PortRef, Array] = {}
        for node in description.nodes:
            for spec in node.description.ports:
                self.array(PortRef(node.id, spec.name))
            for buffer in node.description.buffers:
                like = self.array(PortRef(node.id, buffer.shape[5:-1])) if buffer.shape.startswith("same") else None
                shape = like.shape if like is not None else (1,)
                self._arrays[PortRef(node.id, buffer.name)] = np.zeros(shape, np.uint32)
        self._orders = self._find_orders()
        self._fills = self._find_fills()
        self._frame = 0
        #: Regions that were ended by their limit in the last frame.
        self.stopped: set[str] = set()
        #: What each delay gives in its next turn or frame.
        self._kept: dict[tuple[str, str], Array] = {}

    # Arrays

    def array(self, port: PortRef) -> Array:
        """Return the array of a port; that of an input that is not connected is empty."""
        if port not in self._arrays:
            self._arrays[port] = self._make(port)
        return self._arrays[port]

    def _make(self, port: PortRef) -> Array:
        block = self._nodes[port.node].description
        spec = next(spec for spec in block.ports if spec.name == port.port)
        if spec.is_input:
            if port not in self._sources or spec.delayed:
                return np.zeros(0, np.uint32)
            return self.array(self._sources[port])
        if spec.inplace is not None:
            return self.array(PortRef(port.node, spec.inplace))
        view = block.view_of.get(port.port)
        if view is not None:
            return transformed(view.transform, self.array(PortRef(port.node, view.source)))
        if port.port in block.contents:
            return block.contents[port.port].copy()
        array = np.zeros(self._shape(port.node, spec.shape), np.uint32)
        for entry in block.entries:
            if isinstance(entry, DelayEntry) and entry.target.name == port.port:
                array[...] = int(entry.initial)
        return array

    def _shape(self, node: str, rule: str) -> tuple[int, ...]:
        if rule.startswith("same("):
            return self.array(PortRef(node, rule[5:-1])).shape
        return tuple(int(size) for size in rule.strip("[]").split(","))

    def _maker(self, port: PortRef) -> PortRef:
        """Return the output whose array a port shows, whole or in part."""
        while True:
            block = self._nodes[port.node].description
            spec = next(spec for spec in block.ports if spec.name == port.port)
            if spec.is_input:
                port = self._sources[port]
            elif spec.inplace is not None:
                port = PortRef(port.node, spec.inplace)
            elif port.port in block.view_of:
                port = PortRef(port.node, block.view_of[port.port].source)
            else:
                return port

    # Order

    def _find_orders(self) -> dict[str, list[str]]:
        before: dict[str, dict[str, set[str]]] = {}
        for node in self._description.nodes:
            before.setdefault(node.region, {})[node.id] = set()
        for first, second, delayed in (*self._connected(), *self._changed()):
            common = self._tree.common(first, second)
            if common is not None:
                scope, one, other = common
                if not delayed or other != second:  # a region comes after what feeds a delay inside it
                    before[scope][other].add(one)
        return {scope: list(TopologicalSorter(found).static_order()) for scope, found in before.items()}

    def _connected(self) -> Iterable[tuple[str, str, bool]]:
        for target, source in self._sources.items():
            yield source.node, target.node, target.port in self._nodes[target.node].description.delayed_inputs

    def _changed(self) -> Iterable[tuple[str, str, bool]]:
        """Give (who reads an array as it was, who changes it in place, False)."""
        readers: dict[PortRef, list[tuple[PortRef, PortRef]]] = {}
        for target, source in self._sources.items():
            block = self._nodes[target.node].description
            touched = {a.name for entry in block.all_entries for a in buffer_arguments(entry)}
            if target.port in touched or target.port in block.changed_inputs:
                maker = self._maker(source)
                while (view := self._nodes[source.node].description.view_of.get(source.port)) is not None:
                    source = self._sources[PortRef(source.node, view.source)]
                readers.setdefault(maker, []).append((target, source))
        for found in readers.values():
            for writer, changed in found:
                if writer.port in self._nodes[writer.node].description.changed_inputs:
                    for reader, read in found:
                        if reader != writer and self._same_version(read, changed, reader.node, writer.node):
                            yield reader.node, writer.node, False

    def _same_version(self, read: PortRef, changed: PortRef, reader: str, writer: str) -> bool:
        """True when two outputs are the same memory as one block, or one region with its branches, leaves it."""
        if not np.may_share_memory(self.array(read), self.array(changed)):
            return False
        if read == changed:
            return True
        region = self._tree.region_with_branches(read.node, changed.node)
        outside = all(region != around for node in (reader, writer) for _, around in self._tree.around(node))
        return region != "" and outside and not self._nodes[reader].description.delayed_inputs

    # Defaults

    def _find_fills(self) -> dict[str, list[tuple[Array, int]]]:
        """Return what is filled with what before each region: what is made inside and looked at outside."""
        read_from: dict[PortRef, set[str]] = {}
        for target, source in self._sources.items():
            read_from.setdefault(self._maker(source), set()).add(self._nodes[target.node].region)
        fed = set(self._sources.values())
        for node in self._description.nodes:
            for spec in node.description.outputs:
                port = PortRef(node.id, spec.name)
                if port not in fed:
                    read_from.setdefault(self._maker(port), set()).add("")
        fills: dict[str, list[tuple[Array, int]]] = {}
        for maker, scopes in read_from.items():
            block = self._nodes[maker.node].description
            spec = next(spec for spec in block.outputs if spec.name == maker.port)
            delayed = any(isinstance(e, DelayEntry) for e in block.entries)
            if spec.state or delayed:
                continue
            inside = [scope for scope, _ in self._tree.around(maker.node) if scope]
            for region in dict.fromkeys(
                scope for scope in inside for other in scopes if scope not in self._tree.scopes_around(other)
            ):
                fills.setdefault(region.split(".")[0], []).append((self.array(maker), int(spec.default or 0)))
        return fills

    # Execution

    def frame(self) -> None:
        """Run the patch once."""
        self.stopped = set()
        self._scope("")
        self._frame += 1

    def _scope(self, scope: str) -> None:
        for node, delay in self._delays(scope):
            if (node, delay.target.name) in self._kept:
                self.array(PortRef(node, delay.target.name))[...] = self._kept[node, delay.target.name]
            else:
                self.array(PortRef(node, delay.target.name))[...] = int(delay.initial)
        for node in self._orders.get(scope, ()):
            for name, contents in self._nodes[node].description.contents.items():
                self.array(PortRef(node, name))[...] = contents
            for entry in self._nodes[node].description.entries:
                if not isinstance(entry, DelayEntry):
                    self._entry(node, entry)
            if self._nodes[node].description.control is not None:
                self._region(node)
        for node, delay in self._delays(scope):
            self._kept[node, delay.target.name] = self.array(self._sources[PortRef(node, delay.source.name)]).copy()

    def _delays(self, scope: str) -> Iterable[tuple[str, DelayEntry]]:
        """Give the delays of a scope that something is connected to."""
        for node in self._orders.get(scope, ()):
            for delay in self._nodes[node].description.delays:
                if PortRef(node, delay.source.name) in self._sources:
                    yield node, delay

    def _entry(self, node: str, entry: Entry) -> None:
        match entry:
            case KernelEntry():
                self._kernels[entry.kernel.entry](*(self._argument(node, a) for a in entry.arguments))
            case FillEntry(target=target, value=value):
                self.array(PortRef(node, target.name))[...] = value * 0x01010101
            case CopyEntry(target=target, source=source):
                self.array(PortRef(node, target.name))[...] = self.array(PortRef(node, source.name))

    def _argument(self, node: str, argument: Argument) -> Any:
        match argument:
            case BufferArgument(name=name):
                return self.array(PortRef(node, name))
            case ParameterArgument(name=name):
                return self._values[node][name]
            case ValueArgument(value=value):
                return value
            case FrameArgument():
                return self._frame
            case ExtentArgument(extent=extent):
                name, what = extent.text.split(".")
                array = self.array(PortRef(node, name))
                if what == "size":
                    return array.size
                axis = int(what[-1])
                return array.shape[axis] if what.startswith("dim") else array.strides[axis] // array.itemsize
        raise TypeError(f"argument must be one that the interpreter knows, got {argument}")

    def _region(self, node: str) -> None:
        control = self._nodes[node].description.control
        assert control is not None
        for array, default in self._fills.get(node, ()):
            array[...] = default
        values = self._values.get(node, {})
        elements = [a.value for a in control.begin[0].arguments if isinstance(a, ValueArgument)]

        def condition() -> bool:
            return bool(self.array(PortRef(node, "condition")).flat[int(elements[0])])

        match control.kind:
            case RegionKind.IF:
                if condition():
                    self._scope(node)
            case RegionKind.IF_ELSE:
                self._scope(node if condition() else f"{node}.else")
            case RegionKind.WHILE:
                self._loop(node, "turns", lambda turns: condition(), values["limit"])
            case RegionKind.FOR:
                counts = self.array(PortRef(node, "counts"))

                def more(turns: int) -> bool:
                    return turns < (int(counts.flat[0]) if counts.size else values["count"])

                self._loop(node, "index", more, values["limit"])

    def _loop(self, node: str, counter: str, more: Callable[[int], bool], limit: int) -> None:
        done = 0
        turns = self.array(PortRef(node, counter))
        turns[...] = 0
        while more(done):
            if done == limit:
                self.stopped.add(node)
                return
            self._scope(node)
            done += 1
            turns[...] = done


def transformed(transform: Transform, array: Array) -> Array:
    """Return a numpy view of an array."""
    match transform:
        case SliceView(axis=axis, start=start, stop=stop, step=step):
            parts: list[slice] = [slice(None)] * array.ndim
            parts[axis] = slice(start, stop, step)
            return array[tuple(parts)]
        case ReshapeView(shape=shape):
            reshaped = array.reshape(shape)
            assert np.shares_memory(reshaped, array)
            return reshaped
        case TransposeView(order=order):
            return array.transpose(order)
    raise TypeError(f"transform must be one that the interpreter knows, got {transform}")
