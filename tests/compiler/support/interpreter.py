"""A plain interpreter of a `GraphDescription` in numpy: the meaning of a patch, without the compiler's methods.

Every output has an array of its own, which lasts; an in-place output is its input's array, a view a numpy view of it.
Blocks run one after the other. A block comes after those that feed it; one that changes an array comes after all
readers of the old contents. A skipped region leaves the defaults of its outputs. Delays store their inputs at the end
of their scope, all at once and before a loop's counter moves, and output them when that scope runs next. State
continues from an earlier interpreter's if the same output or buffer has the same type and shape.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from graphlib import TopologicalSorter
from typing import Any

import numpy as np

from tests.compiler.support.scope_tree import ScopeTree
from warploom.engine.compiler.description import GraphDescription
from warploom.engine.descriptions.entries import (
    Argument,
    BufferArgument,
    CopyEntry,
    DelayEntry,
    ElementArgument,
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
from warploom.engine.kernel_sources.sources import OpGraphSource
from warploom.engine.patch.changes import PortRef
from warploom.engine.types import Array

#: The function of each kernel, by its entry point or its op graph. Arguments are arrays, numbers, numpy's types for
#: element types, and the frame's index for the frame uniforms.
Kernels = Mapping[str, Callable[..., None]]


class Interpreter:
    """A patch with its arrays; `frame` runs it once."""

    def __init__(
        self,
        description: GraphDescription,
        values: Mapping[str, Mapping[str, Any]],
        kernels: Kernels,
        earlier: Interpreter | None = None,
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
                shape = self._shape(node.id, buffer.shape)
                self._arrays[PortRef(node.id, buffer.name)] = np.zeros(shape, buffer.dtype.numpy)
        self._orders = self._find_orders()
        self._fills = self._find_fills()
        self._frame = 0
        #: Regions that were stopped at their limit in the last frame.
        self.stopped: set[str] = set()
        #: The output of each delay in its next iteration or frame.
        self._kept: dict[tuple[str, str], Array] = {}
        if earlier is not None:
            self._go_on(earlier)

    def _go_on(self, earlier: Interpreter) -> None:
        """Start from the final state of another interpreter."""
        self._frame = earlier._frame
        for node in self._description.nodes:
            block = node.description
            names = [spec.name for spec in block.outputs if spec.state] + [b.name for b in block.buffers if b.state]
            for port in (PortRef(node.id, name) for name in names):
                if port in earlier._arrays and _alike(earlier._arrays[port], self._arrays[port]):
                    self._arrays[port][...] = earlier._arrays[port]
            for delay in block.delays:
                port = PortRef(node.id, delay.target.name)
                if port in earlier._arrays and _alike(earlier._arrays[port], self.array(port)):
                    self.array(port)[...] = earlier._arrays[port]
                    if (node.id, port.port) in earlier._kept:
                        self._kept[node.id, port.port] = earlier._kept[node.id, port.port]

    # Arrays

    def array(self, port: PortRef) -> Array:
        """Return the array of a port, which is empty for an unconnected input."""
        if port not in self._arrays:
            self._arrays[port] = self._make(port)
        return self._arrays[port]

    def _make(self, port: PortRef) -> Array:
        block = self._nodes[port.node].description
        spec = next(spec for spec in block.ports if spec.name == port.port)
        if spec.is_input:
            if port not in self._sources or spec.delayed:
                return np.zeros(0, np.uint32 if spec.dtype.kind == "any" else spec.dtype.numpy)
            return self.array(self._sources[port])
        if spec.inplace is not None:
            return self.array(PortRef(port.node, spec.inplace))
        view = block.view_of.get(port.port)
        if view is not None:
            return transformed(view.transform, self.array(PortRef(port.node, view.source)))
        if port.port in block.contents:
            return block.contents[port.port].copy()
        dtype = spec.dtype.numpy if spec.dtype.kind != "any" else self._like(port.node, spec.dtype_rule or "").dtype
        array = np.zeros(self._shape(port.node, spec.shape), dtype)
        for entry in block.entries:
            if isinstance(entry, DelayEntry) and entry.target.name == port.port:
                array[...] = _nearest(array.dtype, entry.initial)
        return array

    def _like(self, node: str, rule: str) -> Array:
        """Return the array of the first connected input in "same(...)"."""
        for name in rule[5:-1].split(","):
            port = PortRef(node, name.strip())
            if port in self._sources:
                return self.array(self._sources[port])
        return self.array(port)

    def _shape(self, node: str, rule: str) -> tuple[int, ...]:
        if rule.startswith("same("):
            return self._like(node, rule).shape
        return tuple(self._number(node, f"{rule[:-1]},]"))

    def _number(self, node: str, text: str) -> Any:
        """Return the value of an expression of extents, or the values of several."""
        block = self._nodes[node].description
        ports = {port.port: _Extents(array) for port, array in self._arrays.items() if port.node == node}
        return eval(text, {"ceil": math.ceil, "min": min, **dict(block.structural), **ports})

    def _maker(self, port: PortRef) -> PortRef:
        """Return the output that owns the array of which a port is a view."""
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
                if not delayed or other != second:  # a region comes after the source of a delay inside it
                    before[scope][other].add(one)
        return {scope: list(TopologicalSorter(found).static_order()) for scope, found in before.items()}

    def _connected(self) -> Iterable[tuple[str, str, bool]]:
        for target, source in self._sources.items():
            yield source.node, target.node, target.port in self._nodes[target.node].description.delayed_inputs

    def _changed(self) -> Iterable[tuple[str, str, bool]]:
        """Yield (reader of the old contents of an array, block that changes it in place, False)."""
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
        """Return whether two outputs are the same memory after one block, or after both branches of a region."""
        if not np.may_share_memory(self.array(read), self.array(changed)):
            return False
        if read == changed:
            return True
        region = self._tree.region_with_branches(read.node, changed.node)
        outside = all(region != around for node in (reader, writer) for _, around in self._tree.around(node))
        return region != "" and outside and not self._nodes[reader].description.delayed_inputs

    # Defaults

    def _find_fills(self) -> dict[str, list[tuple[Array, float]]]:
        """Find the fills before each region: the defaults of buffers that blocks inside it make.

        Any of them may be read after the frame, whether or not a block reads it.
        """
        ports = [PortRef(node.id, spec.name) for node in self._description.nodes for spec in node.description.outputs]
        fills: dict[str, list[tuple[Array, float]]] = {}
        for maker in dict.fromkeys(map(self._maker, ports)):
            block = self._nodes[maker.node].description
            spec = next(spec for spec in block.outputs if spec.name == maker.port)
            delayed = any(isinstance(e, DelayEntry) for e in block.entries)
            if spec.state or delayed:
                continue
            inside = [scope for scope, _ in self._tree.around(maker.node) if scope]
            for region in dict.fromkeys(inside):
                fills.setdefault(region.split(".")[0], []).append(
                    (self.array(maker), 0.0 if spec.default is None else spec.default)
                )
        return fills

    # Execution

    def frame(self) -> None:
        """Run the patch once."""
        self.stopped = set()
        self._scope("")
        self._frame += 1

    def _scope(self, scope: str) -> None:
        for node, delay in self._delays(scope):
            array = self.array(PortRef(node, delay.target.name))
            kept = self._kept.get((node, delay.target.name))
            array[...] = kept if kept is not None else _nearest(array.dtype, delay.initial)
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
        """Yield the delays of a scope that have a connected input."""
        for node in self._orders.get(scope, ()):
            for delay in self._nodes[node].description.delays:
                if PortRef(node, delay.source.name) in self._sources:
                    yield node, delay

    def _entry(self, node: str, entry: Entry) -> None:
        match entry:
            case KernelEntry(needs=needs) if needs is not None and PortRef(node, needs) not in self._sources:
                pass
            case KernelEntry():
                source = entry.kernel.source
                key = source.graph if isinstance(source, OpGraphSource) else entry.kernel.entry
                self._kernels[key](*(self._argument(node, a) for a in entry.arguments))
            case FillEntry(target=target, value=value):
                array = self.array(PortRef(node, target.name))
                array[...] = np.frombuffer(bytes([value]) * array.itemsize, array.dtype)
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
                return self._number(node, extent.text)
            case ElementArgument(name=name):
                return self.array(PortRef(node, name)).dtype
        raise TypeError(f"argument must be one that the interpreter knows, got {argument}")

    def _region(self, node: str) -> None:
        control = self._nodes[node].description.control
        assert control is not None
        for array, default in self._fills.get(node, ()):
            array[...] = default
        values = self._values.get(node, {})
        chosen = self.array(PortRef(node, control.chosen))
        chosen[...] = len(control.branches)
        elements = [a.value for a in control.begin[0].arguments if isinstance(a, ValueArgument)]

        def condition() -> bool:
            return bool(self.array(PortRef(node, "condition")).flat[int(elements[0])])

        match control.kind:
            case RegionKind.IF | RegionKind.IF_ELSE | RegionKind.SWITCH:
                number = self.array(PortRef(node, "condition")).flat[int(elements[0])]
                if control.kind is not RegionKind.SWITCH:
                    number = int(not number)
                if 0 <= number < len(control.branches):
                    chosen[...] = math.floor(number)
                    branch = control.branches[math.floor(number)]
                    self._scope(f"{node}.{branch}" if branch else node)
            case RegionKind.WHILE:
                self._loop(node, control.chosen, "turns", lambda turns: condition(), values["limit"])
            case RegionKind.FOR:
                counts = self.array(PortRef(node, "counts"))

                def more(turns: int) -> bool:
                    # `turns + 1 <= count` is False for NaN.
                    return bool(turns + 1 <= (counts.flat[0] if counts.size else values["count"]))

                self._loop(node, control.chosen, "index", more, values["limit"])

    def _loop(self, node: str, chosen: str, counter: str, more: Callable[[int], bool], limit: int) -> None:
        done = 0
        turns = self.array(PortRef(node, counter))
        turns[...] = 0
        while more(done):
            if done == limit:
                self.stopped.add(node)
                return
            self.array(PortRef(node, chosen))[...] = 0
            self._scope(node)
            done += 1
            turns[...] = done


def _alike(one: Array, other: Array) -> bool:
    return (one.dtype, one.shape) == (other.dtype, other.shape)


def _nearest(dtype: np.dtype[Any], number: float) -> float:
    """Return the number that an element of this type can hold: integers are truncated and limited to their range."""
    if dtype.kind not in "iu":
        return number
    return min(max(math.trunc(number), np.iinfo(dtype).min), np.iinfo(dtype).max)


class _Extents:
    """The sizes of an array by their names in expressions: size, dim0, stride0, last0, laststride0 and so on."""

    def __init__(self, array: Array) -> None:
        self._array = array

    def __getattr__(self, name: str) -> int:
        array, what, axis = self._array, name.rstrip("0123456789"), int("0" + name.lstrip("abcdefghijklmnopqrstuvwxyz"))
        if what == "size":
            return array.size
        if what.startswith("last"):
            axis = array.ndim - 1 - axis
            if axis < 0:
                return int(what == "last")
        return array.shape[axis] if what in ("dim", "last") else array.strides[axis] // array.itemsize


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
