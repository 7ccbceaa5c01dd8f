"""The layouts of one block's ports and internal buffers, and the numbers that depend on them.

They depend only on the block's description and the layouts of its inputs. While neither changes, the block keeps its
result.
"""

import math
from collections.abc import Collection, Mapping
from typing import Any

import msgspec
import numpy as np

from warploom.engine.compiler.checking.inputs import HELP, check_input, check_input_shape, check_moves, check_types
from warploom.engine.compiler.checking.launches import evaluate_launch
from warploom.engine.compiler.checking.views import view_layout
from warploom.engine.descriptions.description import BlockDescription
from warploom.engine.descriptions.entries import BufferArgument, CapturedCall, CaptureEntry
from warploom.engine.descriptions.shapes.extents import ShapeContext, ShapeRuleError
from warploom.engine.descriptions.shapes.rules import BlockRules, OutputRule
from warploom.engine.device.external import ExternalArray
from warploom.engine.device.protocol import LaunchConfig
from warploom.engine.diagnostics import Diagnostic, error
from warploom.engine.libraries.call import LibraryError, OperandError, WorkspaceOf, scaling_type
from warploom.engine.patch.changes import PortRef
from warploom.engine.types import DType, Shape, dtype_of, u8
from warploom.engine.types.layout import ALLOCATION_ALIGNMENT, Layout, strided_layout


def content_layout(rule: OutputRule, array: np.ndarray[Any, Any]) -> Layout:
    """Return the layout of contents. Raise ShapeRuleError when the array does not fit the port's element type."""
    try:
        dtype = dtype_of(array) if rule.dtype is None else rule.dtype
    except TypeError as problem:
        raise ShapeRuleError(str(problem)) from None
    return Layout(dtype, _shape("contents", dtype, array.dtype, array.shape))


def external_layout(rule: OutputRule, array: ExternalArray) -> Layout:
    """Return the layout of the user's own memory. Raise ShapeRuleError when it does not fit the port's element type."""
    if rule.dtype is None:
        try:
            dtype = dtype_of(np.empty(0, array.dtype))
        except TypeError as problem:
            raise ShapeRuleError(str(problem)) from None
    else:
        dtype = rule.dtype
    shape = _shape("array", dtype, array.dtype, array.shape)
    if 0 in shape:
        raise ShapeRuleError(f"array must have elements, got shape {list(array.shape)}")
    if array.read_only:
        raise ShapeRuleError("array must be writable, got a read-only one: give a copy of it")
    alignment = math.gcd(array.pointer, ALLOCATION_ALIGNMENT)
    if alignment % dtype.alignment:
        raise ShapeRuleError(
            f"array of {dtype} must lie at a multiple of {dtype.alignment} bytes, got address {array.pointer:#x}"
        )
    if array.strides is None:
        return Layout(dtype, shape, None, alignment)
    outer, inner = array.strides[: len(shape)], array.strides[len(shape) :]
    if any(stride < 0 or stride % dtype.size_bytes for stride in outer) or inner not in ((), (array.dtype.itemsize,)):
        raise ShapeRuleError(
            f"strides of the array must be whole elements of {dtype} and not negative, got {list(array.strides)} bytes"
        )
    return strided_layout(dtype, shape, tuple(stride // dtype.size_bytes for stride in outer), alignment)


def _shape(what: str, dtype: DType, found: np.dtype[Any], shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape in elements; the components of vectors take the array's last axis."""
    base, inner = (dtype.numpy.subdtype or (dtype.numpy, ())) if dtype.kind == "vector" else (dtype.numpy, ())
    rank = len(shape) - len(inner)
    if found != base or shape[max(rank, 0) :] != inner:
        raise ShapeRuleError(
            f"{what} must be {base} with elements of shape {list(inner)}, got {found} of shape {list(shape)}"
        )
    return shape[:rank]


__all__ = ["Layout", "Layouts", "NodeLayouts", "node_layouts"]

#: Layouts by (node, port or internal buffer); an input has its source's layout.
Layouts = dict[PortRef, Layout]

_NO_STRIDES: Mapping[str, tuple[int, ...]] = {}
_NO_OFFSETS: Mapping[str, int] = {}
_NO_EXTENTS: Mapping[int, Mapping[int, int]] = {}


class NodeLayouts(msgspec.Struct, frozen=True, gc=False):
    """All results of one block that follow from its description and the layouts of its inputs.

    `inputs` are in the order of the ports, None for unconnected ones. `layouts` are those of ports and internal buffers
    by name. `offsets` has, for outputs that are views, the start in their source's memory in bytes. `launches` and
    `extents` (by argument) follow the order of the block's work: the entries, the kernels that begin a region, the
    region itself, and the kernels that end a turn. `problems` name no node yet; if there are any, other results may be
    missing.
    """

    description: BlockDescription
    inputs: tuple[Layout | None, ...]
    layouts: dict[str, Layout]
    context: ShapeContext
    launches: Mapping[int, LaunchConfig]
    offsets: Mapping[str, int] = {}
    extents: Mapping[int, Mapping[int, int]] = {}
    problems: tuple[Diagnostic, ...] = ()


class _Misfit(ShapeRuleError):
    """Raised when an operand of a library call is wrong, at a port or in an internal buffer."""

    def __init__(self, text: str, port: str | None) -> None:
        super().__init__(text)
        self.port = port


class _Work(msgspec.Struct):
    """The layouts of one block while they are inferred."""

    description: BlockDescription
    rules: BlockRules
    layouts: dict[str, Layout]
    context: ShapeContext
    outputs: dict[str, Shape]
    problems: list[Diagnostic]
    offsets: dict[str, int] | None = None
    extents: dict[int, dict[int, int]] | None = None


def node_layouts(
    description: BlockDescription,
    inputs: tuple[Layout | None, ...],
    workspace_of: WorkspaceOf | None = None,
    *,
    outputs_only: bool = False,
) -> NodeLayouts:
    """Return the layouts that follow from `inputs`, which are in the order of the ports.

    `workspace_of` returns the scratch memory of library calls; without it, none is reserved. `outputs_only` leaves out
    launches and checks of inputs, for blocks with an input that becomes known later.
    """
    rules = description.rules
    layouts: dict[str, Layout] = {}
    shapes: dict[str, Shape | None] = {}
    strides: dict[str, tuple[int, ...]] | None = None
    problems: list[Diagnostic] = []
    for rule, layout in zip(rules.inputs, inputs, strict=True):
        name = rule.name
        if layout is None:
            shapes[name] = None
            continue
        layouts[name] = layout
        shapes[name] = layout.shape
        if layout.dtype is not rule.dtype or rule.rank is not None or layout.strides is not None:
            check_input(rule, layout, problems)
            if layout.strides is not None:
                strides = strides or {}
                strides[name] = layout.strides
    outputs: dict[str, Shape] = {}
    context = ShapeContext(shapes, outputs, rules.parameters, strides or _NO_STRIDES)
    work = _Work(description, rules, layouts, context, outputs, problems)
    launches: dict[int, LaunchConfig] = {}
    if not problems:
        for output in rules.outputs:
            _add_output(work, output)
        if not problems and not outputs_only:
            _add_rest(work, launches, workspace_of)
    return NodeLayouts(
        description,
        inputs,
        layouts,
        work.context,
        launches,
        work.offsets or _NO_OFFSETS,
        work.extents or _NO_EXTENTS,
        tuple(problems),
    )


def outputs_that_follow(
    description: BlockDescription, inputs: tuple[Layout | None, ...], unknown: Collection[str]
) -> dict[str, Layout]:
    """Return the layouts of outputs that don't depend on the `unknown` inputs."""
    rules = description.rules
    given = {rule.name: layout for rule, layout in zip(rules.inputs, inputs, strict=True) if layout is not None}
    shapes = {rule.name: given[rule.name].shape if rule.name in given else None for rule in rules.inputs}
    strides = {name: layout.strides for name, layout in given.items() if layout.strides is not None}
    outputs: dict[str, Shape] = {}
    work = _Work(description, rules, dict(given), ShapeContext(shapes, outputs, rules.parameters, strides), outputs, [])
    missing, connected = set(unknown), given.keys() | set(unknown) | rules.output_of.keys()
    for rule in rules.outputs:
        if missing.isdisjoint(description.layout_ports(rule, connected)):
            _add_output(work, rule)
        if rule.name not in outputs:
            missing.add(rule.name)
    return {name: work.layouts[name] for name in outputs}


def _add_output(work: _Work, rule: OutputRule) -> None:
    layouts, outputs = work.layouts, work.outputs
    name = rule.name
    try:
        if rule.shape is None:
            layout = _given_layout(rule, work)
        else:
            shape = rule.shape(work.context)
            layout = Layout(rule.dtype or _followed_type(rule, layouts), shape)
        rank = rule.spec.rank
        if rank is not None and len(layout.shape) != rank:
            raise ShapeRuleError(f"output must have {rank} dimensions, got shape {list(layout.shape)}")
    except ShapeRuleError as problem:
        port = problem.port if isinstance(problem, _Misfit) else name
        work.problems.append(error(str(problem), port=port, remedy=HELP))
    else:
        layouts[name] = layout
        outputs[name] = layout.shape
        if layout.strides is not None:
            strides = {**work.context.strides, name: layout.strides}
            work.context = msgspec.structs.replace(work.context, strides=strides)


def _given_layout(rule: OutputRule, work: _Work) -> Layout:
    """Return the layout of an output that gets it from an input, a view, contents or the user's memory."""
    description, spec = work.description, rule.spec
    if spec.inplace is not None:
        source = work.layouts.get(spec.inplace)
        if source is None:
            raise ShapeRuleError(f"input '{spec.inplace}' must be connected for an in-place output")
        return _typed(rule, source)
    view = description.view_of.get(rule.name)
    if view is not None:
        source = work.layouts.get(view.source)
        if source is None:
            raise ShapeRuleError(f"input '{view.source}' must be connected to be seen through a view")
        layout, offset = view_layout(view.transform, source)
        work.offsets = {**(work.offsets or {}), rule.name: offset}
        return _typed(rule, layout)
    array = description.contents.get(rule.name)
    if array is not None:
        return content_layout(rule, array)
    external = description.externals.get(rule.name)
    if external is not None:
        if not isinstance(external, ExternalArray):
            raise ShapeRuleError(
                f"memory of the user's own must be described by an ExternalArray, got {type(external)}"
            )
        return external_layout(rule, external)
    if spec.shape == "captured" and rule.name in description.captured:
        return _typed(rule, _captured_layout(work, rule.name))
    missing = {"view": "a view of", "captured": "a library call for"}.get(spec.shape, "the contents of")
    raise ShapeRuleError(f"describe must provide {missing} this output, got none")


def _typed(rule: OutputRule, layout: Layout) -> Layout:
    if rule.dtype is not None and layout.dtype != rule.dtype:
        raise ShapeRuleError(f"output must share memory with elements of {rule.dtype}, got {layout.dtype}")
    return layout


def _followed_type(rule: OutputRule, layouts: Mapping[str, Layout]) -> DType:
    for name in rule.dtype_from:
        source = layouts.get(name)
        if source is not None:
            return source.dtype
    if rule.spec.dtype.kind != "any":
        return rule.spec.dtype
    wanted = rule.spec.dtype_rule
    raise ShapeRuleError(f"element type must follow from a connected input, got the rule {wanted!r}")


def _add_rest(work: _Work, launches: dict[int, LaunchConfig], workspace_of: WorkspaceOf | None) -> None:
    """Add the parts that depend on the ports' layouts: shape checks, internal buffers, launches, other numbers."""
    rules, context, layouts, problems = work.rules, work.context, work.layouts, work.problems
    if rules.typed_inputs:
        check_types(work.rules.typed_inputs, work.layouts, work.problems)
    for rule in rules.inputs:
        if rule.shape is not None and rule.name in layouts:
            check_input_shape(rule, layouts[rule.name], context, problems)
    for buffer in rules.buffers:
        try:
            if buffer.shape is None:
                layout = _captured_layout(work, buffer.name)
            else:
                layout = Layout(buffer.dtype, buffer.shape(context))
            if buffer.of is not None:
                layout = _seen_as(layouts[buffer.of], layout.shape)
        except ShapeRuleError as problem:
            # Otherwise the problem at `buffer.of` is the cause.
            if buffer.of is None or all(found.port != buffer.of for found in problems):
                port = problem.port if isinstance(problem, _Misfit) else None
                text = str(problem) if port is not None else f"buffer {buffer.name}: {problem}"
                problems.append(error(text, port=port, remedy=HELP))
        else:
            layouts[buffer.name] = layout
            work.outputs[buffer.name] = layout.shape
    for name, initial in work.description.initials.items():
        if name in layouts and initial.shape != layouts[name].shape:
            text = f"initial contents of state {name} must have shape {list(layouts[name].shape)}"
            problems.append(error(f"{text}, got {list(initial.shape)}", remedy=HELP))
    if problems:
        return
    for launch in rules.launches:
        try:
            launches[launch.place] = evaluate_launch(launch, context)
            if launch.extents:
                numbers = {position: value(context) for position, value in launch.extents}
                work.extents = {**(work.extents or {}), launch.place: numbers}
        except ShapeRuleError as problem:
            problems.append(error(str(problem), remedy=HELP))
    if rules.extents:
        _check_numbers(work)
    for capture in rules.captures:
        layouts[capture.workspace.name] = Layout(u8, (_workspace_bytes(capture, work, workspace_of),))
    if rules.moves:
        check_moves(rules.moves, layouts, problems)


def _seen_as(whole: Layout, shape: Shape) -> Layout:
    """Return the layout of the same elements in another shape."""
    if whole.strides is not None or math.prod(shape) != math.prod(whole.shape):
        raise ShapeRuleError(f"shape must have as many elements as {whole}, without gaps, got {list(shape)}")
    return msgspec.structs.replace(whole, shape=shape)


def _workspace_bytes(capture: CaptureEntry, work: _Work, workspace_of: WorkspaceOf | None) -> int:
    """Check library calls. Return the scratch memory of the one that needs the most, at least one byte."""
    most = 1
    for made in capture.calls:
        _check_call_numbers(made, work)
        operands = {slot: work.layouts[given.name] for slot, given in made.operands if given.name in work.layouts}
        try:
            for slot, layout in _results(made, operands).items():
                if slot in operands and (layout.dtype, layout.shape) != (operands[slot].dtype, operands[slot].shape):
                    raise OperandError(slot, f"output must be {layout}, as the call gives, got {operands[slot]}")
            if workspace_of is not None:
                most = max(most, workspace_of(made.call, operands))
        except OperandError as problem:
            work.problems.append(error(str(problem), port=_operand_port(work, made, problem), remedy=HELP))
        except LibraryError as problem:
            work.problems.append(error(str(problem), remedy=problem.remedy))
    return most


def _check_call_numbers(made: CapturedCall, work: _Work) -> None:
    """Check the numbers of a call that lie in buffers: each must have the type that the call reads."""
    scaled = work.layouts.get(dict(made.operands)[made.call.scaled].name) if made.numbers else None
    for name, number in made.numbers:
        if scaled is None or not isinstance(number, BufferArgument) or number.name not in work.layouts:
            continue
        wanted, layout = scaling_type(scaled.dtype), work.layouts[number.name]
        if layout.dtype != wanted or not layout.size_bytes:
            text = f"{name} of {made.call.label} must be one {wanted}, got {layout}"
            work.problems.append(error(text, port=_port(work, number.name), remedy="convert it in between"))


def _results(made: CapturedCall, operands: Mapping[str, Layout]) -> Mapping[str, Layout]:
    """Return the layouts of a call's outputs. Raise OperandError, also for an unconnected input."""
    for slot, _ in made.operands:
        if slot in made.call.inputs and slot not in made.call.optional and slot not in operands:
            raise OperandError(slot, "input must be connected for the call")
    return made.call.results(operands)


def _captured_layout(work: _Work, name: str, waiting: frozenset[str] = frozenset()) -> Layout:
    """Return the layout of a library call's output, which is a port or an internal buffer.

    Raise ShapeRuleError if the call's inputs don't fit.

    `waiting` are the outputs whose layouts depend on this one.
    """
    if name in waiting:
        raise ShapeRuleError(f"a library call must not read its own result, got {name!r}")
    made, slot = work.description.captured[name]
    inputs: dict[str, Layout] = {}
    for other, argument in made.operands:
        if other not in made.call.outputs:
            if argument.name in work.layouts:
                inputs[other] = work.layouts[argument.name]
            elif argument.name in work.description.captured:
                inputs[other] = _captured_layout(work, argument.name, waiting | {name})
    try:
        results = _results(made, inputs)
        if slot not in results:
            raise ShapeRuleError(f"{made.call.label} must return the layout of {slot} in results, got none")
        return results[slot]
    except OperandError as problem:
        raise _Misfit(str(problem), _operand_port(work, made, problem)) from None


def _operand_port(work: _Work, made: CapturedCall, problem: OperandError) -> str | None:
    """Return the port of a wrong operand, or the input that gives it its shape; None for an internal buffer."""
    name = dict(made.operands)[problem.slot].name
    rule = work.rules.output_of.get(name)
    source = rule.spec.shape.removeprefix("same(").removesuffix(")") if rule is not None else name
    return _port(work, source if source in work.rules.input_of else name)


def _port(work: _Work, name: str) -> str | None:
    return name if name in work.rules.input_of or name in work.rules.output_of else None


def _check_numbers(work: _Work) -> None:
    """Check that requirements hold, and that the limits of status words are numbers."""
    requirements = work.description.requirements
    for index, extent in enumerate(work.rules.extents):
        requirement = requirements[index] if index < len(requirements) else None
        port = requirement.port if requirement else None
        try:
            value = extent(work.context)
        except ShapeRuleError as problem:
            work.problems.append(error(str(problem), port=port, remedy=HELP))
        else:
            if requirement and value < 0:
                work.problems.append(error(requirement.message, port=port, remedy=HELP))
