"""The rules of one block's description, parsed into a form that the compiler can evaluate."""

from collections.abc import Callable, Mapping
from functools import lru_cache

import msgspec

from warploom.engine.descriptions.entries import (
    CaptureEntry,
    Control,
    Entry,
    ExtentArgument,
    InternalBuffer,
    KernelEntry,
    Requirement,
    Status,
)
from warploom.engine.descriptions.ports import PIXELS, PortSpec, is_picture
from warploom.engine.descriptions.shapes.extents import Dimension, Extent, ShapeContext, ShapeRuleError, parse_extent
from warploom.engine.descriptions.shapes.shape_rules import GIVEN, parse_rule, same_names
from warploom.engine.types import DType, Shape


class InputRule(msgspec.Struct, frozen=True, gc=False):
    """The requirements on an input; None for `dtype`, `rank` or `shape` accepts any."""

    name: str
    spec: PortSpec
    dtype: DType | None
    rank: int | None
    shape: Callable[[ShapeContext], Shape] | None


class OutputRule(msgspec.Struct, frozen=True, gc=False):
    """The rule for an output's layout.

    With `dtype` None, the type is that of the first connected input in `dtype_from`, or else the declared one. With
    `shape` None, the layout comes from contents, a view, the user's array or an in-place input.
    """

    name: str
    spec: PortSpec
    dtype: DType | None
    dtype_from: tuple[str, ...]
    shape: Callable[[ShapeContext], Shape] | None
    #: The ports in the shape rule; with `alternatives`, only the first connected one counts.
    shape_from: tuple[str, ...] = ()
    alternatives: bool = False


class BufferRule(msgspec.Struct, frozen=True, gc=False):
    """The layout of an internal buffer; with `shape` None, the library call that fills it decides.

    With `of`, it has the elements of that port or buffer.
    """

    name: str
    dtype: DType
    shape: Callable[[ShapeContext], Shape] | None
    of: str | None = None


class LaunchRule(msgspec.Struct, frozen=True, gc=False):
    """A launch's numbers that depend on shapes: threads by axis, and arguments by position.

    `place` is the launch's position in its block: the entries, the kernels that begin a region, the region itself, and
    the kernels that end an iteration.
    """

    place: int
    entry: KernelEntry
    threads: tuple[Dimension | int, ...]
    extents: tuple[tuple[int, Dimension], ...]


class BlockRules(msgspec.Struct, frozen=True, gc=False):
    """The rules of a block; `moves` are its fills, copies and delays."""

    inputs: tuple[InputRule, ...]
    outputs: tuple[OutputRule, ...]
    buffers: tuple[BufferRule, ...]
    launches: tuple[LaunchRule, ...]
    #: Further expressions: those of requirements, then the capacities of status words.
    extents: tuple[Dimension, ...]
    parameters: Mapping[str, int]
    input_of: Mapping[str, InputRule]
    output_of: Mapping[str, OutputRule]
    moves: tuple[Entry, ...]
    captures: tuple[CaptureEntry, ...]
    #: Inputs whose type has a rule: the type of another port, or a kind of elements.
    typed_inputs: tuple[PortSpec, ...]
    #: Append buffers among the outputs.
    appends: tuple[str, ...]
    advised: tuple[str, ...]
    #: Ports with the pixels of a picture, which decide the kernels of launches that use them.
    pictures: frozenset[str]


def launch_rule(entry: KernelEntry, place: int = 0) -> LaunchRule:
    """Return the numbers of a launch in parsed form."""
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


@lru_cache(maxsize=1024)
def block_rules(
    ports: tuple[PortSpec, ...],
    entries: tuple[Entry, ...],
    buffers: tuple[InternalBuffer, ...],
    structural: tuple[tuple[str, int], ...],
    control: Control | None,
    requirements: tuple[Requirement, ...],
    statuses: tuple[Status, ...],
    given: frozenset[str],
) -> BlockRules:
    """Return the rules of a description with these parts; the outputs in `given` get their layout elsewhere.

    Descriptions with equal parts share one object. A malformed rule raises its ShapeRuleError when it is evaluated.
    """
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
        buffers=tuple(_buffer(b) for b in buffers),
        launches=tuple(launch_rule(entry, place) for place, entry in placed if isinstance(entry, KernelEntry)),
        extents=(
            *(_dimension(requirement.extent) for requirement in requirements),
            *(_dimension(capacity.extent) for capacity in capacities if isinstance(capacity, ExtentArgument)),
        ),
        parameters=dict(structural),
        input_of={rule.name: rule for rule in inputs},
        output_of={rule.name: rule for rule in outputs},
        typed_inputs=tuple(spec for spec in ports if spec.is_input and spec.dtype_rule),
        moves=tuple(entry for _, entry in placed if not isinstance(entry, KernelEntry | CaptureEntry)),
        captures=tuple(entry for _, entry in placed if isinstance(entry, CaptureEntry)),
        advised=tuple(rule.name for rule in inputs if rule.spec.optional and rule.spec.advised),
        appends=tuple(rule.name for rule in outputs if rule.spec.append),
        pictures=_pictures(ports, outputs),
    )


def _pictures(ports: tuple[PortSpec, ...], outputs: tuple[OutputRule, ...]) -> frozenset[str]:
    inputs = {spec.name for spec in ports if is_picture(spec)}
    made = {r.name for r in outputs if inputs & {*r.dtype_from} or (r.spec.dtype_rule and r.spec.dtype in PIXELS)}
    return frozenset(inputs | made)


def _input(spec: PortSpec) -> InputRule:
    dtype = None if spec.dtype.kind == "any" or spec.dtype_rule else spec.dtype
    return InputRule(spec.name, spec, dtype, spec.rank, None if spec.shape == "same" else _shape(spec.shape))


def _output(spec: PortSpec, given: frozenset[str]) -> OutputRule:
    try:
        dtype_from = same_names(spec.dtype_rule)
    except ShapeRuleError:
        dtype_from = ()
    dtype = None if spec.dtype.kind == "any" or dtype_from else spec.dtype
    if spec.inplace is not None or spec.shape in GIVEN or spec.name in given:
        return OutputRule(spec.name, spec, dtype, dtype_from, None)
    try:
        rule = parse_rule(spec.shape)
    except ShapeRuleError:
        return OutputRule(spec.name, spec, dtype, dtype_from, _shape(spec.shape))
    return OutputRule(spec.name, spec, dtype, dtype_from, rule.evaluate, rule.names, rule.alternatives)


def _buffer(buffer: InternalBuffer) -> BufferRule:
    shape = None if buffer.shape == "captured" else _shape(buffer.shape)
    return BufferRule(buffer.name, buffer.dtype, shape, buffer.of)


def _shape(text: str) -> Callable[[ShapeContext], Shape]:
    """Return a function that computes a shape; for a malformed rule, it raises the rule's ShapeRuleError."""
    try:
        return parse_rule(text).evaluate
    except ShapeRuleError:
        return lambda context: parse_rule(text).evaluate(context)


def _dimension(extent: Extent) -> Dimension:
    try:
        return parse_extent(extent.text)
    except ShapeRuleError:
        return lambda context: parse_extent(extent.text)(context)
