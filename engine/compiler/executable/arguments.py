"""Arguments of each kernel of the graph, from shapes, memory and parameter values."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import msgspec

from warploom.engine.compiler.checking.layouts import NodeLayouts
from warploom.engine.compiler.operations import FRAME, Place
from warploom.engine.descriptions.entries import (
    Argument,
    BufferArgument,
    ConditionArgument,
    ElementArgument,
    ExtentArgument,
    FrameArgument,
    KernelEntry,
    ParameterArgument,
    ValueArgument,
    VectorArgument,
)
from warploom.engine.device.arguments import check_address, check_vector, pack_vector
from warploom.engine.device.protocol import Condition, LoadedKernel, Memory, PinnedArray
from warploom.engine.libraries.backend import Libraries
from warploom.engine.patch.changes import PortRef
from warploom.engine.ptx.tree import KernelParameter
from warploom.engine.types.element_numbers import element_number, number_of


class TypedKernel(msgspec.Struct, frozen=True, weakref=True):
    """A loaded kernel, and its parameters with the types of its source, which a CUBIN does not contain.

    `limit` is the most threads of a thread block that its manifest allows, if any. The threads of a kernel that
    `is_free` are independent, so the device may choose its launch; the thread blocks of one that `is_cooperative` wait
    for each other. One that `is_shipped` came with Warploom.
    """

    kernel: LoadedKernel
    parameters: tuple[KernelParameter, ...]
    limit: int | None = None
    is_free: bool = False
    is_cooperative: bool = False
    is_shipped: bool = False

    @property
    def max_threads(self) -> int:
        """The most threads that a thread block may have."""
        return self.kernel.max_threads if self.limit is None else min(self.limit, self.kernel.max_threads)


def can_replace(one: TypedKernel, other: TypedKernel) -> bool:
    """True when a node of an executable can run either kernel: both take the same argument block, names don't matter,
    and launches of both are cooperative, or of neither.
    """
    layouts = [[(p.offset, p.size_bytes, p.ptx_type, p.declared) for p in kernel.parameters] for kernel in (one, other)]
    return one is other or (layouts[0] == layouts[1] and one.is_cooperative is other.is_cooperative)


@dataclass
class Resources:
    """Objects that the graph uses but does not own.

    Memory by owner, kernels by operation index, parameter values by node and name, the frame uniforms, and the array
    that receives the status words. `swapped` is the memory in every other frame of the buffers that change places;
    `libraries` returns the device's, for a plan with library calls.
    """

    memory: Mapping[PortRef, Memory]
    kernels: Mapping[int, TypedKernel]
    values: Mapping[str, Mapping[str, object]]
    frame: PinnedArray
    status: PinnedArray | None = None
    swapped: Mapping[PortRef, Memory] = field(default_factory=dict)
    libraries: Callable[[], Libraries] | None = None

    @property
    def memories(self) -> list[Mapping[PortRef, Memory]]:
        """The memory of each executable: one, or two that are launched alternately."""
        return [self.memory, {**self.memory, **self.swapped}] if self.swapped else [self.memory]


class ArgumentRecipe(msgspec.Struct, frozen=True, gc=False):
    """The arguments of a launch, for all blocks of the same description and layouts.

    `constants` has the numbers among them; addresses, parameter values and the condition go to the named positions.
    The address of an optional input that is not connected is 0. `vectors` has the names of each one's components, or
    their numbers.
    """

    constants: list[object]
    buffers: tuple[tuple[int, str], ...]
    parameters: tuple[tuple[int, str], ...]
    vectors: tuple[tuple[int, KernelParameter, tuple[str | int, ...]], ...]
    frames: tuple[int, ...]
    conditions: tuple[int, ...]

    def values(
        self,
        places: Mapping[str, Place],
        addresses: Mapping[PortRef, int],
        values: Mapping[str, object],
        condition: Condition | None,
    ) -> list[object]:
        """Return the arguments of one block in order; `addresses` are those of the allocations, by owner."""
        found = self.constants.copy()
        for position, name in self.buffers:
            place = places[name]
            found[position] = addresses[place.owner] + place.offset
        for position, name in self.parameters:
            found[position] = values[name]
        for position, taken, names in self.vectors:
            found[position] = pack_vector(taken, [values[n] if isinstance(n, str) else n for n in names])
        for position in self.frames:
            found[position] = addresses[FRAME]
        for position in self.conditions:
            found[position] = condition
        return found


def argument_recipe(
    entry: KernelEntry, place: int, layouts: NodeLayouts, accepted: Sequence[KernelParameter]
) -> ArgumentRecipe:
    """Return the recipe for the arguments of the launch at `place` in its block's work.

    Raise ArgumentError if a parameter of the kernel can't take the address that the block passes.
    """
    for argument, taken in zip(entry.arguments, accepted, strict=False):
        if isinstance(argument, BufferArgument | FrameArgument):
            check_address(taken)
    constants: list[object] = []
    positions: dict[type[Argument], list[int]] = {FrameArgument: [], ConditionArgument: []}
    buffers, parameters, vectors = [], [], []
    extents = layouts.extents.get(place, {})
    for position, argument in enumerate(entry.arguments):
        value: object = None
        match argument:
            case BufferArgument(name=name):
                if name in layouts.layouts:
                    buffers.append((position, name))
                value = 0
            case ParameterArgument(name=name):
                parameters.append((position, name))
            case VectorArgument(components=names, dtype=vector):
                check_vector(accepted[position], vector)
                parts = [name if isinstance(name, str) else name.evaluate(layouts.context) for name in names]
                vectors.append((position, accepted[position], tuple(parts)))
            case ExtentArgument(extent=extent):
                value = extents[position] if position in extents else extent.evaluate(layouts.context)
            case ValueArgument(value=number):
                value = number
            case ElementArgument(name=name, scalar=scalar):
                layout = layouts.layouts.get(name)
                dtype = None if layout is None else number_of(layout.dtype) if scalar else layout.dtype
                value = 0 if dtype is None else element_number(dtype)
            case FrameArgument() | ConditionArgument():
                positions[type(argument)].append(position)
        constants.append(value)
    frames, conditions = tuple(positions[FrameArgument]), tuple(positions[ConditionArgument])
    return ArgumentRecipe(constants, tuple(buffers), tuple(parameters), tuple(vectors), frames, conditions)
