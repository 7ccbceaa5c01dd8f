"""The parameter store: the patch's value of each parameter, its driver, and the value in the running graph."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from warploom.engine.blocktypes.parameters import ParameterSpec, given
from warploom.engine.compiler.executable.compiled_graph import WriteValue, together
from warploom.engine.compiler.inlining.inline import ParameterRef, owner
from warploom.engine.descriptions.checks import shown
from warploom.engine.device.arguments import ArgumentError
from warploom.engine.diagnostics import Diagnostic, PatchError, error, warning
from warploom.engine.patch.changes import ParameterChanged
from warploom.engine.types.bits import same

if TYPE_CHECKING:
    from warploom.engine.compiler.executable.compiled_graph import CompiledGraph
    from warploom.engine.protocol.messages import Message

Specs = Mapping[str, ParameterSpec]
_KINDS: dict[str, type[Any]] = {"float": float, "int": int, "bool": bool}


class _Route(msgspec.Struct, eq=False):
    """The destination of a live parameter's values in the patch, and the type and bounds of values that fit unchanged.

    `write` writes them into the running graph.
    """

    values: dict[str, Any]
    patch_values: dict[str, object]
    name: str
    write: WriteValue
    kind: type[Any]
    low: float
    high: float


class _Node(msgspec.Struct, eq=False):
    """The facts of one node's parameters.

    `reaches_kernels` is False for value blocks, `is_known` for a node whose type is not in the catalogue.
    """

    specs: Specs
    patch_values: dict[str, object]
    reaches_kernels: bool
    is_known: bool
    driven: frozenset[str] = frozenset()


class ParameterStore:
    """The parameter values of every node. It belongs to the engine's thread, and nothing else writes them.

    `values` has the values that blocks and kernels compute with, by node and name: the driver's, else the patch's, else
    the default. The patch's value of a driven parameter is kept and restored when the connection is removed.

    A live value is written into the arguments of the running graph's kernels when it is set. `is_written` is true while
    such values are not on the device yet, and `refused` has the reason why a kernel could not take one. `changed` names
    the live parameters that have changed while no graph runs, or since `record` while another one is being made.
    """

    def __init__(self, folder: Callable[[], Path]) -> None:
        """Relative paths of a patch start at `folder`."""
        self.values: dict[str, dict[str, Any]] = {}
        self.changed: dict[ParameterRef, None] = {}
        #: The patch's values that a type does not take: the default is used instead.
        self.misfits: dict[ParameterRef, Diagnostic] = {}
        self.is_written = self._records = self._holds = False
        #: Values that wait, by `hold`.
        self.held: dict[ParameterRef, None] = {}
        self.refused: ArgumentError | None = None
        #: The parameters that have become true, and restart their nodes' state.
        self.restarts: dict[ParameterRef, None] = {}
        self._folder = folder
        self._nodes: dict[str, _Node] = {}
        #: The values in the running graph of nodes and parameters that the patch no longer has.
        self._removed: dict[str, dict[str, Any]] = {}
        self._graph: CompiledGraph | None = None
        #: The destinations in the graph of parameters that were set since it was attached.
        self._writers: dict[ParameterRef, WriteValue] = {}
        self._routes: dict[ParameterRef, _Route] = {}
        #: Copies of `values` for snapshots, without value blocks, and the nodes whose copy is not the newest.
        self._copies: dict[str, dict[str, Any]] = {}
        self._outdated: set[str] = set()

    # The patch's values

    def place(
        self,
        node_id: str,
        specs: Specs,
        patch_values: Mapping[str, object] | None = None,
        *,
        reaches_kernels: bool,
        is_known: bool = True,
    ) -> dict[str, Any]:
        """Add a node, or replace its declared parameters, and return its values.

        `patch_values` is None for a known node. No parameter of the node is driven until `drive`.
        """
        known = self._nodes.get(node_id)
        if known is not None:
            self._keep_removed(node_id, self.values[node_id].keys() - specs.keys())
        removed = self._removed.pop(node_id, {})
        before = self.values.get(node_id, removed or None)
        if left := {name: value for name, value in removed.items() if name not in specs}:
            self._removed[node_id] = left
        kept = dict(patch_values) if patch_values is not None else known.patch_values if known is not None else {}
        if known is not None:
            self._forget_misfits(node_id, known)
        values, misfits = fit(node_id, specs, kept, self._folder)
        self._nodes[node_id] = node = _Node(specs, kept, reaches_kernels, is_known)
        for name in kept:
            if name not in specs and (told := _homeless(node, node_id, name)) is not None:
                misfits[name] = told
        for name, misfit in misfits.items():
            self.misfits[node_id, name] = misfit
        self.values[node_id] = values
        self._routes.clear()
        self._outdated.add(node_id)
        if before is not None and reaches_kernels:
            for name, spec in specs.items():
                if not spec.structural and (name not in before or not same(before[name], values[name])):
                    self.write((node_id, name), values[name])
        return values

    def misfits_beside(self, others: Iterable[Diagnostic]) -> list[Diagnostic]:
        """Return the misfits, without those of removed parameters that `others` report already, as left-out drives."""
        places = {(item.node, item.port) for item in others}
        return [item for place, item in self.misfits.items() if place not in places or self.spec(*place) is not None]

    def remove(self, node_id: str) -> None:
        """Remove a node."""
        self._routes.clear()
        self._forget_misfits(node_id, self._nodes.pop(node_id))
        self._outdated.add(node_id)
        self._keep_removed(node_id, self.values[node_id])
        del self.values[node_id]

    def set(self, node_id: str, name: str, value: object) -> bool:
        """Set the patch's value of a parameter, None for none; return whether its misfit has changed."""
        node = self._nodes[node_id]
        if value is None:
            node.patch_values.pop(name, None)
        else:
            node.patch_values[name] = value
        spec = self.spec(node_id, name)
        if spec is None:  # kept for a version of the type that takes it
            known, told = self.misfits.pop((node_id, name), None), _homeless(node, node_id, name)
            if told is not None:
                self.misfits[node_id, name] = told
            return known != told
        name = spec.name
        place = (node_id, name)
        values, misfits = fit(node_id, {name: spec}, node.patch_values, self._folder)
        before, after = self.misfits.pop(place, None), misfits.get(name)
        if after is not None:
            self.misfits[place] = after
        if name not in node.driven:
            self._put(node, place, values[name])
            if after is not None:
                self._routes.pop(place, None)
            elif _is_live(node, name) and place in self._writers and not (self._records or self.held):
                facts = self.values[node_id], node.patch_values, name, self._writers[place]
                self._routes[place] = _Route(*facts, *_range_of(spec))
        return before != after

    def spec(self, node_id: str, name: str) -> ParameterSpec | None:
        """Return the declaration of a parameter; None when the node's type has none of this name."""
        specs = self._nodes[node_id].specs
        return specs.get(name) or next((spec for spec in specs.values() if name in spec.replaces), None)

    def patch_values(self, node_id: str) -> Mapping[str, object]:
        """Return the patch's values of a node's parameters, by name."""
        return self._nodes[node_id].patch_values

    def patch_value(self, node_id: str, spec: ParameterSpec) -> Any:
        """Return the patch's value of a parameter that is driven."""
        return fit(node_id, {spec.name: spec}, self._nodes[node_id].patch_values, self._folder)[0][spec.name]

    # Drivers of parameters

    def drive(self, node_id: str, name: str) -> WriteValue:
        """Let a connection drive a parameter; return the function that sets a fitting value."""
        node, values, place = self._nodes[node_id], self.values[node_id], (node_id, name)
        node.driven |= {name}
        self._routes.pop(place, None)
        if not node.reaches_kernels:
            return partial(values.__setitem__, name)
        write = self.write

        def put(value: object) -> None:
            values[name] = value
            write(place, value)

        return put

    def release(self, node_id: str, name: str) -> None:
        """Restore the patch's value of a parameter that is no longer driven."""
        node = self._nodes.get(node_id)
        spec = self.spec(node_id, name) if node is not None else None
        if node is None or spec is None or spec.name not in node.driven:
            return  # the node has gone, or has another type
        name = spec.name
        node.driven -= {name}
        values, _ = fit(node_id, {name: node.specs[name]}, node.patch_values, self._folder)
        if not same(self.values[node_id][name], values[name]):
            self._put(node, (node_id, name), values[name])

    def is_driven(self, node_id: str, name: str) -> bool:
        """True while a connection drives a parameter."""
        node = self._nodes.get(node_id)
        return node is not None and name in node.driven

    # Values in the running graph

    def snapshot(self) -> dict[str, dict[str, Any]]:
        """Return a copy of the values of every node that may have kernels, which nothing changes any more.

        A removed node keeps the values in the graph, since the graph may have to keep running. The copy is made between
        two frames, so it only copies nodes that changed since the last copy.
        """
        self._outdate_written()
        for node_id in self._outdated:
            node = self._nodes.get(node_id)
            if node is not None and node.reaches_kernels:
                self._copies[node_id] = {**self._removed.get(node_id, {}), **self.values[node_id]}
            else:
                self._copies.pop(node_id, None)
        self._outdated.clear()
        return {**self._removed, **self._copies}

    def take_changed(self) -> dict[ParameterRef, object]:
        """Return the changed live parameters with their current values, and mark them as written."""
        values = self.values
        taken = {place: values[place[0]][place[1]] for place in self.changed if place[1] in values[place[0]]}
        self.changed.clear()
        return taken

    def attach(self, graph: CompiledGraph | None) -> None:
        """Write values into this graph from now on; also when composites in it expose other parameters than before."""
        self._outdate_written()
        self._graph = graph
        if self._removed:
            running = {owner(node.id) for node in graph.plan.description.nodes} if graph is not None else set[str]()
            self._removed = {node: values for node, values in self._removed.items() if node in running}
        self._writers.clear()
        self._routes.clear()

    def record(self, records: bool) -> None:
        """Start or stop listing changed parameters in `changed`."""
        self._records = records
        self._routes.clear()

    def hold(self, holds: bool) -> None:
        """Hold new values back from the running graph until `write_held`, or stop holding them back."""
        self._holds = holds
        if holds:
            self._routes.clear()

    def write_held(self) -> None:
        """Write the values that waited."""
        held, self.held = self.held, {}
        for node_id, name in held:
            if name in (values := self.values.get(node_id, {})):
                self.write((node_id, name), values[name])

    def write(self, place: ParameterRef, value: object) -> None:
        """Write a live value into the running graph, unless it must wait."""
        if self._holds or place in self.held:
            self.held[place] = None
            self._outdated.add(place[0])
            return
        write = self._writers.get(place)
        if write is None and self._graph is not None:
            places = self._graph.plan.inlined.set_places({place: None})
            writes = [self._graph.live.find(found) for found in places]
            spec = self.spec(*place)
            if spec is not None and spec.restarts:
                writes.append(partial(self._restart, place))
            write = self._writers[place] = together(writes)
        if write is None or self._records:
            self.changed[place] = None
        if write is None:
            self._outdated.add(place[0])
        else:
            self.is_written = True
            try:
                write(value)
            except ArgumentError as problem:
                self.refused = problem

    def _restart(self, place: ParameterRef, value: object) -> None:
        if value:
            self.restarts[place] = None

    def read(self, inbox: deque[Message]) -> Message | None:
        """Write the values at the front of an inbox that fit unchanged; return the first other message, or None.

        A frame may have a thousand such values, so only their writers are called here. `set` takes the first value
        of a parameter, and those that stand for the default or must be made to fit.
        """
        routes, take = self._routes, inbox.popleft
        while inbox:
            message = take()
            if type(message) is not ParameterChanged:
                return message
            route = routes.get((message.node, message.parameter))
            if route is None:
                return message
            value: Any = message.value
            if type(value) is not route.kind or not route.low <= value <= route.high:
                return message
            route.values[route.name] = route.patch_values[route.name] = value
            self.is_written = True
            try:
                route.write(value)
            except ArgumentError as problem:
                self.refused = problem
        return None

    def _keep_removed(self, node_id: str, names: Iterable[str]) -> None:
        """Keep the values that the running graph has of parameters which are about to be removed."""
        for name in names:
            place = node_id, name
            if place not in self.changed and place not in self.held:
                self._removed.setdefault(node_id, {})[name] = self.values[node_id][name]
            self.changed.pop(place, None)
            self.held.pop(place, None)

    def _put(self, node: _Node, place: ParameterRef, value: object) -> None:
        node_id, name = place
        self.values[node_id][name] = value
        self._outdated.add(node_id)
        if _is_live(node, name):
            self.write(place, value)

    def _outdate_written(self) -> None:
        self._outdated.update([node_id for node_id, _ in self._writers])

    def _forget_misfits(self, node_id: str, node: _Node) -> None:
        for name in (*node.specs, *node.patch_values):
            self.misfits.pop((node_id, name), None)


def _is_live(node: _Node, name: str) -> bool:
    return node.reaches_kernels and not node.specs[name].structural


def _range_of(spec: ParameterSpec) -> tuple[type[Any], float, float]:
    low, high = spec.bounds
    most = sys.float_info.max
    return _KINDS[spec.type], -most if low is None else low, most if high is None else high


def _homeless(node: _Node, node_id: str, name: str) -> Diagnostic | None:
    """Return a warning for a value that the patch holds for a parameter which the type does not have."""
    if name in node.specs or name not in node.patch_values or not node.is_known:
        return None
    if any(name in spec.replaces for spec in node.specs.values()):
        return None
    known = ", ".join(node.specs) or "no parameters"
    text = (
        f"parameter must be one of {known}, got {name}: its value {shown(node.patch_values[name])} is kept and not used"
    )
    remedy = f"declare the parameter that took its place with replaces=({name!r},), or reset {name}"
    return warning(text, node=node_id, port=name, remedy=remedy)


def fit(
    node_id: str, specs: Specs, patch_values: Mapping[str, object], folder: Callable[[], Path]
) -> tuple[dict[str, Any], dict[str, Diagnostic]]:
    """Return the values of parameters converted to their types, and an error for each value that a type refuses.

    Defaults replace missing and refused values. Paths of files that are read start at `folder()`.
    """
    values: dict[str, Any] = {}
    misfits: dict[str, Diagnostic] = {}
    for name, spec in specs.items():
        try:
            values[name] = given(spec, patch_values, folder)
        except PatchError as problem:
            values[name] = spec.default
            default = "" if spec.type in ("array", "object") else f" {spec.default!r}"
            text = f"{problem}; its default{default} stands in"
            misfits[name] = error(text, node=node_id, remedy=f"set {name} again")
    return values, misfits
