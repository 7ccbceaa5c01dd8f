"""Phase 3, shapes: element type and shape of every buffer, from the contents blocks provide and from shape rules."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from engine.blocktypes.ports import PortSpec
from engine.blocktypes.shape_rules import ShapeContext, ShapeRuleError, evaluate_shape
from engine.compiler.description import BlockNode, GraphDescription
from engine.compiler.ordering import Levels
from engine.compiler.validation import type_mismatch
from engine.diagnostics import Diagnostic, error
from engine.patch.changes import Connection, PortRef
from engine.types import DType, Shape, dtype_of, element_count


@dataclass(frozen=True)
class Layout:
    """What a buffer holds: elements of one type in a shape."""

    dtype: DType
    shape: Shape

    @property
    def size_bytes(self) -> int:
        """Bytes of all elements."""
        return element_count(self.shape) * self.dtype.size_bytes


#: Layouts by (node, port or internal buffer); inputs have their source's.
Layouts = dict[PortRef, Layout]


def propagate_shapes(description: GraphDescription, levels: Levels) -> tuple[Layouts, list[Diagnostic]]:
    """Return every buffer's layout, and errors for rules that can't hold; after an error a node has no layouts."""
    layouts: Layouts = {}
    problems: list[Diagnostic] = []
    for level in levels:
        for node_id in level:
            node = description.by_id[node_id]
            found, errors = _node_layouts(description, node, layouts)
            layouts |= found
            problems += errors
    return layouts, problems


def shape_context(node: BlockNode, layouts: Layouts) -> ShapeContext:
    """Return what the node's rules and extents may refer to."""
    inputs: dict[str, Shape | None] = {}
    outputs: dict[str, Shape] = {}
    for spec in node.description.ports:
        layout = layouts.get(PortRef(node.id, spec.name))
        if spec.is_input:
            inputs[spec.name] = layout.shape if layout else None
        elif layout is not None:
            outputs[spec.name] = layout.shape
    for buffer in node.description.buffers:
        layout = layouts.get(PortRef(node.id, buffer.name))
        if layout is not None:
            outputs[buffer.name] = layout.shape
    return ShapeContext(inputs, outputs, dict(node.description.structural))


def _node_layouts(description: GraphDescription, node: BlockNode, known: Layouts) -> tuple[Layouts, list[Diagnostic]]:
    layouts: Layouts = {}
    problems: list[Diagnostic] = []
    for spec in node.description.ports:
        target = PortRef(node.id, spec.name)
        source = description.source_of.get(target)
        if not spec.is_input or source is None:
            continue
        layout = known.get(source)
        if layout is None:
            return {}, []  # the node before it has an error of its own
        layouts[target] = layout
        if spec.dtype.kind != "any" and layout.dtype != spec.dtype:
            problems.append(type_mismatch(Connection(source, target), str(layout.dtype), str(spec.dtype)))
        if spec.rank is not None and len(layout.shape) != spec.rank:
            problems.append(
                error(
                    f"input must have {spec.rank} dimensions, got shape {list(layout.shape)} from {source}",
                    node=node.id,
                    port=spec.name,
                    remedy="connect a buffer of that rank",
                )
            )
    if problems:
        return {}, problems
    for spec in node.description.ports:
        if spec.is_input:
            problems += _check_input_shape(node, spec, layouts)
        else:
            try:
                layouts[PortRef(node.id, spec.name)] = _output_layout(node, spec, layouts)
            except (ShapeRuleError, TypeError) as problem:
                problems.append(error(str(problem), node=node.id, port=spec.name, remedy="see the block's help"))
    for buffer in node.description.buffers:
        try:
            shape = evaluate_shape(buffer.shape, shape_context(node, layouts))
            layouts[PortRef(node.id, buffer.name)] = Layout(buffer.dtype, shape)
        except ShapeRuleError as problem:
            problems.append(error(f"buffer {buffer.name}: {problem}", node=node.id, remedy="see the block's help"))
    return ({}, problems) if problems else (layouts, [])


def _check_input_shape(node: BlockNode, spec: PortSpec, layouts: Layouts) -> list[Diagnostic]:
    """An input that has a shape rule must be of that shape; the default rule, "same", asks for nothing."""
    layout = layouts.get(PortRef(node.id, spec.name))
    if layout is None or spec.shape == "same":
        return []
    try:
        expected = evaluate_shape(spec.shape, shape_context(node, layouts))
    except ShapeRuleError as problem:
        return [error(str(problem), node=node.id, port=spec.name, remedy="see the block's help")]
    if layout.shape == expected:
        return []
    text = f"input must be of shape {list(expected)} by its rule {spec.shape}, got {list(layout.shape)}"
    return [error(text, node=node.id, port=spec.name, remedy="connect a buffer of that shape")]


def _output_layout(node: BlockNode, spec: PortSpec, layouts: Layouts) -> Layout:
    if spec.inplace is not None:
        source = layouts.get(PortRef(node.id, spec.inplace))
        if source is None:
            raise ShapeRuleError(f"input '{spec.inplace}' must be connected for an in-place output")
        return source
    array = node.description.contents.get(spec.name)
    if array is not None:
        return _content_layout(spec, array)
    if spec.shape == "data":
        raise ShapeRuleError("the block must provide the contents of this output, got none")
    shape = evaluate_shape(spec.shape, shape_context(node, layouts))
    return Layout(_output_dtype(node, spec, layouts), shape)


def _output_dtype(node: BlockNode, spec: PortSpec, layouts: Mapping[PortRef, Layout]) -> DType:
    if spec.dtype.kind != "any":
        return spec.dtype
    match = re.fullmatch(r"same\((\w+)\)", spec.dtype_rule or "")
    source = layouts.get(PortRef(node.id, match[1])) if match else None
    if source is None:
        raise ShapeRuleError(f"element type must follow from a connected input, got the rule {spec.dtype_rule!r}")
    return source.dtype


def _content_layout(spec: PortSpec, array: np.ndarray[Any, Any]) -> Layout:
    dtype = dtype_of(array) if spec.dtype.kind == "any" else spec.dtype
    base, inner = (dtype.numpy.subdtype or (dtype.numpy, ())) if dtype.kind == "vector" else (dtype.numpy, ())
    rank = array.ndim - len(inner)
    if array.dtype != base or array.shape[max(rank, 0) :] != inner:
        raise ShapeRuleError(
            f"contents must be {base} with elements of shape {list(inner)}, "
            f"got {array.dtype} of shape {list(array.shape)}"
        )
    return Layout(dtype, array.shape[:rank])
