"""Phase 0, sentinels: adds a block for each check of an output, as a reader of the checked buffer.

As a block, a check runs after the buffer's writer and before in-place changes, in the scope of the writer. Its bounds
are live parameters, and the checked buffer is not fused away. The check's id, "blur/out sentinel", begins with the node
of the output, like the ids of blocks in a composite. So its time counts for that node.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from msgspec import structs

from warploom.engine.compiler.description import BlockNode, GraphDescription
from warploom.engine.descriptions.builder import BlockBuilder
from warploom.engine.descriptions.description import BlockDescription
from warploom.engine.descriptions.entries import ElementArgument, Kernel, Status, StatusKind
from warploom.engine.descriptions.handles import BufferHandle, ParameterHandle
from warploom.engine.descriptions.ports import PortSpec, count_name
from warploom.engine.descriptions.shapes.extents import Extent
from warploom.engine.patch.changes import Connection, PortRef, Sentinel
from warploom.engine.types import any_type, u32, u64

#: The results of the kernels in kernels/sentinel.cu.
FOUND = np.dtype(
    [(name, "<u8") for name in ("nans", "infinities", "outside", "elements", "first")]
    + [("value", "<f8")]
    + [(name, "<u8") for name in ("turn", "turns")]
)
#: The most axes of a buffer whose elements can be checked.
AXES = 8
#: The elements per thread of a check, and the most threads; with more elements, each thread checks more.
_ELEMENTS, _THREADS = 16, 1 << 18
_CHECK, _END = (Kernel("sentinel.cu", entry=entry) for entry in ("check_elements", "end_check"))
_INPUT, _COUNT, _FOUND = "x", "count", "found"
#: Live parameters, so that other bounds need no new graph.
_VALUES = ("flags", "minimum", "maximum")


def _described() -> BlockDescription:
    ports = {
        _INPUT: PortSpec(_INPUT, "in", any_type, "The elements to check.", "same", strided=True),
        _COUNT: PortSpec(_COUNT, "in", u32, "How many elements count.", "[1]", optional=True, advised=False),
    }
    build = BlockBuilder("sentinel", ports, _VALUES, {}, None)
    x, found = BufferHandle(_INPUT), build.buffer(_FOUND, u64, f"[{FOUND.itemsize // 8}]")
    axes = range(AXES - 1, -1, -1)
    types = ElementArgument(_INPUT), ElementArgument(_INPUT, scalar=True)
    buffer = (x, *types, *map(x.last, axes), *map(x.last_stride, axes))
    rule = tuple(map(ParameterHandle, _VALUES))
    threads = Extent(f"min(max({x.size.text} // {_ELEMENTS}, 1), {_THREADS})")
    build.launch(_CHECK, num_threads=threads, args=(*buffer, x.size, BufferHandle(_COUNT), *rule, found))
    build.launch(_END, num_threads=1, thread_block=1, args=(*buffer, *rule, found))
    return replace(build.commit(), statuses=(Status(_FOUND, StatusKind.CHECKED, _INPUT),))


_MARKING = _described()
#: The same check, but the buffer lasts to the end of the frame.
_FREEZING = replace(_MARKING, statuses=tuple(structs.replace(status, keeps=True) for status in _MARKING.statuses))


def found_buffer(check: str) -> PortRef:
    """Return the buffer with the results of a check's block."""
    return PortRef(check, _FOUND)


def checked_port(check: str) -> PortRef:
    """Return the input of a check's block."""
    return PortRef(check, _INPUT)


class Checks(NamedTuple):
    """Plain blocks, including those of checks; the checked outputs and the checks' parameter values are by id."""

    description: GraphDescription
    ports: dict[str, PortRef]
    values: dict[str, Mapping[str, object]]


def with_sentinels(
    plain: GraphDescription, outputs: Mapping[PortRef, PortRef], description: GraphDescription
) -> Checks:
    """Return the blocks `plain` of a description, with a block added for each sentinel of `description`.

    `outputs` maps ports of composites to ports of blocks. A sentinel is left out if its output does not exist, for
    example because the block can't be described.
    """
    by_id = plain.by_id
    nodes: list[BlockNode] = []
    connections: list[Connection] = []
    checks: dict[str, PortRef] = {}
    values: dict[str, Mapping[str, object]] = {}
    for port, sentinel in sorted(description.sentinels.items(), key=lambda item: str(item[0])):
        source = outputs.get(port, port)
        rule = by_id[source.node].description.rules.output_of.get(source.port) if source.node in by_id else None
        if rule is None:
            continue
        check = f"{port.node}/{port.port} sentinel"
        region = description.by_id[port.node].region
        nodes.append(BlockNode(check, _FREEZING if sentinel.freezes else _MARKING, region))
        connections.append(Connection(source, PortRef(check, _INPUT)))
        if rule.spec.append:
            connections.append(Connection(PortRef(source.node, count_name(source.port)), PortRef(check, _COUNT)))
        checks[check], values[check] = port, _values(sentinel)
    checked = GraphDescription((*plain.nodes, *nodes), (*plain.connections, *connections), orders=plain.orders)
    return Checks(checked, checks, values)


def _values(sentinel: Sentinel) -> dict[str, object]:
    return {
        "flags": sentinel.nan + 2 * sentinel.infinity,
        "minimum": -math.inf if sentinel.minimum is None else sentinel.minimum,
        "maximum": math.inf if sentinel.maximum is None else sentinel.maximum,
    }
