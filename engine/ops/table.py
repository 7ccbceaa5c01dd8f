"""The declaration of an op: ports, settings and help as plain data, a type rule, and a function that emits LLVM IR."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import cached_property
from typing import Any, Literal

import msgspec

from warploom.engine.diagnostics import Mend
from warploom.engine.ops.emission import Emission, OpBuffer, OpValue
from warploom.engine.ops.graph import OpNode
from warploom.engine.ops.types import BufferType, Type, ValueType

Setting = Literal["float", "int", "bool", "str"]


class OpInput(msgspec.Struct, frozen=True):
    """An input. A `default` makes it a setting of the same name too, which is used while nothing is connected.

    Without a default it must be connected, unless it is `optional`. A `delayed` input takes a result of the op's own
    region, from the branch `branch`. The op is still ordered first, so this does not form a cycle.
    """

    name: str
    doc: str
    default: float | None = None
    optional: bool = False
    delayed: bool = False
    branch: str = ""
    #: The input takes a buffer; all other inputs take values.
    takes_buffer: bool = False


class OpOutput(msgspec.Struct, frozen=True):
    """An output. With `inside`, the op's region may read it as well; `is_internal` is as in `OpType`."""

    name: str
    doc: str
    inside: bool = False
    is_internal: bool = False


class OpSetting(msgspec.Struct, frozen=True):
    """A setting that a person chooses; it can't be connected."""

    name: str
    type: Setting
    default: Any
    doc: str
    choices: tuple[str, ...] = ()
    minimum: float | None = None
    maximum: float | None = None


class Misuse(Exception):
    """A type rule refuses an op at `port`. With `mend`, a conversion to the expected type would fix the error."""

    def __init__(
        self, message: str, port: str | None = None, expected: str = "", found: str = "", mend: Mend | None = None
    ) -> None:
        super().__init__(message)
        self.message, self.port, self.expected, self.found, self.mend = message, port, expected, found, mend


class OpCall(msgspec.Struct, frozen=True):
    """A type rule's argument: the input types (None for an unconnected optional input), and the settings."""

    op: OpType
    node: OpNode
    inputs: Mapping[str, Type | None]
    settings: Mapping[str, Any]

    def value(self, name: str) -> ValueType:
        """Return the type of an input that must be a number, a boolean or a vector."""
        given = self.inputs[name]
        if not isinstance(given, ValueType):
            raise Misuse(f"{name} must be a value, got {given}; load an element of it", name, "value", str(given))
        return given

    def buffer(self, name: str) -> BufferType:
        """Return the type of an input that must be a buffer."""
        given = self.inputs[name]
        if not isinstance(given, BufferType):
            raise Misuse(
                f"{name} must be a buffer, got {given}; connect the buffer of an input", name, "buffer", str(given)
            )
        return given


class Signature(msgspec.Struct, frozen=True):
    """A type rule's result: the type that each input is converted to, and the types of the outputs."""

    inputs: Mapping[str, ValueType] = msgspec.field(default_factory=dict)
    outputs: Mapping[str, Type] = msgspec.field(default_factory=dict)


class Region(msgspec.Struct, frozen=True):
    """The functions that the emitter of an op with regions calls."""

    #: Sets the outputs that the region reads.
    begin: Callable[[Mapping[str, OpValue | OpBuffer]], None]
    #: Emits the ops of a branch at the current position.
    emit: Callable[[str], None]
    #: Returns the value of a delayed input, once its branch is emitted.
    back: Callable[[str], OpValue | OpBuffer | None]


class OpCode(msgspec.Struct, frozen=True):
    """An op while it is emitted: its converted inputs, None for unconnected optional ones, and its settings."""

    signature: Signature
    inputs: Mapping[str, OpValue | OpBuffer | None]
    settings: Mapping[str, Any]
    #: The outputs that are read.
    used: Collection[str]
    region: Region

    @property
    def out(self) -> ValueType:
        """The type of the output `out`, which is a value."""
        kind = self.signature.outputs["out"]
        assert isinstance(kind, ValueType)
        return kind

    def value(self, name: str) -> OpValue:
        """Return an input that the type rule declared a value."""
        given = self.inputs[name]
        assert isinstance(given, OpValue)
        return given

    def buffer(self, name: str) -> OpBuffer:
        """Return an input that the type rule declared a buffer."""
        given = self.inputs[name]
        assert isinstance(given, OpBuffer)
        return given


TypeRule = Callable[[OpCall], Signature]
EmitOp = Callable[[Emission, OpCode], Mapping[str, "OpValue | OpBuffer"]]


class OpType(msgspec.Struct, frozen=True, dict=True):
    """An op of the table. `rule` infers and checks types; `emit` writes the op as LLVM IR."""

    id: str
    title: str
    category: str
    doc: str
    inputs: tuple[OpInput, ...]
    outputs: tuple[OpOutput, ...]
    rule: TypeRule
    emit: EmitOp
    settings: tuple[OpSetting, ...] = ()
    tags: tuple[str, ...] = ()
    #: The branches of the op's region; empty for an op that holds no others.
    regions: tuple[str, ...] = ()
    #: The op has side effects, so it stays when no one reads its outputs.
    acts: bool = False
    #: The op accesses other elements than its thread's own, so it can't be fused.
    roams: bool = False
    #: Threads wait for each other in this op, so all must reach it.
    waits: bool = False
    #: Only fusion and the library's blocks use this op, so no palette shows it.
    is_internal: bool = False
    #: The axes along which threads must count the elements.
    rank: int = 1

    def input(self, name: str) -> OpInput | None:
        """Return an input by its name."""
        return next((item for item in self.inputs if item.name == name), None)

    def output(self, name: str) -> OpOutput | None:
        """Return an output by its name."""
        return next((item for item in self.outputs if item.name == name), None)

    @cached_property
    def values(self) -> tuple[OpSetting, ...]:
        """The values that a person sets: the settings, and the inputs that have a default."""
        numbers = (OpSetting(i.name, "float", i.default, i.doc) for i in self.inputs if i.default is not None)
        return (*self.settings, *numbers)


#: The categories in the order in which a palette shows them.
CATEGORIES = (
    "Kernel",
    "Indices",
    "Arithmetic",
    "Functions",
    "Shaping",
    "Logic",
    "Bits",
    "Conversion",
    "Vectors",
    "Buffers",
    "Images",
    "Noise",
    "Control",
    "Threads",
)
#: Every op by its id.
OPS: dict[str, OpType] = {}


def register(op: OpType) -> OpType:
    """Register an op in the table."""
    if op.id in OPS or op.category not in CATEGORIES:
        raise ValueError(f"op must have a new id and a known category, got {op.id} in {op.category}")
    names = [*(port.name for port in op.inputs), *(port.name for port in op.outputs)]
    if len(set(names)) < len(names):
        raise ValueError(f"ports of an op must have different names, got {names} in {op.id}")
    OPS[op.id] = op
    return op
