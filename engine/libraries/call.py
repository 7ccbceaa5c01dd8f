"""`LibraryCall`: a computation for a library, as plain data, and its operands once these are known."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import msgspec

from warploom.engine.device.protocol import Memory
from warploom.engine.diagnostics import WarploomError
from warploom.engine.types import DType, bf16, f16, f32
from warploom.engine.types.layout import Layout


class LibraryError(WarploomError):
    """A library can't run a call; `remedy` is an instruction for the person."""

    def __init__(self, text: str, remedy: str) -> None:
        super().__init__(text)
        self.remedy = remedy


class OperandError(LibraryError):
    """The element type, the shape or the strides of the operand in a slot are wrong."""

    def __init__(self, slot: str, text: str) -> None:
        super().__init__(text, "see the block's help")
        self.slot = slot


class LibraryCall:
    """One call of a library. Subclasses are frozen dataclasses, so that equal calls are the same.

    A call has slots, which take buffers, and numbers, which take a number or a live parameter.
    """

    #: The name of the file in `engine/libraries/host` and in `engine/libraries/cuda` that implements it.
    library: ClassVar[str]
    #: The slots that are read; those in `optional` may be left out.
    inputs: ClassVar[tuple[str, ...]]
    #: The slots that are written completely.
    outputs: ClassVar[tuple[str, ...]]
    #: Outputs that are read before they are written.
    changed: ClassVar[frozenset[str]] = frozenset()
    optional: ClassVar[frozenset[str]] = frozenset()
    #: The numbers, with their defaults.
    numbers: ClassVar[Mapping[str, float]] = {}
    #: The slot whose elements the numbers scale, and so decide the numbers' type (`scaling_type`); "" without numbers.
    scaled: ClassVar[str] = ""
    #: The allowed values of those options that are words.
    choices: ClassVar[Mapping[str, tuple[str, ...]]] = {}

    def __post_init__(self) -> None:
        for name, allowed in self.choices.items():
            if getattr(self, name) not in allowed:
                raise ValueError(
                    f"{self.label}: {name} must be one of {', '.join(allowed)}, got {getattr(self, name)!r}"
                )

    @property
    def label(self) -> str:
        """The call's name in messages."""
        return type(self).__name__.lower()

    def results(self, inputs: Mapping[str, Layout]) -> Mapping[str, Layout]:
        """Return the layouts of the outputs, by slot.

        Raise OperandError if the inputs don't fit each other or the call.

        `inputs` may include the outputs.
        """
        raise NotImplementedError

    def problem(self, word: int) -> tuple[str, str]:
        """Return the meaning of a word above 0 in the slot `info`, and the remedy."""
        raise NotImplementedError

    def on(self, **operands: Any) -> CallOn:
        """Return the call on ports or buffers of a block by slot, with numbers or live parameters by name."""
        slots = (*self.inputs, *self.outputs)
        wrong = operands.keys() - {*slots, *self.numbers}
        if wrong:
            raise TypeError(f"{self.label} must be given {', '.join((*slots, *self.numbers))}, got {min(wrong)}")
        missing = [slot for slot in slots if slot not in self.optional and operands.get(slot) is None]
        if missing:
            raise TypeError(f"{self.label} must be given {', '.join(missing)}, got nothing for it")
        buffers = {slot: operands[slot] for slot in slots if operands.get(slot) is not None}
        return CallOn(self, buffers, {name: operands.get(name, value) for name, value in self.numbers.items()})


class CallOn(msgspec.Struct, frozen=True):
    """A call with its block's arguments: ports and buffers by slot, and numbers or live parameters by name."""

    call: LibraryCall
    buffers: Mapping[str, Any]
    numbers: Mapping[str, Any] = msgspec.field(default_factory=dict)


class OperandMemory(msgspec.Struct, frozen=True):
    """Device memory, with the layout of the buffer at its start."""

    memory: Memory
    layout: Layout


class BoundCall(msgspec.Struct, frozen=True):
    """A call with its operands by slot. The `numbers` of a call are all known now, or all in device memory.

    A number in memory is of the `scaling_type` of the elements that it scales.
    """

    call: LibraryCall
    operands: Mapping[str, OperandMemory]
    numbers: Mapping[str, float] | Mapping[str, Memory]

    @property
    def layouts(self) -> dict[str, Layout]:
        """The operands' layouts."""
        return {slot: operand.layout for slot, operand in self.operands.items()}


def scaling_type(scaled: DType) -> DType:
    """Return the type of the numbers that scale elements of a type: f32 for f16 and bf16, else the same."""
    return f32 if scaled in (f16, bf16) else scaled


#: Returns the bytes of scratch memory that a call needs on a device for operands of these layouts. Raises LibraryError
#: if the device can't do the call.
WorkspaceOf = Callable[[LibraryCall, Mapping[str, Layout]], int]
