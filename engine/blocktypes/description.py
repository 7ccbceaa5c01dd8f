"""`BlockDescription`: what one block asks of the graph, as plain data.

The compiler reads it; nothing in it is bound to a device. Two descriptions that are structurally equal give the same
graph nodes, so going from one to the other needs no rebuild.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from engine.blocktypes.entries import (
    Control,
    DelayEntry,
    Display,
    Entry,
    InternalBuffer,
    Kernel,
    KernelEntry,
    Requirement,
    Status,
    View,
    buffer_arguments,
)
from engine.blocktypes.ports import PortSpec

if TYPE_CHECKING:
    from engine.device.external import ExternalArray
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import NamedTuple

import msgspec

from engine.blocktypes.entries import ExtentArgument
from engine.blocktypes.extents import Dimension, ShapeContext, ShapeRuleError, parse_extent
from engine.blocktypes.shape_rules import GIVEN, Extent, parse_rule, same_names
from engine.types import DType, Shape


@dataclass(frozen=True)
class BlockDescription:
    """What a block asks for: ports, internal buffers, entries in order, and the contents it provides."""

    ports: tuple[PortSpec, ...]
    entries: tuple[Entry, ...]
    buffers: tuple[InternalBuffer, ...] = ()
    #: What is shown or saved; it adds nothing to the graph.
    displays: tuple[Display, ...] = field(default=(), compare=False)
    #: Integer structural parameters, for shape rules.
    structural: tuple[tuple[str, int], ...] = ()
    #: Contents of output ports that the block provides itself; compared by dtype and shape only.
    contents: Mapping[str, np.ndarray[Any, Any]] = field(default_factory=dict, compare=False)
    #: What makes the block a region, or None.
    control: Control | None = None
    #: What must hold of the block's shapes beyond its ports' rules.
    requirements: tuple[Requirement, ...] = ()
    #: Words that are read back after each frame.
    statuses: tuple[Status, ...] = ()
    #: Arrays that the user owns, by output port; compared by dtype and shape only.
    externals: Mapping[str, ExternalArray] = field(default_factory=dict, compare=False)
    #: Folders that are searched for kernels before the common ones.
    kernel_folders: tuple[str, ...] = field(default=(), compare=False)
    #: Outputs that show an input's memory in another way.
    views: tuple[View, ...] = ()
    #: The blocks that a composite stands for, or None.
    composition: Composition | None = None

    def parts(self) -> Iterator[BlockDescription]:
        """Give the description itself, or those of the blocks that a composite stands for, at any depth."""
        if self.composition is None:
            yield self
        else:
            for child in self.composition.children:
                yield from child.description.parts()

    @cached_property
    def inputs(self) -> tuple[PortSpec, ...]:
        """Input ports in order of declaration."""
        return tuple(spec for spec in self.ports if spec.is_input)

    @cached_property
    def outputs(self) -> tuple[PortSpec, ...]:
        """Output ports in order of declaration."""
        return tuple(spec for spec in self.ports if not spec.is_input)

    @cached_property
    def view_of(self) -> dict[str, View]:
        """The view that each output is which owns no memory."""
        return {view.target: view for view in self.views}

    @cached_property
    def changed_inputs(self) -> frozenset[str]:
        """Inputs whose memory the block changes in place."""
        return frozenset(spec.inplace for spec in self.ports if spec.inplace is not None)

    @cached_property
    def rules(self) -> BlockRules:
        """The rules of its ports, internal buffers and launches, parsed."""

        return block_rules(self)

    @cached_property
    def delays(self) -> tuple[DelayEntry, ...]:
        """The entries that keep a buffer for the next frame or turn."""
        return tuple(entry for entry in self.entries if isinstance(entry, DelayEntry))

    @cached_property
    def delayed_inputs(self) -> frozenset[str]:
        """Inputs that are not needed in the frame in which they are written."""
        return frozenset(spec.name for spec in self.ports if spec.delayed)

    @cached_property
    def read_inputs(self) -> frozenset[str]:
        """Inputs that some entry touches; what is only looked at through a view is not among them."""
        return frozenset(argument.name for entry in self.all_entries for argument in buffer_arguments(entry))

    @cached_property
    def status_buffers(self) -> frozenset[str]:
        """Internal buffers that are read back after each frame."""
        return frozenset(status.buffer for status in self.statuses)

    @cached_property
    def uses_frame(self) -> bool:
        """True when one of its kernels reads the frame uniforms."""
        return any(isinstance(entry, KernelEntry) and entry.uses_frame for entry in self.all_entries)

    @cached_property
    def all_entries(self) -> tuple[Entry, ...]:
        """The entries, with those that make the block a region."""
        return (*self.entries, *self.control.begin, *self.control.turn) if self.control else self.entries

    def kernels(self) -> tuple[Kernel, ...]:
        """Return the kernels of the entries, each once, in order."""
        return tuple(dict.fromkeys(entry.kernel for entry in self.all_entries if isinstance(entry, KernelEntry)))

    def internal_connections(self) -> tuple[tuple[int, int, str], ...]:
        """Return (writer, reader, buffer) for entries that hand a buffer on, by entry index."""
        last_writer: dict[str, int] = {}
        connections = []
        for index, entry in enumerate(self.entries):
            touched = buffer_arguments(entry)
            connections += [(last_writer[a.name], index, a.name) for a in touched if a.reads and a.name in last_writer]
            last_writer |= {a.name: index for a in touched if a.writes}
        return tuple(connections)

    def structural_equals(self, other: BlockDescription) -> bool:
        """True when both give the same graph nodes.

        Kernels, launches, ports and internal connections (by index) must be the same; the contents of provided
        buffers may differ as long as their dtypes and shapes don't.
        """
        return self == other and all(
            mine._content_layout() == theirs._content_layout()
            for mine, theirs in zip(self.parts(), other.parts(), strict=True)
        )

    def _content_layout(self) -> dict[str, tuple[object, ...]]:
        arrays = {name: (array.dtype.str, array.shape) for name, array in self.contents.items()}
        # An address that vectors may not have is another layout.
        adopted = {
            name: (array.dtype.str, array.shape, array.strides, math.gcd(array.pointer, 16))
            for name, array in self.externals.items()
        }
        return {**arrays, **adopted}


# `Composition`: what a composite block is made of, as plain data that the compiler puts in its place.


class ChildPort(NamedTuple):
    """A port or a parameter of a child."""

    child: str
    name: str


@dataclass(frozen=True)
class Child:
    """One block inside a composite: what it asks for, its scope among the children, and its parameter values."""

    name: str
    description: BlockDescription
    region: str = ""
    values: Mapping[str, Any] = field(default_factory=dict, compare=False)


@dataclass(frozen=True)
class Composition:
    """The children of a composite, what connects them, and what of them the composite shows.

    An exposed input may feed several children and an exposed parameter set several: they stand once for each. With
    `as_child_graph` the children become one child graph of the CUDA graph.
    """

    children: tuple[Child, ...]
    connections: tuple[tuple[ChildPort, ChildPort], ...] = ()
    inputs: tuple[tuple[str, ChildPort], ...] = ()
    outputs: tuple[tuple[str, ChildPort], ...] = ()
    parameters: tuple[tuple[str, ChildPort], ...] = ()
    as_child_graph: bool = False


# `BlockRules`: all rules of one block's description, parsed, in the form in which the compiler evaluates them.


class InputRule(msgspec.Struct, frozen=True, gc=False):
    """What an input must be: `dtype` None takes any, `shape` None too."""

    name: str
    spec: PortSpec
    dtype: DType | None
    rank: int | None
    shape: Callable[[ShapeContext], Shape] | None


class OutputRule(msgspec.Struct, frozen=True, gc=False):
    """How an output's layout follows.

    `dtype` None means that of the first connected of the inputs `dtype_from`; `shape` None that contents, a view, the
    user's array or an in-place input give the layout.
    """

    name: str
    spec: PortSpec
    dtype: DType | None
    dtype_from: tuple[str, ...]
    shape: Callable[[ShapeContext], Shape] | None
    #: Ports that the shape names, and whether only the first connected one of them counts.
    shape_from: tuple[str, ...] = ()
    alternatives: bool = False


class BufferRule(msgspec.Struct, frozen=True, gc=False):
    """The layout of an internal buffer."""

    name: str
    dtype: DType
    shape: Callable[[ShapeContext], Shape]


class LaunchRule(msgspec.Struct, frozen=True, gc=False):
    """The numbers of a launch that follow from shapes: threads by axis, and arguments by position.

    `place` is the launch's position among what its block does: the entries, then what begins a region, the region
    itself, and what ends a turn.
    """

    place: int
    entry: KernelEntry
    threads: tuple[Dimension | int, ...]
    extents: tuple[tuple[int, Dimension], ...]


class BlockRules(msgspec.Struct, frozen=True, gc=False):
    """The rules of a block; `needed` inputs must be connected, `moves` are the entries that are no launches."""

    inputs: tuple[InputRule, ...]
    outputs: tuple[OutputRule, ...]
    buffers: tuple[BufferRule, ...]
    launches: tuple[LaunchRule, ...]
    #: What else must be a number: requirements, then what status words are held against.
    extents: tuple[Dimension, ...]
    parameters: Mapping[str, int]
    needed: tuple[str, ...]
    input_of: Mapping[str, InputRule]
    output_of: Mapping[str, OutputRule]
    moves: tuple[Entry, ...]
    #: Inputs of any type that must be of the type of another, or numbers.
    typed_inputs: tuple[PortSpec, ...]
    #: Append buffers among the outputs.
    appends: tuple[str, ...]
    advised: tuple[str, ...]
    #: True when an input is not needed in this frame.
    delayed: bool


def launch_rule(entry: KernelEntry, place: int = 0) -> LaunchRule:
    """Return the parsed numbers of a launch."""
    return LaunchRule(
        place,
        entry,
        tuple([_dimension(size) if isinstance(size, Extent) else size for size in entry.num_threads]),
        tuple(
            [
                (position, _dimension(argument.extent))
                for position, argument in enumerate(entry.arguments)
                if isinstance(argument, ExtentArgument)
            ]
        ),
    )


def block_rules(description: BlockDescription) -> BlockRules:
    """Return the parsed rules; what is malformed raises its ShapeRuleError when it is evaluated.

    Blocks that ask for the same share one object: a patch has many blocks of few types.
    """
    given = frozenset((*description.contents, *description.externals, *description.view_of))
    return _rules(
        description.ports,
        description.entries,
        description.buffers,
        description.structural,
        description.control,
        description.requirements,
        description.statuses,
        given,
    )


@lru_cache(maxsize=1024)
def _rules(
    ports: tuple[PortSpec, ...],
    entries: tuple[Entry, ...],
    buffers: tuple[InternalBuffer, ...],
    structural: tuple[tuple[str, int], ...],
    control: Control | None,
    requirements: tuple[Requirement, ...],
    statuses: tuple[Status, ...],
    given: frozenset[str],
) -> BlockRules:
    """Return the rules of blocks whose outputs `given` have contents, the user's memory or a view."""
    inputs = tuple(_input(spec) for spec in ports if spec.is_input)
    outputs = tuple(_output(spec, given) for spec in ports if not spec.is_input)
    placed: list[tuple[int, Entry]] = list(enumerate(entries))
    if control is not None:
        start = len(placed)
        placed += enumerate(control.begin, start)
        placed += enumerate(control.turn, start + len(control.begin) + 1)
    capacities = (status.capacity for status in statuses)
    return BlockRules(
        inputs=inputs,
        outputs=outputs,
        buffers=tuple(BufferRule(b.name, b.dtype, _shape(b.shape)) for b in buffers),
        launches=tuple(launch_rule(entry, place) for place, entry in placed if isinstance(entry, KernelEntry)),
        extents=(
            *(_dimension(requirement.extent) for requirement in requirements),
            *(_dimension(capacity.extent) for capacity in capacities if isinstance(capacity, ExtentArgument)),
        ),
        parameters=dict(structural),
        needed=tuple(rule.name for rule in inputs if not rule.spec.optional),
        input_of={rule.name: rule for rule in inputs},
        output_of={rule.name: rule for rule in outputs},
        typed_inputs=tuple(spec for spec in ports if spec.is_input and spec.dtype_rule and spec.dtype.kind == "any"),
        moves=tuple(entry for _, entry in placed if not isinstance(entry, KernelEntry)),
        advised=tuple(rule.name for rule in inputs if rule.spec.optional and rule.spec.advised),
        appends=tuple(rule.name for rule in outputs if rule.spec.append),
        delayed=any(rule.spec.delayed for rule in inputs),
    )


def inputs_for_layouts(description: BlockDescription, connected: Mapping[str, object]) -> frozenset[str]:
    """Return the connected inputs from which the layouts of the outputs follow."""
    names = [spec.name for spec in description.inputs]
    found: set[str] = set()

    def add(needed: Sequence[str], alternatives: bool) -> None:
        ports = [names[int(n)] if n.isdigit() and int(n) < len(names) else n for n in needed]
        ports = [port for port in ports if port in connected]
        found.update(ports[:1] if alternatives else ports)

    for rule in description.rules.outputs:
        view = description.view_of.get(rule.name)
        if rule.spec.inplace is not None:
            add((rule.spec.inplace,), False)
        elif view is not None:
            add((view.source,), False)
        elif rule.shape is not None:
            add(rule.shape_from, rule.alternatives)
            add(rule.dtype_from, True)
    return frozenset(found)


def _input(spec: PortSpec) -> InputRule:
    dtype = None if spec.dtype.kind == "any" else spec.dtype
    return InputRule(spec.name, spec, dtype, spec.rank, None if spec.shape == "same" else _shape(spec.shape))


def _output(spec: PortSpec, given: frozenset[str]) -> OutputRule:
    dtype = None if spec.dtype.kind == "any" else spec.dtype
    try:
        dtype_from = same_names(spec.dtype_rule)
    except ShapeRuleError:
        dtype_from = ()
    if spec.inplace is not None or spec.shape in GIVEN or spec.name in given:
        return OutputRule(spec.name, spec, dtype, dtype_from, None)
    try:
        rule = parse_rule(spec.shape)
    except ShapeRuleError:
        return OutputRule(spec.name, spec, dtype, dtype_from, _shape(spec.shape))
    return OutputRule(spec.name, spec, dtype, dtype_from, rule.evaluate, rule.names, rule.alternatives)


def _shape(text: str) -> Callable[[ShapeContext], Shape]:
    """Return what computes a shape; a malformed rule is reported where it is evaluated, like one that can't hold."""
    try:
        return parse_rule(text).evaluate
    except ShapeRuleError:
        return lambda context: parse_rule(text).evaluate(context)


def _dimension(extent: Extent) -> Dimension:
    try:
        return parse_extent(extent.text)
    except ShapeRuleError:
        return lambda context: parse_extent(extent.text)(context)
