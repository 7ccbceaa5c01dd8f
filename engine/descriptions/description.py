"""`BlockDescription`: the work that one block requests of the graph, as plain data.

The compiler reads it, and nothing in it is bound to a device. Structurally equal descriptions give the same graph
nodes, so one can replace the other without a rebuild.
"""

from __future__ import annotations

import math
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import msgspec
import numpy as np

from warploom.engine.descriptions.checks import BlockCallError, refuse
from warploom.engine.descriptions.entries import (
    CapturedCall,
    CaptureEntry,
    Control,
    DelayEntry,
    Display,
    Entry,
    InternalBuffer,
    Kernel,
    KernelEntry,
    Requirement,
    ServedParts,
    Status,
    StatusKind,
    View,
    buffer_arguments,
)
from warploom.engine.descriptions.ports import PortSpec
from warploom.engine.descriptions.shapes.rules import BlockRules, OutputRule, block_rules
from warploom.engine.device.external import ExternalArray
from warploom.engine.kernel_sources.sources import OpGraphSource


@dataclass(frozen=True)
class BlockDescription:
    """The description of a block: ports, internal buffers, entries in order, and provided contents."""

    ports: tuple[PortSpec, ...]
    entries: tuple[Entry, ...]
    buffers: tuple[InternalBuffer, ...] = ()
    #: Buffers that are shown or saved; they add no graph nodes.
    displays: tuple[Display, ...] = field(default=(), compare=False)
    #: Integer structural parameters, for shape rules.
    structural: tuple[tuple[str, int], ...] = ()
    #: Contents that the block provides for its outputs; compared only by dtype and shape.
    contents: Mapping[str, np.ndarray[Any, Any]] = field(default_factory=dict, compare=False)
    #: Initial contents of internal state buffers that don't start with zeros; a change restarts the state.
    initials: Mapping[str, np.ndarray[Any, Any]] = field(default_factory=dict, compare=False)
    #: The control of a region block; None for other blocks.
    control: Control | None = None
    #: Requirements on shapes in addition to the ports' rules.
    requirements: tuple[Requirement, ...] = ()
    #: Words that are read back after each frame.
    statuses: tuple[Status, ...] = ()
    #: Arrays that the user owns, by output port; compared only by dtype and shape.
    externals: Mapping[str, ExternalArray] = field(default_factory=dict, compare=False)
    #: Folders that are searched for kernels before the common ones.
    kernel_folders: tuple[str, ...] = field(default=(), compare=False)
    #: Outputs that are views of inputs.
    views: tuple[View, ...] = ()
    #: The blocks that a composite stands for; None for other blocks.
    composition: Composition | None = None
    #: Names and values, as text, of parameters that are constants in kernels.
    constants: tuple[tuple[str, str], ...] = ()
    #: The parts of the block that each entry works for, with the entry's number.
    work: tuple[tuple[int, ServedParts], ...] = ()
    #: Buffers that a live block fills from the host, and those whose contents it gets.
    feeds: tuple[str, ...] = ()
    watches: tuple[str, ...] = ()
    #: Outputs that hold the numbers of a live block's value outputs of the same names.
    numbers: tuple[str, ...] = ()
    #: Outputs with the names of their columns, which are only shown and saved.
    columns: tuple[tuple[str, tuple[str, ...]], ...] = field(default=(), compare=False)
    #: Outputs that keep the columns of inputs, with these.
    kept_columns: tuple[tuple[str, tuple[str, ...]], ...] = ()

    def parts(self) -> Iterator[BlockDescription]:
        """Yield the description itself or, for a composite, the descriptions of its blocks, at any depth."""
        if self.composition is None:
            yield self
        else:
            for child in self.composition.children:
                yield from child.description.parts()

    @cached_property
    def brings_arrays(self) -> bool:
        """True when the description, or one of its blocks, may hold arrays.

        Equal descriptions then may differ in these.
        """
        return bool(self.contents or self.initials or self.externals) or self.composition is not None

    @cached_property
    def inputs(self) -> tuple[PortSpec, ...]:
        """Input ports in order of declaration."""
        return tuple(spec for spec in self.ports if spec.is_input)

    @cached_property
    def outputs(self) -> tuple[PortSpec, ...]:
        """Output ports in order of declaration."""
        return tuple(spec for spec in self.ports if not spec.is_input)

    @cached_property
    def needed_inputs(self) -> frozenset[str]:
        """Inputs without which some launches are left out, and optional ones that are watched."""
        launches = [entry.needs for entry in self.entries if isinstance(entry, KernelEntry) and entry.needs]
        return frozenset(launches) | {spec.name for spec in self.inputs if spec.optional and spec.name in self.watches}

    @cached_property
    def _reduced(self) -> dict[frozenset[str], BlockDescription]:
        return {}

    def without_inputs(self, missing: frozenset[str]) -> BlockDescription:
        """Return the description without launches that need one of these inputs, which are not watched either.

        Equal calls return one object.
        """
        if not missing:
            return self
        if missing not in self._reduced:
            kept = [e for e in self.entries if not (isinstance(e, KernelEntry) and e.needs in missing)]
            watches = tuple(name for name in self.watches if name not in missing)
            self._reduced[missing] = replace(self, entries=tuple(kept), watches=watches)
        return self._reduced[missing]

    def stands_for(self, other: BlockDescription) -> bool:
        """True if another description is this one, or what `without_inputs` has made of it."""
        return other is self or any(other is reduced for reduced in self._reduced.values())

    @cached_property
    def driven(self) -> dict[tuple[object, ...], BlockDescription]:
        """The descriptions that `engine.descriptions.driven` has made from this one."""
        return {}

    @cached_property
    def seen_buffers(self) -> tuple[str, ...]:
        """Buffers that are read after a frame, since they are shown, saved or watched."""
        return (*(display.buffer for display in self.displays), *self.watches)

    @cached_property
    def view_of(self) -> dict[str, View]:
        """The views, by output."""
        return {view.target: view for view in self.views}

    @cached_property
    def changed_inputs(self) -> frozenset[str]:
        """Inputs whose memory the block changes in place."""
        return frozenset(spec.inplace for spec in self.ports if spec.inplace is not None)

    @cached_property
    def captured(self) -> dict[str, tuple[CapturedCall, str]]:
        """The library call that fills each port or internal buffer, with the call's slot for it."""
        return {
            argument.name: (made, slot)
            for entry in self.entries
            if isinstance(entry, CaptureEntry)
            for made in entry.calls
            for slot, argument in made.operands
            if slot in made.call.outputs and slot not in made.call.changed
        }

    @cached_property
    def rules(self) -> BlockRules:
        """The rules of its ports, internal buffers and launches, parsed."""
        return block_rules(
            self.ports,
            self.entries,
            self.buffers,
            self.structural,
            self.control,
            self.requirements,
            self.statuses,
            frozenset((*self.contents, *self.externals, *self.view_of)),
        )

    @cached_property
    def delays(self) -> tuple[DelayEntry, ...]:
        """The entries that keep a buffer's contents for the next frame or turn."""
        return tuple(entry for entry in self.entries if isinstance(entry, DelayEntry))

    @cached_property
    def delayed_inputs(self) -> frozenset[str]:
        """Inputs that may be written after the block has run, since they are read in the next frame."""
        return frozenset(spec.name for spec in self.ports if spec.delayed)

    @cached_property
    def read_inputs(self) -> frozenset[str]:
        """Inputs that some entry accesses; an input that is only the source of a view does not count."""
        seen = {buffer.name: buffer.of for buffer in self.buffers if buffer.of is not None}
        names = (argument.name for entry in self.all_entries for argument in buffer_arguments(entry))
        return frozenset(seen.get(name, name) for name in names)

    @cached_property
    def unfilled_outputs(self) -> tuple[str, ...]:
        """Outputs without provided contents that no entry can write.

        Whether a kernel really writes its arguments depends on its code (`engine.runtime.check.kernel_checks`).
        """
        seen = {buffer.name: buffer.of for buffer in self.buffers if buffer.of is not None}
        touched = [argument for entry in self.all_entries for argument in buffer_arguments(entry)]
        filled = {seen.get(argument.name, argument.name) for argument in touched if argument.writes}
        filled |= {*self.contents, *self.externals, *self.view_of}
        filled |= {spec.name for spec in self.outputs if spec.inplace or spec.state or self.composition}
        return tuple(spec.name for spec in self.outputs if spec.name not in filled)

    @cached_property
    def does_nothing(self) -> bool:
        """True for a block that has only inputs and neither reads nor shows them."""
        return bool(self.ports) and not (self.outputs or self.all_entries or self.seen_buffers or self.composition)

    @cached_property
    def status_buffers(self) -> frozenset[str]:
        """Internal buffers that are read back after each frame."""
        return frozenset(status.buffer for status in self.statuses)

    @cached_property
    def is_sentinel(self) -> bool:
        """True for the block of a sentinel, which checks an output."""
        return any(status.kind is StatusKind.CHECKED for status in self.statuses)

    @cached_property
    def keeps(self) -> bool:
        """True when the contents of one of its ports must last to the end of the frame."""
        return any(status.keeps for status in self.statuses)

    @cached_property
    def uses_frame(self) -> bool:
        """True when one of its kernels reads the frame uniforms."""
        return any(isinstance(entry, KernelEntry) and entry.uses_frame for entry in self.all_entries)

    @cached_property
    def has_op_graphs(self) -> bool:
        """True when one of the block's kernels is made from an op graph."""
        kernels = (entry.kernel for entry in self.entries if isinstance(entry, KernelEntry))
        return any(isinstance(kernel.source, OpGraphSource) for kernel in kernels)

    @cached_property
    def all_entries(self) -> tuple[Entry, ...]:
        """The entries, including those that make the block a region."""
        return (*self.entries, *self.control.begin, *self.control.turn) if self.control else self.entries

    def kernels(self) -> tuple[Kernel, ...]:
        """Return the distinct kernels of the entries, in order."""
        return tuple(dict.fromkeys(entry.kernel for entry in self.all_entries if isinstance(entry, KernelEntry)))

    def layout_inputs(self, connected: Container[str]) -> frozenset[str]:
        """Return the connected inputs that the layouts of the outputs depend on."""
        return frozenset(port for rule in self.rules.outputs for port in self.layout_ports(rule, connected))

    def layout_ports(self, rule: OutputRule, connected: Container[str]) -> set[str]:
        """Return the ports among `connected` that the layout of one output depends on."""
        names = [spec.name for spec in self.inputs]
        found: set[str] = set()

        def add(needed: Sequence[str], alternatives: bool) -> None:
            ports = [names[int(n)] if n.isdigit() and int(n) < len(names) else n for n in needed]
            ports = [port for port in ports if port in connected]
            found.update(ports[:1] if alternatives else ports)

        view = self.view_of.get(rule.name)
        if rule.spec.inplace is not None:
            add((rule.spec.inplace,), False)
        elif view is not None:
            add((view.source,), False)
        elif rule.shape is not None:
            add(rule.shape_from, rule.alternatives)
            if rule.spec.dtype.kind == "any":  # a picture has its declared pixels as long as a loop leaves them open
                add(rule.dtype_from, True)
        elif rule.spec.shape == "captured":
            add(names, False)
        return found

    def structural_equals(self, other: BlockDescription) -> bool:
        """True when both descriptions give the same graph nodes.

        Kernels, launches and ports must be equal. Provided buffers may have other contents, but need the same dtype and
        shape. A state with an initial array must have one in both.
        """
        return self == other and all(
            mine._content_layout() == theirs._content_layout()
            for mine, theirs in zip(self.parts(), other.parts(), strict=True)
        )

    def _content_layout(self) -> dict[str, tuple[object, ...]]:
        arrays = {name: (array.dtype.str, array.shape) for name, array in self.contents.items()}
        # Vectors need aligned addresses, so the alignment counts as part of the layout.
        adopted = {
            name: (array.dtype.str, array.shape, array.strides, math.gcd(array.pointer, 16))
            for name, array in self.externals.items()
        }
        return {**arrays, **adopted, **dict.fromkeys(self.initials, ())}


class ChildPort(NamedTuple):
    """A port or a parameter of a child."""

    child: str
    name: str


@dataclass(frozen=True)
class Child:
    """One block inside a composite: its description, its scope among the children, and its parameter values."""

    name: str
    description: BlockDescription
    region: str = ""
    values: Mapping[str, Any] = field(default_factory=dict, compare=False)


class Composition(msgspec.Struct, frozen=True):
    """The children of a composite, their connections, and the ports and parameters that the composite exposes.

    An exposed input is listed once for each child that it feeds, and a parameter once for each that it sets. With
    `as_child_graph`, the children become one child graph of the CUDA graph.
    """

    children: tuple[Child, ...]
    connections: tuple[tuple[ChildPort, ChildPort], ...] = ()
    inputs: tuple[tuple[str, ChildPort], ...] = ()
    outputs: tuple[tuple[str, ChildPort], ...] = ()
    parameters: tuple[tuple[str, ChildPort], ...] = ()
    as_child_graph: bool = False


def check_outputs(where: str, description: BlockDescription) -> None:
    """Raise BlockCallError unless each output has a single source of contents, and no entry writes a view or delay."""
    views = description.view_of.keys()
    delayed = {entry.target.name for entry in description.delays}
    given = (views, delayed, description.contents.keys(), description.externals.keys(), description.feeds)
    if not any(given):
        return
    for spec in description.outputs:
        places = sum(spec.name in names for names in given)
        if places > 1 or (places and (spec.inplace or spec.append)):
            text = "must be one of a view, a delay, provided, adopted, fed, or in place, got several"
            raise BlockCallError(f"{where}: output {spec.name!r} {text}")
    for entry in description.all_entries:
        if not isinstance(entry, DelayEntry):
            needs = isinstance(entry, KernelEntry) and entry.needs is not None
            for argument in buffer_arguments(entry):
                if argument.writes and (argument.name in views or (argument.name in delayed and not needs)):
                    raise refuse(where, "written buffer", "be no view and no delay", argument.name)
