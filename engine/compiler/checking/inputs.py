"""Checks a block's inputs against their rules, once the layouts are known."""

from collections.abc import Mapping, Sequence

from warploom.engine.descriptions.entries import CopyEntry, DelayEntry, Entry, buffer_arguments
from warploom.engine.descriptions.ports import KINDS, PIXELS, PortSpec
from warploom.engine.descriptions.shapes.extents import ShapeContext, ShapeRuleError
from warploom.engine.descriptions.shapes.rules import InputRule
from warploom.engine.descriptions.shapes.shape_rules import same_names
from warploom.engine.diagnostics import Diagnostic, Mend, error
from warploom.engine.types import DType
from warploom.engine.types.layout import Layout

#: The remedy of errors that only the block's author can fix.
HELP = "see the block's help"
_COPY = "put a Copy block in front of it"


def check_input(rule: InputRule, layout: Layout, problems: list[Diagnostic]) -> None:
    """Add the errors in the element type, the rank and the strides of an input."""
    dtype = rule.dtype
    if dtype is not None and layout.dtype is not dtype and layout.dtype != dtype:
        problems.append(type_mismatch(rule.name, dtype, layout.dtype))
    if rule.rank is not None and len(layout.shape) != rule.rank:
        problems.append(
            error(
                f"input must have {rule.rank} dimensions, got shape {list(layout.shape)}",
                port=rule.name,
                remedy="connect a buffer of that rank",
                expected=f"{rule.rank} dimensions",
                found=f"shape {list(layout.shape)}",
            )
        )
    if layout.strides is not None and not rule.spec.strided:
        problems.append(
            error(
                f"input must lie in memory without gaps, got a view with strides {list(layout.strides)}",
                port=rule.name,
                remedy=_COPY,
                expected="no gaps",
                found=f"strides {list(layout.strides)}",
                mend=Mend.COPY,
            )
        )


def type_mismatch(port: str, expected: DType, found: DType, node: str | None = None, source: str = "") -> Diagnostic:
    """Return the diagnostic of an input whose source carries elements of another type."""
    way = "put a Convert Pixels in between" if {expected, found} <= {*PIXELS} else "convert in between"
    return error(
        f"elements must be {expected}, got {found}{source}",
        node=node,
        port=port,
        remedy=f"connect an output of that type, or {way}",
        expected=str(expected),
        found=str(found),
        mend=Mend.CONVERT,
    )


def check_types(typed: Sequence[PortSpec], layouts: Mapping[str, Layout], problems: list[Diagnostic]) -> None:
    """Check inputs of any type that have a rule: the same elements as another input, or elements of a kind."""
    for spec in typed:
        layout = layouts.get(spec.name)
        if layout is None:
            continue
        if spec.dtype_rule in KINDS:
            is_kind, wanted = KINDS[spec.dtype_rule]
            if not is_kind(layout.dtype):
                way = "reinterpret its elements" if spec.dtype_rule == "complex" else "compute them by an Expression"
                problems.append(
                    error(
                        f"elements must be {wanted}, got {layout.dtype}",
                        port=spec.name,
                        remedy=f"connect a buffer of {wanted}, or {way} in between",
                        expected=wanted,
                        found=str(layout.dtype),
                        mend=Mend.CONVERT,
                    )
                )
            continue
        for name in same_names(spec.dtype_rule):
            other = layouts.get(name)
            if other is not None and other.dtype != layout.dtype:
                problems.append(type_mismatch(spec.name, other.dtype, layout.dtype))
                break


def check_input_shape(rule: InputRule, layout: Layout, context: ShapeContext, problems: list[Diagnostic]) -> None:
    """Check the shape of an input that has a shape rule; the default rule, "same", allows any shape."""
    assert rule.shape is not None
    try:
        expected = rule.shape(context)
    except ShapeRuleError as problem:
        problems.append(error(str(problem), port=rule.name, remedy=HELP))
        return
    if layout.shape != expected:
        wanted, got = f"shape {list(expected)}", f"{list(layout.shape)}"
        problems.append(
            error(
                f"input must be of {wanted} by its rule {rule.spec.shape}, got {got}",
                port=rule.name,
                remedy="connect a buffer of that shape",
                expected=wanted,
                found=got,
            )
        )


def check_moves(moves: Sequence[Entry], layouts: Mapping[str, Layout], problems: list[Diagnostic]) -> None:
    """Check the buffers of fills, copies and delays: they must have no gaps, and the two ends must have equal sizes.

    A delay outputs its earlier input, so its two ends must have the same type and shape.
    """
    for entry in moves:
        touched = [(a.name, layouts[a.name]) for a in buffer_arguments(entry) if a.name in layouts]
        for name, layout in touched:
            if layout.strides is not None:
                strides = list(layout.strides)
                text = f"'{name}' must lie in memory without gaps to be filled or copied, got strides {strides}"
                problems.append(error(text, port=name, remedy=_COPY))
        if isinstance(entry, (CopyEntry, DelayEntry)) and len(touched) == 2:
            (source, one), (target, other) = touched
            if isinstance(entry, DelayEntry) and one.dtype != other.dtype:
                problems.append(type_mismatch(source, other.dtype, one.dtype))
            elif isinstance(entry, DelayEntry) and one.shape != other.shape:
                wanted, got = f"shape {list(other.shape)}", f"shape {list(one.shape)}"
                text = f"input of a delay must have {wanted}, as {target} has, got {got}"
                remedy = "connect a buffer of that shape"
                problems.append(error(text, port=source, remedy=remedy, expected=wanted, found=got))
            elif one.size_bytes != other.size_bytes:
                problems.append(
                    error(
                        f"copy needs two buffers of one size, got {one.size_bytes} bytes in {source} "
                        f"and {other.size_bytes} in {target}",
                        port=source,
                        remedy="connect a buffer of that size, or make the block's describe and its ports agree",
                        expected=f"{other.size_bytes} bytes",
                        found=f"{one.size_bytes} bytes",
                    )
                )
