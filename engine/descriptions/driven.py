"""Kernels that read numbers from memory: a block whose live parameters are driven by numbers that the device computes.

Each such parameter becomes an input of one f64. A kernel of one thread converts the number, as the CPU does for a
parameter that a connection drives; the block's kernels read the result instead of their arguments.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import NamedTuple

from msgspec.structs import replace

from warploom.engine.descriptions.description import BlockDescription
from warploom.engine.descriptions.entries import (
    BufferArgument,
    Entry,
    InternalBuffer,
    Kernel,
    KernelEntry,
    ParameterArgument,
    ValueArgument,
)
from warploom.engine.descriptions.ports import PortSpec
from warploom.engine.kernel_sources.sources import DrivenKernel
from warploom.engine.kernel_sources.specialise import NUMBER_RECORD
from warploom.engine.types import f64, u64

_CONVERT = Kernel("numbers.cu", "convert_number")
_TYPES = {"float": 0, "int": 1, "bool": 2}
_WORDS = NUMBER_RECORD.itemsize // 8


class DrivenNumber(NamedTuple):
    """A live parameter of a block, its type (float, int or bool) and its range."""

    name: str
    type: str
    low: float
    high: float


def number_port(parameter: str) -> str:
    """Return the name of the input with the number that drives a parameter."""
    return f"{parameter} number"


def can_read(description: BlockDescription, parameter: str) -> bool:
    """True when all uses of a live parameter are numbers of kernels, which can be read from memory.

    The conditions of regions, and what a live block does on the CPU, can't wait for the device. A component of a vector
    is not a number of its own in the kernel.
    """
    if description.control or description.composition or description.feeds or description.watches:
        return False
    if ParameterArgument(parameter) in [status.capacity for status in description.statuses]:
        return False
    places = [
        place
        for entry in description.entries
        if isinstance(entry, KernelEntry)
        for place in entry.live_parameters.get(parameter, ())
    ]
    return bool(places) and all(place.component is None for place in places)


def reading(description: BlockDescription, numbers: Iterable[DrivenNumber]) -> BlockDescription:
    """Return the description of a block that reads numbers from inputs; equal calls return one object."""
    numbers = tuple(sorted(numbers))
    found = description.driven.get(numbers)
    if found is None:
        found = description.driven[numbers] = _reading(description, numbers)
    return found


def _reading(description: BlockDescription, numbers: tuple[DrivenNumber, ...]) -> BlockDescription:
    types = {number.name: number.type for number in numbers}
    doc = "The number that drives the parameter."
    ports = [PortSpec(number_port(name), "in", f64, doc, "[1]") for name in types]
    buffers = [InternalBuffer(_record(name), u64, f"[{_WORDS}]") for name in types]
    return dataclasses.replace(
        description,
        ports=(*description.ports, *ports),
        buffers=(*description.buffers, *buffers),
        entries=(*map(_conversion, numbers), *(_driven(entry, types) for entry in description.entries)),
        work=tuple((entry + len(numbers), parts) for entry, parts in description.work),
    )


def _record(parameter: str) -> str:
    return f"{parameter} record"


def _conversion(number: DrivenNumber) -> KernelEntry:
    """Return the launch that converts a number for its parameter."""
    whole = (int(number.low), min(int(number.high), 2**63 - 1)) if number.type == "int" else (0, 0)
    given = (_TYPES[number.type], float(number.low), float(number.high), *whole)
    source = BufferArgument(number_port(number.name), reads=True, writes=False)
    target = BufferArgument(_record(number.name), reads=False, writes=True)
    return KernelEntry(_CONVERT, (1,), (1, 1, 1), (source, target, *map(ValueArgument, given)))


def _driven(entry: Entry, types: dict[str, str]) -> Entry:
    """Return an entry whose kernel reads parameters from their records."""
    if not isinstance(entry, KernelEntry) or types.keys().isdisjoint(entry.live_parameters):
        return entry
    arguments = list(entry.arguments)
    read = []
    for name, places in entry.live_parameters.items():
        for index, _ in places if name in types else ():
            arguments[index] = BufferArgument(_record(name), reads=True, writes=False)
            read.append((index, types[name]))
    assert not isinstance(entry.kernel.source, DrivenKernel)
    kernel = Kernel(DrivenKernel(entry.kernel.source, entry.kernel.entry, tuple(sorted(read))), entry.kernel.entry)
    return replace(entry, kernel=kernel, arguments=tuple(arguments))
