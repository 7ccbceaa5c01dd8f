"""Arguments: what each kernel of the graph is given, from shapes, memory and parameter values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import msgspec
import numpy as np

from engine.blocktypes.entries import (
    Argument,
    BufferArgument,
    ConditionArgument,
    ElementArgument,
    ExtentArgument,
    FrameArgument,
    KernelEntry,
    ParameterArgument,
    ValueArgument,
)
from engine.compiler.operations import FRAME, Operation
from engine.compiler.plan import Plan
from engine.device.protocol import LoadedKernel, Memory, PinnedArray
from engine.patch.changes import PortRef
from engine.ptx.tree import KernelParameter
from engine.types import DType, bf16

# The number that tells a kernel an element type; `kernels/elements.cuh` takes it apart.


FLOAT = 1 << 16
SIGNED = 1 << 17
BRAIN = 1 << 18
BOOLEAN = 1 << 19


def element_number(dtype: DType) -> int:
    """Return an element's size in bytes, in the low 16 bits, with what kind of number it is above them."""
    flags = FLOAT if dtype.kind == "float" else 0
    flags |= SIGNED if dtype.kind == "integer" and np.issubdtype(dtype.numpy, np.signedinteger) else 0
    flags |= (BRAIN if dtype == bf16 else 0) | (BOOLEAN if dtype.kind == "boolean" else 0)
    return dtype.size_bytes | flags


@dataclass(frozen=True)
class TypedKernel:
    """A loaded kernel with its parameters as its source types them, which a CUBIN alone does not tell."""

    kernel: LoadedKernel
    parameters: tuple[KernelParameter, ...]


@dataclass
class Resources:
    """What the graph uses and did not make.

    Memory by owner, kernels by operation index, parameter values by node and name, the frame uniforms, and the array
    that receives the status words. `swapped` is the memory in every other frame of the buffers that change places.
    """

    memory: Mapping[PortRef, Memory]
    kernels: Mapping[int, TypedKernel]
    values: Mapping[str, Mapping[str, object]]
    frame: PinnedArray
    status: PinnedArray | None = None
    swapped: Mapping[PortRef, Memory] = field(default_factory=dict)

    @property
    def memories(self) -> list[Mapping[PortRef, Memory]]:
        """The memory of each executable: of one, or of two that are launched by turns."""
        return [self.memory, {**self.memory, **self.swapped}] if self.swapped else [self.memory]


class Address(msgspec.Struct, frozen=True, gc=False):
    """A device address as a kernel argument; 0 stands for an optional input that is not connected."""

    pointer: int


_NOWHERE = Address(0)
_NO_EXTENTS: Mapping[int, int] = {}


def argument_values(
    plan: Plan,
    operation: Operation,
    entry: KernelEntry,
    addresses: Mapping[PortRef, Address],
    values: Mapping[str, Mapping[str, object]],
    condition: int | None,
) -> list[object]:
    """Return an operation's arguments in order; `addresses` are those of the allocations, by owner."""
    node = operation.node
    places = plan.buffers.blocks[node].places
    extents: Mapping[int, int] | None = None
    found: list[object] = []
    for argument in entry.arguments:
        if isinstance(argument, BufferArgument):
            place = places.get(argument.name)
            if place is None:
                found.append(_NOWHERE)
            elif place.offset:
                found.append(Address(addresses[place.owner].pointer + place.offset))
            else:
                found.append(addresses[place.owner])
        elif isinstance(argument, ParameterArgument):
            found.append(values[node][argument.name])
        elif isinstance(argument, ExtentArgument):
            layouts = plan.checked.nodes[node]
            if extents is None:
                extents = layouts.extents.get(operation.place, _NO_EXTENTS)
            number = extents.get(len(found))
            found.append(argument.extent.evaluate(layouts.context) if number is None else number)
        elif isinstance(argument, ValueArgument):
            found.append(argument.value)
        else:
            found.append(_special(plan, node, argument, addresses, condition))
    return found


def _special(
    plan: Plan, node: str, argument: Argument, addresses: Mapping[PortRef, Address], condition: int | None
) -> object:
    match argument:
        case FrameArgument():
            return addresses[FRAME]
        case ElementArgument(name=name):
            layout = plan.checked.nodes[node].layouts.get(name)
            return 0 if layout is None else element_number(layout.dtype)
        case ConditionArgument() if condition is not None:
            return condition
    raise TypeError(f"argument of a kernel must be one that {node} can pass, got {argument}")
